"""One tenant's queue, and where dispatch stands between the lanes."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from scheduling.states import Readiness
from tenants.models import Tenant

READINESS = [(member.value, member.name.lower()) for member in Readiness]
"""As a column offers it."""


class Lane(models.Model):
    """One tenant's queue. Dispatch picks between the ready lanes, then inside one.

    The indexes hold ready lanes only, in the order in which they are served: a claim costs the same
    however many idle tenants there are.
    """

    tenant = models.ForeignKey(
        Tenant, on_delete=models.CASCADE, db_index=False, related_name="lanes"
    )
    queue = models.CharField(max_length=100)
    virtual_time = models.FloatField(
        default=0,
        help_text="Where its tenant stands: grows by served tasks over weight, the least is next.",
    )
    served_at = models.FloatField(
        default=0,
        help_text="Where its tenant stood once it was served. Among a tenant's lanes the least is next.",
    )
    readiness = models.SmallIntegerField(default=Readiness.NOT_DUE.value, choices=READINESS)

    class Meta:
        indexes: ClassVar = [
            models.Index(
                fields=["virtual_time", "served_at", "id"],
                name="lane_ready",
                condition=Q(readiness=Readiness.READY.value),
            ),
            models.Index(
                fields=["queue", "virtual_time", "served_at", "id"],
                name="lane_ready_in_queue",
                condition=Q(readiness=Readiness.READY.value),
            ),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "queue"], name="lane_tenant_queue")
        ]

    def __str__(self) -> str:
        return f"{self.tenant_id}/{self.queue}"


class Dispatch(models.Model):
    """The virtual time that dispatch has reached, for each kind of worker: those that serve the same queues.

    The row of the workers that serve every queue is the one that all claims lock: it is how they take turns.
    """

    EVERY_QUEUE = "*"

    pool = models.CharField(max_length=100, primary_key=True)
    virtual_time = models.FloatField(default=0)

    def __str__(self) -> str:
        return f"dispatch of {self.pool} at {self.virtual_time:g}"
