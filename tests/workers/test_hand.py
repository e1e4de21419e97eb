"""What a process holds, and what it tells the ledger about it."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.db import DataError, OperationalError

from scheduling import ledger
from scheduling.builtin import demo
from scheduling.context import Context
from scheduling.ledger.progress import Progress
from scheduling.ledger.values import (
    Fail,
    Failure,
    NewTask,
    Settlement,
    Settling,
    Succeed,
)
from scheduling.models import Lease, Refusal, Task
from scheduling.states import TaskState
from scheduling.workers.board import Tally
from tenants.models import Tenant
from tests.workers.kit import Clock, Process

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]
AGAIN = Fail(Failure("ValueError", "no luck"), retry_in=timedelta(0))
NEVER = Fail(Failure("ValueError", "no luck"), retry_in=None)


def put(tenant: Tenant, count: int = 1, **options: int) -> list[UUID]:
    task = NewTask(tenant_id=tenant.pk, name="demo.echo", **options)  # type: ignore[arg-type]
    return [one.task_id for one in ledger.enqueue([task] * count)]


def states() -> list[str]:
    return sorted(Task.objects.values_list("state", flat=True))


def test_everything_concluded_is_settled_in_one_batch_and_counted(tenant_a: Tenant) -> None:
    put(tenant_a, 3)
    process = Process(places=3)
    first, second, third = process.claim(3)
    process.hand.conclude(first, Succeed())
    process.hand.conclude(second, AGAIN)
    process.hand.conclude(third, NEVER)

    process.hand.settle()

    assert states() == [TaskState.DEAD, TaskState.QUEUED, TaskState.SUCCEEDED]
    assert process.board.tally() == Tally(done=1, failed=1, retried=1)
    assert process.hand.is_empty()
    assert process.claim()  # the places on the board are free again


def test_first_verdict_counts(tenant_a: Tenant) -> None:
    put(tenant_a)
    process = Process()
    (held,) = process.claim()
    process.hand.conclude(held, NEVER)
    process.hand.conclude(held, Succeed())

    process.hand.settle()

    assert states() == [TaskState.DEAD]


def test_zombie_of_a_task_that_came_back_here_does_not_settle_the_new_claim(
    tenant_a: Tenant,
) -> None:
    put(tenant_a)
    process = Process()
    (zombie,) = process.claim()
    ledger.reap(ledger.held_leases(), uncharged={zombie.claim.task_id})
    (current,) = process.claim()
    assert zombie.lease_lost.is_set()
    assert not current.lease_lost.is_set()

    process.hand.conclude(zombie, NEVER)
    process.hand.conclude(current, Succeed())
    process.hand.settle()

    assert states() == [TaskState.SUCCEEDED]
    assert process.board.tally() == Tally(done=1, refused=1)


def test_claim_that_could_not_be_renewed_in_time_is_never_settled_as_a_success(
    tenant_a: Tenant,
) -> None:
    put(tenant_a)
    process = Process()
    (held,) = process.claim()
    held.lose()

    process.hand.conclude(held, Succeed())
    process.hand.settle()

    task = Task.objects.get()
    assert (task.state, task.attempts) == (TaskState.QUEUED, 1)
    assert [one.outcome for one in task.history.all()] == ["failed"]


def test_claim_that_was_reaped_meanwhile_is_refused_when_it_is_settled(tenant_a: Tenant) -> None:
    put(tenant_a)
    process = Process()
    (held,) = process.claim()
    ledger.reap(ledger.held_leases())
    held.lose()

    process.hand.conclude(held, Succeed())
    process.hand.settle()

    assert states() == [TaskState.QUEUED]
    assert Refusal.objects.get().generation == 1
    assert process.board.tally() == Tally(refused=1)


def test_nothing_is_forgotten_when_the_ledger_does_not_answer(
    tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tenant_a)
    process = Process()
    (held,) = process.claim()
    process.hand.conclude(held, Succeed())

    def no_answer(settlements: list[Settlement]) -> Settling:
        raise OperationalError

    with monkeypatch.context() as patch:
        patch.setattr(ledger, "settle", no_answer)
        with pytest.raises(OperationalError):
            process.hand.settle()
    assert process.hand.has_news()

    process.hand.settle()

    assert states() == [TaskState.SUCCEEDED]


def test_outcome_that_the_database_refuses_does_not_take_the_others_with_it(
    tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tenant_a, 3)
    process = Process()
    for number, held in enumerate(process.claim(3)):
        process.hand.conclude(held, Succeed("1" if number == 1 else "0"))
    settle = ledger.settle

    def refuse_ones(settlements: list[Settlement]) -> Settling:
        if any(one.verdict == Succeed("1") for one in settlements):
            raise DataError("no ones")
        return settle(settlements)

    monkeypatch.setattr(ledger, "settle", refuse_ones)
    process.hand.settle()

    assert states() == [TaskState.DEAD, TaskState.SUCCEEDED, TaskState.SUCCEEDED]
    dead = Task.objects.get(state=TaskState.DEAD)
    assert dead.error is not None
    assert "no ones" in dead.error["message"]


def test_heart_moves_the_end_of_every_lease_from_before_the_call(
    tenant_a: Tenant, moved_clock: Clock
) -> None:
    put(tenant_a, 2)
    process = Process()
    all_held = process.claim(2)
    before = {lease.task_id: lease.expires_at for lease in ledger.held_leases()}

    process.heart.run()

    assert [held.lease_ends_at for held in all_held] == [moved_clock.seconds + 30.0] * 2
    assert process.heart.due_at == moved_clock.seconds + 10.0
    after = {lease.task_id: lease.expires_at for lease in ledger.held_leases()}
    assert all(after[task_id] > before[task_id] for task_id in before)


def test_heart_tells_once_how_far_a_handler_has_come(tenant_a: Tenant) -> None:
    put(tenant_a, 2)
    process = Process()
    talking, silent = process.claim(2)
    context = Context(talking.claim, demo.echo, talking.cancelled, talking.lease_lost)
    talking.context = context
    for done in range(5):
        context.progress((done, 5), "pages")

    process.heart.run()

    told = dict(Lease.objects.values_list("pk", "progress"))
    assert told == {
        talking.claim.task_id: {"fraction": 0.8, "done": 4, "total": 5, "note": "pages"},
        silent.claim.task_id: None,
    }
    assert talking.news() is None


def test_what_a_stale_handler_says_is_not_written(tenant_a: Tenant) -> None:
    put(tenant_a)
    (stale,) = Process().claim()
    ledger.reap(ledger.held_leases(), uncharged={stale.claim.task_id})
    Process().claim()

    ledger.renew([stale.claim], progress={stale.claim.task_id: Progress.of(1)})

    assert Lease.objects.get().progress is None


def test_heart_passes_on_who_is_asked_to_stop(tenant_a: Tenant) -> None:
    put(tenant_a, 2)
    process = Process()
    asked, other = process.claim(2)
    ledger.cancel([asked.claim.task_id])

    process.heart.run()

    assert asked.cancelled.is_set()
    assert asked.cancel_requested
    assert not other.cancelled.is_set()


def test_heart_does_not_renew_what_was_lost(tenant_a: Tenant) -> None:
    put(tenant_a)
    process = Process()
    (held,) = process.claim()
    held.lose()
    (before,) = ledger.held_leases()

    process.heart.run()

    assert ledger.held_leases() == [before]
