"""What happened."""

from typing import ClassVar

from django.db import models

from scheduling.models.choices import choices
from scheduling.models.task import Task
from scheduling.models.written import WrittenJSON
from scheduling.states import Outcome


class Attempt(models.Model):
    """One execution of a task, written once, when it ends.

    `number` is the attempt as charged (1, 2, …); a released or snoozed attempt gives its number back.
    `error` is `{"class", "message", "traceback"}`, bounded.
    """

    task = models.ForeignKey(
        Task,
        on_delete=models.CASCADE,
        db_index=False,
        db_constraint=False,
        related_name="history",
    )
    generation = models.PositiveIntegerField()
    number = models.PositiveIntegerField()
    worker = models.UUIDField()
    due_at = models.DateTimeField(help_text="It waited from then until it started.")
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField()
    outcome = models.CharField(max_length=10, choices=choices(Outcome))
    error = WrittenJSON(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["task", "generation"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["task", "generation"], name="attempt_generation"),
            models.CheckConstraint(
                name="attempt_outcome", condition=models.Q(outcome__in=list(Outcome))
            ),
        ]

    def __str__(self) -> str:
        return f"{self.task_id} generation {self.generation}: {self.outcome}"


class Refusal(models.Model):
    """A worker spoke for a lease it no longer held, and was refused: the trace a zombie leaves."""

    task = models.ForeignKey(
        Task, on_delete=models.CASCADE, db_constraint=False, related_name="refusals"
    )
    generation = models.PositiveIntegerField(help_text="The generation it spoke for.")
    worker = models.UUIDField()
    verb = models.CharField(max_length=10, help_text="What it tried.")
    refused_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["task", "refused_at"]

    def __str__(self) -> str:
        return f"{self.task_id} generation {self.generation}: {self.verb} refused"
