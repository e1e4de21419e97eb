"""Who did what by hand."""

from typing import ClassVar

from django.db import models

from scheduling.options import REASON_LENGTH_MAX
from tenants.models import Tenant


class OperatorAction(models.Model):
    """One thing that a person or a token did to the ledger beside ordinary work, and how far it got.

    By whom and to what is kept in words, so that an entry tells the same after users, tokens and tasks are gone.
    """

    class Via(models.TextChoices):
        CONSOLE = "console"
        API = "api", "API"
        COMMAND = "command", "command line"

    at = models.DateTimeField()
    via = models.CharField(max_length=10, choices=Via.choices)
    by = models.CharField(max_length=150, help_text="A user's name, or whose token it was.")
    verb = models.CharField(max_length=40)
    what = models.CharField(max_length=400, help_text="Which tasks, or which scope, in words.")
    tenant = models.ForeignKey(
        Tenant, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    reason = models.CharField(max_length=REASON_LENGTH_MAX, blank=True)
    done = models.PositiveIntegerField(default=0, help_text="To how many it was done.")
    refused = models.PositiveIntegerField(
        default=0, help_text="How many more were meant, and left as they are."
    )
    note = models.TextField(blank=True, help_text="What became of it, and why some were refused.")

    class Meta:
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [
            models.Index(fields=["by", "id"], name="operator_action_by"),
            models.Index(fields=["verb", "id"], name="operator_action_verb"),
        ]

    def __str__(self) -> str:
        return f"{self.by}: {self.verb} {self.what}"


class OperatedTask(models.Model):
    """A task that an operator picked by hand, for the page of the task. It may be gone by now."""

    action = models.ForeignKey(OperatorAction, on_delete=models.CASCADE, related_name="tasks")
    task = models.UUIDField(db_index=True)

    def __str__(self) -> str:
        return f"{self.task} of action {self.action_id}"
