"""What to run."""

from datetime import datetime
from typing import ClassVar

from django.db import models
from django.db.models import Q

from scheduling.ids import uuid7
from scheduling.models.choices import choices
from scheduling.models.written import WrittenJSON
from scheduling.options import LABEL_LENGTH_MAX, PRIORITY_MAX, PRIORITY_MIN
from scheduling.states import DeadReason, TaskState
from tenants.models import Tenant


class TaskQuerySet(models.QuerySet["Task"]):
    def of(self, tenant: Tenant | None) -> "TaskQuerySet":
        """The tasks a caller may see: a tenant's own, or all of them for the operator (None)."""
        return self if tenant is None else self.filter(tenant=tenant)

    def dead(self) -> "TaskQuerySet":
        """The dead letters. Phrased on `dead_reason`, because that is what their index holds."""
        return self.filter(dead_reason__isnull=False)

    def without_blobs(self) -> "TaskQuerySet":
        """For lists: payloads and results may be large, and a page of them larger."""
        return self.defer("args", "kwargs", "result")


class Task(models.Model):
    """A durable unit of work: *what* to run.

    When it is due stands in its Schedule while it waits, who runs it in its Lease while it is in flight,
    and what happened in its Attempts. No index mentions `state`, `generation` or `finished_at`, so the
    two updates of an ordinary life touch the row alone (on PostgreSQL they stay heap-only).
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    tenant = models.ForeignKey(
        Tenant, on_delete=models.PROTECT, db_index=False, related_name="tasks"
    )
    name = models.CharField(max_length=200)
    queue = models.CharField(max_length=100)
    args = WrittenJSON(default=list)
    kwargs = WrittenJSON(default=dict)
    priority = models.SmallIntegerField(default=0, help_text="-100 to 100; higher goes first.")
    state = models.CharField(max_length=10, choices=choices(TaskState), default=TaskState.QUEUED)
    generation = models.PositiveIntegerField(
        default=0, help_text="Counts the claims; with the id, the fencing token."
    )
    attempts = models.PositiveSmallIntegerField(
        default=0, help_text="Attempts charged against max_attempts."
    )
    max_attempts = models.PositiveSmallIntegerField(default=3)
    timeout_seconds = models.FloatField(null=True, blank=True)
    deadline = models.DateTimeField(null=True, blank=True)
    idempotency_key = models.CharField(max_length=255, null=True, blank=True)
    fingerprint = models.CharField(
        max_length=64, null=True, editable=False, help_text="SHA-256 of the request behind the key."
    )
    label = models.CharField(
        max_length=LABEL_LENGTH_MAX,
        null=True,
        blank=True,
        help_text="By which a person finds it again. It means nothing to the ledger.",
    )
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    result = WrittenJSON(null=True, blank=True)
    error = WrittenJSON(
        null=True,
        blank=True,
        help_text="Class and message of the last failure; its attempt has more.",
    )
    dead_reason = models.CharField(
        max_length=20, null=True, blank=True, choices=choices(DeadReason)
    )
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    redriven_from = models.PositiveIntegerField(
        null=True, blank=True, help_text="The generation it was dead at when it was last redriven."
    )
    trace_context = models.CharField(max_length=55, null=True, blank=True)

    objects = TaskQuerySet.as_manager()

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["tenant", "id"], name="task_tenant"),
            models.Index(
                fields=["tenant", "id"],
                name="task_dead",
                condition=Q(dead_reason__isnull=False),
            ),
            models.Index(
                fields=["id"],
                name="task_dead_of_all",
                condition=Q(dead_reason__isnull=False),
            ),
            models.Index(
                fields=["tenant", "queue"],
                name="task_dead_queue",
                condition=Q(dead_reason__isnull=False),
            ),
            models.Index(
                fields=["tenant", "id"],
                name="task_cancel",
                condition=Q(cancel_requested_at__isnull=False),
            ),
            models.Index(
                fields=["tenant", "label", "id"],
                name="task_label",
                condition=Q(label__isnull=False),
            ),
            models.Index(
                fields=["label", "id"],
                name="task_label_of_all",
                condition=Q(label__isnull=False),
            ),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "idempotency_key"],
                name="task_idempotency_key",
                condition=Q(idempotency_key__isnull=False),
            ),
            models.CheckConstraint(name="task_state", condition=Q(state__in=list(TaskState))),
            models.CheckConstraint(
                name="task_dead_reason",
                condition=Q(state=TaskState.DEAD, dead_reason__isnull=False)
                | (~Q(state=TaskState.DEAD) & Q(dead_reason__isnull=True)),
            ),
            models.CheckConstraint(
                name="task_priority", condition=Q(priority__range=(PRIORITY_MIN, PRIORITY_MAX))
            ),
            models.CheckConstraint(
                name="task_attempts", condition=Q(attempts__lte=models.F("max_attempts"))
            ),
        ]
        permissions: ClassVar = [
            ("cancel_task", "Can cancel tasks"),
            ("redrive_task", "Can redrive dead letters"),
            ("discard_task", "Can discard dead letters"),
            ("reschedule_task", "Can change when tasks are due, and their priority"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.id}"

    @property
    def is_terminal(self) -> bool:
        return TaskState(self.state).is_terminal

    @property
    def attempt(self) -> int:
        """The attempt that runs, or else how many have been charged; 0 before the first."""
        return self.attempts + (self.state == TaskState.RUNNING)

    def phase(self, now: datetime) -> str:
        """The state as people say it: a queued task is "scheduled", "retrying" or plainly "queued"."""
        if self.state != TaskState.QUEUED:
            return self.state
        if self.attempts:
            return "retrying"
        schedule = getattr(self, "schedule", None)
        due_at = schedule.due_at if schedule else None
        return "scheduled" if due_at and due_at > now else "queued"


class DeadLetter(Task):
    """A task in state `dead`, as the console lists it: the same row under the word operators use."""

    class Meta:
        proxy = True
