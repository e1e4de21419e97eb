"""Where a story takes place: an empty ledger with two tenants, its model beside it, and time that passes by hand.

After every step the ledger is recounted, and each task is where the model says.
"""

from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from scheduling import ledger
from scheduling.ledger import check
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
)
from scheduling.states import Outcome, TaskState
from tenants.models import Tenant
from tests.ledger.kit import START
from tests.ledger.story.model import Model

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
        self.tenants = {
            "a": Tenant.objects.create(slug="a", weight=3, max_in_flight=3),
            "b": Tenant.objects.create(slug="b", max_queued=8),
        }
        self.slugs = {tenant.pk: slug for slug, tenant in self.tenants.items()}
        self.model = Model(
            START,
            caps={slug: tenant.max_in_flight for slug, tenant in self.tenants.items()},
            max_queued={slug: tenant.max_queued for slug, tenant in self.tenants.items()},
        )
        self.claims: list[Claim] = []
        """What the workers remember, stale ones among them."""
        self.read: list[HeldLease] = []
        """What the reaper read in its last sweep."""

    @rule(seconds=st.sampled_from([1, 4, 9, 30]))
    def time_passes(self, seconds: int) -> None:
        self.model.now += timedelta(seconds=seconds)

    @rule()
    def promote(self) -> None:
        self.make_ready()

    def make_ready(self) -> None:
        ledger.promote(now=self.model.now)
        self.model.promote()

    @invariant()
    def every_invariant_holds(self) -> None:
        assert check.violations() == []

    @invariant()
    def every_task_is_where_the_model_says(self) -> None:
        stored = {
            task.pk: (
                task.state,
                task.generation,
                task.attempts,
                task.dead_reason,
                task.cancel_requested_at is not None,
                task.schedule.due_at if task.state == TaskState.QUEUED else None,
                task.lease.worker if task.state == TaskState.RUNNING else None,
                {one.generation: (one.worker, Outcome(one.outcome)) for one in task.history.all()},
            )
            for task in Task.objects.select_related("schedule", "lease").prefetch_related("history")
        }
        assert stored == {
            task.id: (
                task.state,
                task.generation,
                task.attempts,
                task.dead_reason,
                task.cancel_requested,
                task.due_at if task.state is TaskState.QUEUED else None,
                task.worker,
                task.ends,
            )
            for task in self.model.tasks.values()
        }
