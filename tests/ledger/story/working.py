"""What workers do: claim, renew, settle; also with claims they lost long ago."""

from collections import Counter, defaultdict
from datetime import timedelta
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from scheduling import ledger
from scheduling.ledger.values import (
    Claim,
    Fail,
    Failure,
    Release,
    Settlement,
    Snooze,
    Stop,
    Succeed,
    Verdict,
)
from scheduling.models import Refusal, Task
from scheduling.states import DeadReason, Outcome, TaskState
from tests.ledger.kit import LEASE
from tests.ledger.story.stage import QUEUES, Stage, delays
from tests.ledger.story.task import ModelTask

MOST_REMEMBERED = 12
FAILURE = Failure("ValueError", "no luck")

workers = st.sampled_from([UUID(int=number) for number in (1, 2)])
verdicts: st.SearchStrategy[Verdict] = st.one_of(
    st.just(Succeed()),
    delays.map(lambda delay: Fail(FAILURE, delay)),
    st.just(Fail(FAILURE, timedelta(0), unknown_handler=True)),
    st.just(Fail(FAILURE, None)),
    delays.map(Snooze),
    st.just(Release()),
    st.just(Stop()),
)


class Working(Stage):
    guesses_few = False

    @rule(worker=workers, data=st.data())
    def work(self, worker: UUID, data: st.DataObject) -> None:
        """Start whatever may be started, and settle all of it at once."""
        self.make_ready()
        claims = self._claim(worker, limit=5, queues=None)
        self._settle([Settlement(claim, data.draw(verdicts)) for claim in claims])

    @rule(worker=workers, limit=st.integers(1, 5), queues=st.sampled_from([None, ("x",), ("y",)]))
    def claim(self, worker: UUID, limit: int, queues: tuple[str, ...] | None) -> None:
        """Start something, and remember it for later, perhaps too late."""
        self._claim_and_remember(worker, limit, queues)

    def _claim_and_remember(self, worker: UUID, limit: int, queues: tuple[str, ...] | None) -> None:
        claims = self._claim(worker, limit, queues)
        self.claims = [*self.claims, *claims][-MOST_REMEMBERED:]

    def _claim(self, worker: UUID, limit: int, queues: tuple[str, ...] | None) -> list[Claim]:
        late = list(self.model.late())
        in_order = self.model.may_start(queues or QUEUES)
        most = min(self._room_for(in_order), limit)
        claims = self._claim_until_told_there_is_no_more(worker, limit, queues)
        self._check_order(claims, in_order)
        assert len(claims) <= most
        assert len(claims) == most or self.model.may_hold_what_is_free(), "work was left lying"
        self.model.meet_pauses()
        for claim in claims:
            self._start(claim)
        self._bury_late_ones(late)
        return claims

    def _start(self, claim: Claim) -> None:
        task, now = self.model.tasks[claim.task_id], self.model.now
        assert (claim.generation, claim.attempt) == (task.generation + 1, task.attempts + 1)
        assert (claim.due_at, claim.acquired_at, claim.expires_at) == (
            task.due_at,
            now,
            now + LEASE,
        )
        assert self.model.room(task.tenant) > 0
        task.start(claim, now)

    def _room_for(self, waiting: list[ModelTask]) -> float:
        """How many of them may start: as many of each tenant as its cap allows."""
        counts = Counter(task.tenant for task in waiting)
        return sum(min(count, self.model.room(tenant)) for tenant, count in counts.items())

    def _claim_until_told_there_is_no_more(
        self, worker: UUID, limit: int, queues: tuple[str, ...] | None
    ) -> list[Claim]:
        claims: list[Claim] = []
        contended = True
        while contended and len(claims) < limit:
            found = ledger.claim(
                worker,
                limit=limit - len(claims),
                queues=queues,
                lease=LEASE,
                now=self.model.now,
                expects_few=self.guesses_few,
            )
            claims += found.claims
            contended = found.contended
        return claims

    def _check_order(self, claims: list[Claim], in_order: list[ModelTask]) -> None:
        """What was started of each lane is what stands first in it, but for what a pause that is over still holds."""
        started: dict[tuple[str, str], list[UUID]] = defaultdict(list)
        waiting: dict[tuple[str, str], list[ModelTask]] = defaultdict(list)
        for claim in claims:
            started[self.slugs[claim.tenant_id], claim.queue].append(claim.task_id)
        for task in in_order:
            waiting[task.tenant, task.queue].append(task)
        for lane, ids in started.items():
            free = [
                task.id
                for task in waiting[lane]
                if task.id in ids or not self.model.may_be_held(task)
            ]
            assert ids == free[: len(ids)]

    def _bury_late_ones(self, late: list[ModelTask]) -> None:
        dead = Task.objects.filter(pk__in=[task.id for task in late], state=TaskState.DEAD)
        for pk, reason in dead.values_list("pk", "dead_reason"):
            assert reason == DeadReason.DEADLINE_PASSED
            self.model.bury(self.model.tasks[pk], DeadReason(reason))

    @rule(few=st.booleans())
    def guess(self, few: bool) -> None:
        """From now on claims expect little, or much. What they find must not depend on it."""
        self.guesses_few = few

    @rule(worker=workers, data=st.data())
    def be_its_own_zombie(self, worker: UUID, data: st.DataObject) -> None:
        """A worker that was thought dead gets tasks back that it is still at, under new generations."""
        self.make_ready()
        old = self._claim(worker, limit=2, queues=None)
        lost = [lease for lease in ledger.held_leases(worker) if named([lease]) <= named(old)]
        ledger.reap(lost, uncharged=[lease.task_id for lease in lost], now=self.model.now)
        for claim in sorted(old, key=lambda claim: claim.task_id):
            self.model.settle(self.model.tasks[claim.task_id], Release())
        self._claim_and_remember(worker, limit=5, queues=None)
        assert named(ledger.renew(old, lease=LEASE, now=self.model.now).stale) == named(old)
        self._settle([Settlement(claim, data.draw(verdicts)) for claim in old])

    @rule(worker=workers)
    def renew(self, worker: UUID) -> None:
        self._renew(worker)

    @rule(worker=workers, seconds=st.sampled_from([1, 4]))
    def renew_while_a_reaper_looks_on(self, worker: UUID, seconds: int) -> None:
        """What was renewed since it looked is none of its business."""
        self._claim_and_remember(worker, limit=1, queues=None)
        seen = ledger.held_leases(worker)
        self.model.now += timedelta(seconds=seconds)
        self._renew(worker)
        remembered = named(self.claims)
        renewed = [lease for lease in seen if named([lease]) <= remembered]
        assert ledger.reap(renewed, now=self.model.now) == []

    def _renew(self, worker: UUID) -> None:
        claims = [claim for claim in self.claims if claim.worker == worker]
        renewal = ledger.renew(claims, lease=LEASE, now=self.model.now)
        held = [claim for claim in claims if self._holds(claim)]
        over = [claim for claim in claims if self._succeeded_as(claim)]
        assert named(renewal.stale) == named(claims) - named(held) - named(over)
        tasks = [self.model.tasks[claim.task_id] for claim in held]
        assert renewal.cancel_requested == {task.id for task in tasks if task.cancel_requested}
        for task in tasks:
            task.expires_at = renewal.expires_at

    def _succeeded_as(self, claim: Claim) -> bool:
        """Whether the task's history has a success of this very claim; a renewal that crosses it is no zombie's."""
        task = self.model.tasks.get(claim.task_id)
        end = task.ends.get(claim.generation) if task else None
        return bool(end and end.outcome is Outcome.SUCCEEDED and end.worker == claim.worker)

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        """Settle what was claimed some steps ago, whoever has it now."""
        claims = st.lists(st.sampled_from(self.claims), min_size=1, max_size=4, unique_by=id)
        self._settle([Settlement(claim, data.draw(verdicts)) for claim in data.draw(claims)])

    def _settle(self, said: list[Settlement]) -> None:
        refused_before = Refusal.objects.count()
        settling = ledger.settle(said, now=self.model.now)
        stale = [one.claim for one in said if not self._is_heard(one)]
        assert named(settling.stale) == named(stale)
        assert named(settling.settled) == named(one.claim for one in said) - named(stale)
        known = sum(claim.task_id in self.model.tasks for claim in stale)
        assert Refusal.objects.count() == refused_before + known
        answers = {
            (one.task_id, one.generation): (one.state, one.due_at) for one in settling.settled
        }
        for one in said:
            if self._holds(one.claim):
                task = self.model.tasks[one.claim.task_id]
                self.model.settle(task, one.verdict)
                due_at = task.due_at if task.state is TaskState.QUEUED else None
                assert answers[task.id, one.claim.generation] == (task.state, due_at)

    def _holds(self, claim: Claim) -> bool:
        task = self.model.tasks.get(claim.task_id)
        return task is not None and task.holds(claim)

    def _is_heard(self, said: Settlement) -> bool:
        """It holds the lease, or repeats what it said before."""
        task = self.model.tasks.get(said.claim.task_id)
        before = task.ends.get(said.claim.generation) if task else None
        repeats = before and before[:2] == (said.claim.worker, said.verdict.outcome)
        return self._holds(said.claim) or bool(repeats)


def named(ones: Any) -> set[tuple[UUID, int]]:
    """Claims, or answers to them, by task and generation."""
    return {(one.task_id, one.generation) for one in ones}
