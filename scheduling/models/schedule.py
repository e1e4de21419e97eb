"""When a waiting task is next due."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from scheduling.models.lane import READINESS, Lane
from scheduling.models.task import Task
from scheduling.states import Readiness


class Schedule(models.Model):
    """*When* a waiting task is next due. The row exists exactly while the task is queued.

    The foreign keys of this table and of Lease and Attempt are not enforced by the database: the ledger
    is their only writer, `checkledger` recounts them, and the checks would cost a third of a claim.
    """

    task = models.OneToOneField(
        Task, primary_key=True, on_delete=models.CASCADE, db_constraint=False
    )
    lane = models.ForeignKey(
        Lane, on_delete=models.CASCADE, db_index=False, db_constraint=False, related_name="+"
    )
    priority = models.SmallIntegerField()
    due_at = models.DateTimeField()
    readiness = models.SmallIntegerField(choices=READINESS)

    class Meta:
        indexes: ClassVar = [
            models.Index(
                fields=["lane", "-priority", "due_at", "task"],
                name="schedule_ready",
                condition=Q(readiness=Readiness.READY.value),
            ),
            models.Index(
                fields=["due_at"],
                name="schedule_future",
                condition=Q(readiness=Readiness.NOT_DUE.value),
            ),
            models.Index(
                fields=["lane", "task"],
                name="schedule_not_due",
                condition=Q(readiness=Readiness.NOT_DUE.value),
            ),
            models.Index(
                fields=["lane"], name="schedule_held", condition=Q(readiness=Readiness.HELD.value)
            ),
        ]

    def __str__(self) -> str:
        return f"schedule of {self.task_id}"
