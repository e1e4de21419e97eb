"""Who runs a task, and until when."""

from typing import ClassVar

from django.db import models

from scheduling.models.lane import Lane
from scheduling.models.task import Task
from tenants.models import Tenant


class Lease(models.Model):
    """*Who* runs a task and until when. The row exists exactly while the task is in flight.

    `worker` is the id of one process's life, not a foreign key: a lease outlives the registration of
    the worker that held it. `expires_at` is not indexed: renewing then stays a heap-only update.
    """

    task = models.OneToOneField(
        Task, primary_key=True, on_delete=models.CASCADE, db_constraint=False
    )
    tenant = models.ForeignKey(
        Tenant, on_delete=models.PROTECT, db_constraint=False, related_name="leases"
    )
    lane = models.ForeignKey(
        Lane, on_delete=models.CASCADE, db_index=False, db_constraint=False, related_name="+"
    )
    worker = models.UUIDField(db_index=True)
    generation = models.PositiveIntegerField()
    due_at = models.DateTimeField(help_text="When it was due: it waited from then until acquired.")
    acquired_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    seconds = models.FloatField(help_text="The length it was granted and is renewed for.")

    progress = models.JSONField(
        null=True, help_text="What the handler last said about how far it has come."
    )

    class Meta:
        ordering: ClassVar = ["acquired_at"]

    def __str__(self) -> str:
        return f"{self.task_id} generation {self.generation}"
