"""What is to run again and again, and what became of each instant at which it was due."""

from datetime import datetime, timedelta
from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from scheduling.ids import uuid7
from scheduling.models.choices import choices
from scheduling.models.task import Task
from scheduling.models.written import WrittenJSON
from scheduling.options import PRIORITY_MAX, PRIORITY_MIN, REASON_LENGTH_MAX
from scheduling.policies import CATCHUP_WINDOW, PUNCTUAL, Catchup, Origin, Overlap, TickOutcome
from scheduling.recurrence import InvalidRecurrence, Recurrence
from tenants.models import Tenant


class RecurringTaskQuerySet(models.QuerySet["RecurringTask"]):
    def of(self, tenant: Tenant | None) -> "RecurringTaskQuerySet":
        """Those a caller may see: a tenant's own, or all of them for the operator (None)."""
        return self if tenant is None else self.filter(tenant=tenant)

    def due(self, now: datetime) -> "RecurringTaskQuerySet":
        """With a tick that has come and is not accounted for."""
        return self.filter(fires_at__lte=now)

    def overdue(self, now: datetime) -> "RecurringTaskQuerySet":
        """Whose tick nobody fires: no worker is alive, or all of them are busy with something else."""
        return self.filter(fires_at__lt=now - PUNCTUAL)

    def disabled(self) -> "RecurringTaskQuerySet":
        """Which cannot be followed, for a reason that the row tells."""
        return self.exclude(disabled_reason="")


