"""How much was done, per tenant, so that charts and metrics never scan history."""

from typing import ClassVar

from django.db import models

from scheduling.spread import UP_TO
from tenants.models import Tenant

WAITED = tuple(f"waited_{bound}" for bound in UP_TO)
RAN = tuple(f"ran_{bound}" for bound in UP_TO)
"""Columns: how many of the attempts that ended had waited, and had run, for no longer than that."""
TALLIED = (
    "succeeded", "retried", "dead", "cancelled", "lost", "ended", "wait_seconds", "run_seconds",
)  # fmt: skip
"""The other columns with figures."""


class Figures(models.Model):
    """Attempts that ended, by what became of the task, and how long they took."""

    succeeded = models.BigIntegerField(default=0)
    retried = models.BigIntegerField(default=0)
    dead = models.BigIntegerField(default=0)
    cancelled = models.BigIntegerField(default=0)
    lost = models.BigIntegerField(default=0)
    ended = models.BigIntegerField(
        default=0,
        db_default=0,
        help_text="Attempts, snoozed and released ones too: those that the rest is of.",
    )
    wait_seconds = models.FloatField(
        default=0, help_text="Summed over the attempts: due to claimed."
    )
    run_seconds = models.FloatField(
        default=0, help_text="Summed over the attempts: claimed to ended."
    )

    class Meta:
        abstract = True


for column in (*WAITED, *RAN):
    Figures.add_to_class(column, models.BigIntegerField(default=0, db_default=0))


class Throughput(Figures):
    """What ended in one minute (UTC) for one tenant. Kept for two hours."""

    tenant = models.ForeignKey(
        Tenant, on_delete=models.CASCADE, db_index=False, db_constraint=False, related_name="+"
    )
    minute = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["minute"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "minute"], name="throughput_tenant_minute")
        ]
        indexes: ClassVar = [models.Index(fields=["minute"], name="throughput_minute")]

    def __str__(self) -> str:
        return f"{self.tenant_id} at {self.minute:%F %R}"


class Hour(Figures):
    """What the minutes of one hour (UTC) held that Throughput no longer keeps, for the charts of a day."""

    EVERYBODY = 0

    of_tenant = models.BigIntegerField(help_text="Its id; 0: all of them together.")
    hour = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["hour"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["of_tenant", "hour"], name="hour_of_tenant")
        ]
        indexes: ClassVar = [models.Index(fields=["hour"], name="hour_hour")]

    def __str__(self) -> str:
        return f"{self.of_tenant} at {self.hour:%F %H}h"


class Total(Figures):
    """What a tenant's minutes held that Throughput no longer keeps, and how often its tasks were spoken for in vain.

    Together with the minutes that are left: everything since the tenant began. It only ever grows.
    """

    tenant = models.OneToOneField(
        Tenant, primary_key=True, on_delete=models.CASCADE, db_constraint=False, related_name="+"
    )
    refused = models.BigIntegerField(
        default=0, db_default=0, help_text="Stale workers; no minute has these."
    )

    def __str__(self) -> str:
        return f"totals of {self.tenant_id}"
