"""Where a story takes place: an empty ledger with two tenants, its model beside it, and time that passes by hand.

After every step the ledger is recounted, and each task is where the model says.
"""

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from scheduling import ledger
from scheduling.ledger.values import Claim, HeldLease
from scheduling.models import (
    Attempt,
    Dispatch,
    Intake,
    Lane,
    Lease,
    Outflow,
    Pause,
    Refusal,
    Schedule,
    Task,
    Throughput,
    Total,
)
from scheduling.states import Outcome, TaskState
from tenants.models import Tenant
from tests import recounting
from tests.ledger.kit import START
from tests.ledger.story.limits import Limits
from tests.ledger.story.model import Model
from tests.ledger.story.task import End, ModelTask

EVERYTHING = (
    Refusal,
    Attempt,
    Lease,
    Schedule,
    Task,
    Lane,
    Pause,
    Intake,
    Outflow,
    Throughput,
    Total,
    Dispatch,
    Tenant,
)
TENANTS, QUEUES, NAMES = ("a", "b"), ("x", "y"), ("p", "q")

delays = st.sampled_from([0, 0, 0, 5, 20]).map(lambda seconds: timedelta(seconds=seconds))


class Stage(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        for model in EVERYTHING:
            model.objects.all()._raw_delete("default")
        limits = {
            "a": Limits(max_in_flight=2),
            "b": Limits(max_queued=8, rate_per_second=0.125, rate_burst=8, retention_seconds=5),
        }
        self.tenants = {slug: Tenant.objects.create(slug=slug) for slug in limits}
        self.slugs = {tenant.pk: slug for slug, tenant in self.tenants.items()}
        self.model = Model(START, limits)
        for slug in limits:
            self.grant(slug, weight=1)
        self.claims: list[Claim] = []
        """What the workers remember, stale ones among them."""
        self.read: list[HeldLease] = []
        """What the reaper read in its last sweep."""

    def grant(self, slug: str, *, weight: int) -> None:
        """Write down for the ledger what the model has as a tenant's limits."""
        limits = self.model.limits[slug]
        retention = limits.retention_seconds
        Tenant.objects.filter(slug=slug).update(
            weight=weight,
            max_in_flight=limits.max_in_flight,
            max_queued=limits.max_queued,
            rate_per_second=limits.rate_per_second,
            rate_burst=limits.rate_burst,
            retention=None if retention is None else timedelta(seconds=retention),
        )
        self.tenants[slug].refresh_from_db()

    @rule(seconds=st.sampled_from([1, 4, 9, 30]))
    def time_passes(self, seconds: int) -> None:
        self.model.now += timedelta(seconds=seconds)

    @rule()
    def promote(self) -> None:
        self.make_ready()

    def make_ready(self) -> None:
        promotion = ledger.promote(now=self.model.now)
        assert promotion.next_due == self.model.promote()

    @invariant()
    def every_invariant_holds(self) -> None:
        assert recounting.violations() == []

    @invariant()
    def every_task_is_where_the_model_says(self) -> None:
        stored = Task.objects.select_related("schedule", "lease").prefetch_related("history")
        assert {task.pk: as_stored(task) for task in stored} == {
            task.id: as_told(task) for task in self.model.tasks.values()
        }

    @invariant()
    def every_minute_counts_what_the_model_says(self) -> None:
        counted = {
            (self.slugs[minute.tenant_id], minute.minute, what): getattr(minute, what)
            for minute in Throughput.objects.all()
            for what in ("succeeded", "retried", "dead", "cancelled", "lost")
        }
        assert {key: count for key, count in counted.items() if count} == self.model.throughput


def as_stored(task: Task) -> dict[str, Any]:
    waits, runs = task.state == TaskState.QUEUED, task.state == TaskState.RUNNING
    return {
        "state": task.state,
        "generation": task.generation,
        "attempts": task.attempts,
        "deadline": task.deadline,
        "priority": task.priority,
        "dead_reason": task.dead_reason,
        "cancel_requested": task.cancel_requested_at is not None,
        "redriven_from": task.redriven_from,
        "finished_at": task.finished_at,
        "due_at": task.schedule.due_at if waits else task.lease.due_at if runs else None,
        "lease": (task.lease.worker, task.lease.acquired_at, task.lease.expires_at)
        if runs
        else None,
        "ends": {
            one.generation: End(
                one.worker,
                Outcome(one.outcome),
                one.number,
                one.due_at,
                one.started_at,
                one.finished_at,
            )
            for one in task.history.all()
        },
    }


def as_told(task: ModelTask) -> dict[str, Any]:
    return {
        "state": task.state,
        "generation": task.generation,
        "attempts": task.attempts,
        "deadline": task.deadline,
        "priority": task.priority,
        "dead_reason": task.dead_reason,
        "cancel_requested": task.cancel_requested,
        "redriven_from": task.redriven_from,
        "finished_at": task.finished_at,
        "due_at": None if task.state.is_terminal else task.due_at,
        "lease": (task.worker, task.acquired_at, task.expires_at) if task.worker else None,
        "ends": task.ends,
    }
