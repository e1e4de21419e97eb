"""How much of its allowance a tenant has used, as two counters that never wait for each other."""

from django.db import models

from tenants.models import Tenant


class Intake(models.Model):
    """What came in: written by those who enqueue, and by nobody else.

    `accepted` minus `Outflow.finished` is the number of unfinished tasks. Read without a lock the
    difference can only be too large, so `max_queued` is never exceeded. `full_at` is the theoretical
    arrival time of the rate limit (GCRA, ITU-T I.371), as seconds since the epoch.
    """

    tenant = models.OneToOneField(Tenant, primary_key=True, on_delete=models.CASCADE)
    accepted = models.BigIntegerField(default=0)
    full_at = models.FloatField(default=0)

    def __str__(self) -> str:
        return f"{self.tenant_id}: {self.accepted} accepted"


class Outflow(models.Model):
    """What is finished: written by those who settle, and by nobody else."""

    tenant = models.OneToOneField(Tenant, primary_key=True, on_delete=models.CASCADE)
    finished = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.tenant_id}: {self.finished} finished"