class RecurringTask(models.Model):
    """A template, and the rule that says when a task is made of it: a cron expression in a zone, or an interval.

    Every instant of the rule up to `reached_at` is accounted for by a tick, and `next_at` is the first one after it.
    Both only ever move along the rule, from one instant to the next and never by the time of day, so neither a
    restart nor a clock that is set shifts a tick or repeats one. `fires_at` is when somebody has to look: empty while
    nothing will fire, because the row is paused or disabled, or its rule over.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    tenant = models.ForeignKey(
        Tenant, on_delete=models.PROTECT, db_index=False, related_name="recurring_tasks"
    )
    name = models.CharField(max_length=200)

    # What is made
    task_name = models.CharField(max_length=200)
    payload = WrittenJSON(default=dict, blank=True, help_text="The task's arguments, by name.")
    queue = models.CharField(max_length=100, default="default")
    priority = models.SmallIntegerField(default=0, help_text="-100 to 100; higher goes first.")
    max_attempts = models.PositiveSmallIntegerField(default=3)
    timeout_seconds = models.FloatField(null=True, blank=True)
    deadline_seconds = models.FloatField(
        null=True,
        blank=True,
        help_text="So long after it was made, no attempt at a task starts any more.",
    )

    # The rule
    cron = models.CharField(max_length=255, blank=True, help_text="Five fields; or an interval.")
    every_seconds = models.PositiveBigIntegerField(null=True, blank=True)
    anchor = models.DateTimeField(
        null=True, blank=True, help_text="An instant that the interval is counted from."
    )
    timezone = models.CharField(max_length=64, default="UTC", help_text="IANA name.")
    starts_at = models.DateTimeField(null=True, blank=True)
    ends_at = models.DateTimeField(null=True, blank=True)
    jitter_seconds = models.PositiveIntegerField(
        default=0,
        help_text="Each tick is fired up to so much later, always the same for that tick.",
    )

    # The policies
    overlap = models.CharField(max_length=12, choices=choices(Overlap), default=Overlap.SKIP)
    catchup = models.CharField(max_length=4, choices=choices(Catchup), default=Catchup.ONE)
    catchup_window_seconds = models.PositiveIntegerField(
        default=int(CATCHUP_WINDOW.total_seconds()),
        help_text="How late a tick may still be made up for.",
    )
    pause_after_failures = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="Dead tasks in a row. Empty: it is never paused for them."
    )

    # How it stands
    next_at = models.DateTimeField(
        null=True, editable=False, help_text="The next tick. Empty: there is none."
    )
    fires_at = models.DateTimeField(
        null=True, editable=False, help_text="When to look: for its jitter, a little after that."
    )
    reached_at = models.DateTimeField(
        editable=False, help_text="Every instant of the rule up to then is accounted for."
    )
    last_at = models.DateTimeField(
        null=True, editable=False, help_text="The last tick that was accounted for."
    )
    failures = models.PositiveIntegerField(
        default=0, editable=False, help_text="Dead tasks in a row, as far as is known."
    )
    paused = models.BooleanField(default=False)
    paused_reason = models.CharField(max_length=REASON_LENGTH_MAX, blank=True)
    disabled_reason = models.CharField(
        max_length=REASON_LENGTH_MAX,
        blank=True,
        help_text="Why it cannot fire. An edit that mends it, or its declaration, takes this away.",
    )
    silent_until = models.DateTimeField(
        null=True, editable=False, help_text="Ticks up to then were missed,"
    )
    silent_because = models.CharField(
        max_length=REASON_LENGTH_MAX, blank=True, help_text="for this reason."
    )

    declared_in_code = models.BooleanField(default=False)
    declaration = WrittenJSON(
        null=True, editable=False, help_text="What the code said when it was last looked at."
    )
    version = models.PositiveIntegerField(
        default=1, editable=False, help_text="Counts the edits, pauses and resumptions."
    )
    created_at = models.DateTimeField(editable=False)

    objects = RecurringTaskQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["tenant", "name"]
        permissions: ClassVar = [
            ("pause_recurringtask", "Can pause and resume recurring tasks"),
            ("run_recurringtask", "Can run recurring tasks now"),
            ("backfill_recurringtask", "Can backfill recurring tasks"),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["fires_at"], name="recurring_fires", condition=Q(fires_at__isnull=False)
            ),
            models.Index(fields=["tenant", "id"], name="recurring_of_tenant"),
            models.Index(
                fields=["id"], name="recurring_disabled", condition=~Q(disabled_reason="")
            ),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "name"], name="recurring_tenant_name"),
            models.CheckConstraint(
                name="recurring_rule",
                condition=(~Q(cron="") & Q(every_seconds__isnull=True, anchor__isnull=True))
                | Q(cron="", every_seconds__gte=1, anchor__isnull=False),
            ),
            models.CheckConstraint(
                name="recurring_end",
                condition=Q(starts_at__isnull=True)
                | Q(ends_at__isnull=True)
                | Q(ends_at__gt=F("starts_at")),
            ),
            models.CheckConstraint(
                name="recurring_policies",
                condition=Q(overlap__in=list(Overlap), catchup__in=list(Catchup))
                & Q(jitter_seconds__gte=0, catchup_window_seconds__gte=0)
                & (Q(pause_after_failures__isnull=True) | Q(pause_after_failures__gte=1)),
            ),
            models.CheckConstraint(
                name="recurring_task_options",
                condition=Q(priority__range=(PRIORITY_MIN, PRIORITY_MAX), max_attempts__gte=1)
                & (Q(timeout_seconds__isnull=True) | Q(timeout_seconds__gt=0))
                & (Q(deadline_seconds__isnull=True) | Q(deadline_seconds__gt=0)),
            ),
            models.CheckConstraint(
                name="recurring_silence",
                condition=Q(fires_at__isnull=True) | Q(paused=False, disabled_reason=""),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def recurrence(self) -> Recurrence:
        """The rule. Raises InvalidRecurrence for a row that somebody changed by hand, or whose zone is gone."""
        return Recurrence(
            cron=self.cron or None,
            every=None if self.every_seconds is None else self._every,
            anchor=self.anchor,
            timezone=self.timezone,
            starts_at=self.starts_at,
            ends_at=self.ends_at,
        )

    @property
    def _every(self) -> timedelta:
        try:
            return timedelta(seconds=self.every_seconds or 0)
        except (TypeError, OverflowError) as error:
            raise InvalidRecurrence("every_seconds", f"is no number of seconds: {error}") from error

    @property
    def catchup_window(self) -> timedelta:
        return timedelta(seconds=self.catchup_window_seconds)

    @property
    def is_silent(self) -> bool:
        return self.paused or bool(self.disabled_reason)


class TickQuerySet(models.QuerySet["Tick"]):
    def waiting(self) -> "TickQuerySet":
        """Those that will make a task, and have not yet."""
        return self.filter(outcome__isnull=True)

    def open(self) -> "TickQuerySet":
        """Those whose task is not known to be over."""
        return self.filter(is_open=True)


class Tick(models.Model):
    """One instant at which a recurring task was due, and what became of it.

    `at` is the nominal instant: when it was due by the rule, whenever it was fired. A tick without an outcome
    waits, for its predecessor to be over or for room in its tenant's limits. A long run of ticks that made no task
    is one row: `count` of them, from `at` until `until`.
    """

    recurring = models.ForeignKey(
        RecurringTask, on_delete=models.CASCADE, db_index=False, related_name="ticks"
    )
    at = models.DateTimeField()
    until = models.DateTimeField(null=True, help_text="The last of a run. Empty: it is one tick.")
    count = models.PositiveIntegerField(default=1)
    origin = models.CharField(max_length=8, choices=choices(Origin), default=Origin.RULE)
    outcome = models.CharField(
        max_length=15, null=True, choices=choices(TickOutcome), help_text="Empty: it waits."
    )
    reason = models.CharField(max_length=REASON_LENGTH_MAX, blank=True)
    task = models.OneToOneField(
        Task,
        null=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="tick",
        help_text="The task it made, which may have been pruned since.",
    )
    is_open = models.BooleanField(default=False, help_text="Its task is not known to be over.")
    decided_at = models.DateTimeField(help_text="When it was accounted for, or began to wait.")
    look_at = models.DateTimeField(null=True, help_text="Of one that waits: when to try again,")
    expires_at = models.DateTimeField(null=True, help_text="and until when that is of use.")

    objects = TickQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["recurring", "at"]
        indexes: ClassVar = [
            models.Index(
                fields=["look_at"], name="tick_waiting", condition=Q(outcome__isnull=True)
            ),
            models.Index(
                fields=["recurring", "at"],
                name="tick_waiting_its_turn",
                condition=Q(outcome__isnull=True),
            ),
            models.Index(fields=["recurring", "at"], name="tick_open", condition=Q(is_open=True)),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["recurring", "at", "origin"], name="tick_instant"),
            models.UniqueConstraint(
                fields=["recurring", "at"],
                name="tick_fires_once",
                condition=Q(outcome=TickOutcome.FIRED) & ~Q(origin=Origin.RUN_NOW),
            ),
            models.CheckConstraint(
                name="tick_outcome",
                condition=Q(outcome__isnull=True) | Q(outcome__in=list(TickOutcome)),
            ),
            models.CheckConstraint(name="tick_origin", condition=Q(origin__in=list(Origin))),
            models.CheckConstraint(
                name="tick_task",
                condition=Q(outcome=TickOutcome.FIRED, task__isnull=False)
                | Q(outcome__isnull=True, task__isnull=True, is_open=False, look_at__isnull=False)
                | (
                    Q(outcome__isnull=False, task__isnull=True, is_open=False)
                    & ~Q(outcome=TickOutcome.FIRED)
                ),
            ),
            models.CheckConstraint(
                name="tick_run",
                condition=Q(count=1, until__isnull=True)
                | (Q(count__gt=1, until__gt=F("at")) & ~Q(outcome=TickOutcome.FIRED)),
            ),
        ]

    def __str__(self) -> str:
        return f"tick of {self.recurring_id} at {self.at}: {self.outcome or 'waits'}"
