"""The kill switch."""

from datetime import datetime
from typing import ClassVar

from django.db import models
from django.db.models import Q

from scheduling.options import REASON_LENGTH_MAX
from tenants.models import Tenant

OF_EVERYTHING = models.ExpressionWrapper(
    Q(tenant=None, queue="", name=""), output_field=models.BooleanField()
)


class PauseQuerySet(models.QuerySet["Pause"]):
    def in_force(self, now: datetime) -> "PauseQuerySet":
        return self.filter(lifted_at__isnull=True).filter(
            Q(expires_at__isnull=True) | Q(expires_at__gt=now)
        )

    def standing(self, now: datetime) -> "PauseQuerySet":
        """In force, as people read them: with whom they concern, operators' own before those of tenants, and of
        these one of everything before the others, the latest first."""
        pauses = self.in_force(now).select_related("tenant")
        return pauses.order_by("by_tenant", OF_EVERYTHING.desc(), "-since")

    def over(self, now: datetime) -> "PauseQuerySet":
        """Lifted or expired, with what it held still to be put back."""
        return self.filter(Q(lifted_at__isnull=False) | Q(expires_at__lte=now))


class Pause(models.Model):
    """Stops new executions of everything it covers: tenant, queue and name, each or any combination.

    An empty part covers all of them. A pause that is over stays until what claims held under it is
    ready again, then goes; it stops nothing meanwhile.
    """

    scope = models.CharField(max_length=400, editable=False)
    tenant = models.ForeignKey(Tenant, null=True, blank=True, on_delete=models.CASCADE)
    queue = models.CharField(max_length=100, blank=True)
    name = models.CharField(max_length=200, blank=True)
    by_tenant = models.BooleanField(
        default=False,
        help_text="The tenant paused itself, and may resume; beside it an operator may.",
    )
    reason = models.CharField(max_length=REASON_LENGTH_MAX, blank=True)
    paused_by = models.CharField(max_length=150)
    since = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    lifted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = PauseQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["since"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["scope", "by_tenant"], name="pause_scope")
        ]

    def __str__(self) -> str:
        return self.scope

    @property
    def covers(self) -> str:
        """The scope as people say it: `everything`, or `tenant acme, queue mail`."""
        slug = self.tenant.slug if self.tenant else ""
        parts = {"tenant": slug, "queue": self.queue, "task": self.name}
        return (
            ", ".join(f"{part} {value}" for part, value in parts.items() if value) or "everything"
        )
