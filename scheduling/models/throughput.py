"""How much was done, per tenant, so that charts and metrics never scan history."""

from typing import ClassVar

from django.db import models

from tenants.models import Tenant


class Throughput(models.Model):
    """Attempts that ended in one minute (UTC) for one tenant, by what became of the task."""

    tenant = models.ForeignKey(
        Tenant, on_delete=models.CASCADE, db_index=False, db_constraint=False, related_name="+"
    )
    minute = models.DateTimeField()
    succeeded = models.PositiveIntegerField(default=0)
    retried = models.PositiveIntegerField(default=0)
    dead = models.PositiveIntegerField(default=0)
    cancelled = models.PositiveIntegerField(default=0)
    lost = models.PositiveIntegerField(default=0)
    wait_seconds = models.FloatField(
        default=0, help_text="Summed over the attempts: due to claimed."
    )
    run_seconds = models.FloatField(
        default=0, help_text="Summed over the attempts: claimed to ended."
    )

    class Meta:
        ordering: ClassVar = ["minute"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "minute"], name="throughput_tenant_minute")
        ]
        indexes: ClassVar = [models.Index(fields=["minute"], name="throughput_minute")]

    def __str__(self) -> str:
        return f"{self.tenant_id} at {self.minute:%F %R}"


class Hour(models.Model):
    """What the minutes of one hour (UTC) held that Throughput no longer keeps, for the charts of a day."""

    EVERYBODY = 0

    of_tenant = models.BigIntegerField(help_text="Its id; 0: all of them together.")
    hour = models.DateTimeField()
    succeeded = models.BigIntegerField(default=0)
    retried = models.BigIntegerField(default=0)
    dead = models.BigIntegerField(default=0)
    cancelled = models.BigIntegerField(default=0)
    lost = models.BigIntegerField(default=0)
    wait_seconds = models.FloatField(default=0)
    run_seconds = models.FloatField(default=0)

    class Meta:
        ordering: ClassVar = ["hour"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["of_tenant", "hour"], name="hour_of_tenant")
        ]
        indexes: ClassVar = [models.Index(fields=["hour"], name="hour_hour")]

    def __str__(self) -> str:
        return f"{self.of_tenant} at {self.hour:%F %H}h"


class Total(models.Model):
    """What a tenant's minutes held that Throughput no longer keeps, and how often its tasks were spoken for in vain.

    Together with the minutes that are left: everything since the tenant began. It only ever grows.
    """

    tenant = models.OneToOneField(
        Tenant, primary_key=True, on_delete=models.CASCADE, db_constraint=False, related_name="+"
    )
    succeeded = models.BigIntegerField(default=0)
    retried = models.BigIntegerField(default=0)
    dead = models.BigIntegerField(default=0)
    cancelled = models.BigIntegerField(default=0)
    lost = models.BigIntegerField(default=0)
    wait_seconds = models.FloatField(default=0)
    run_seconds = models.FloatField(default=0)
    refused = models.BigIntegerField(default=0, help_text="Stale workers; no minute has these.")

    def __str__(self) -> str:
        return f"totals of {self.tenant_id}"
