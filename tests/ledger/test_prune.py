"""History is kept as long as it was said to be kept, and dead letters until somebody decides."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scheduling import audit, ledger
from scheduling.models import Attempt, OperatorAction, Task, Throughput
from tenants.models import Tenant
from tests.ledger.kit import START, at, failing, put, run, say, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

HOUR = timedelta(hours=1)


def left() -> set[UUID]:
    return set(Task.objects.values_list("pk", flat=True))


def done(tenant: Tenant, *, now: float = 0, count: int = 1) -> list[UUID]:
    """Tasks that succeeded at that second."""
    ids = put(tenant, count, now=at(now))
    run(take(count, now=at(now)), now=at(now))
    return ids


def test_a_finished_task_is_kept_for_its_time_and_no_longer(tenant_a: Tenant) -> None:
    (task_id,) = done(tenant_a)
    assert ledger.prune(tenant_a, keep=HOUR, now=at(3600)).pruned == 0
    assert left() == {task_id}
    assert ledger.prune(tenant_a, keep=HOUR, now=at(3601)).pruned == 1
    assert not left()
    assert not Attempt.objects.exists()


def test_a_cancelled_task_is_pruned_like_a_succeeded_one(tenant_a: Tenant) -> None:
    ledger.cancel(put(tenant_a), now=START)
    assert ledger.prune(tenant_a, keep=HOUR, now=at(3601)).pruned == 1


def test_the_time_runs_from_the_end_and_not_from_the_beginning(tenant_a: Tenant) -> None:
    put(tenant_a)
    run(take(now=at(5000)), now=at(5000))
    assert ledger.prune(tenant_a, keep=HOUR, now=at(8600)).pruned == 0
    assert ledger.prune(tenant_a, keep=HOUR, now=at(8601)).pruned == 1


def test_what_is_dead_waiting_or_running_is_kept_however_old(tenant_a: Tenant) -> None:
    put(tenant_a)
    say(take(), failing(retry_in=None))
    put(tenant_a)
    take()
    put(tenant_a, due_at=at(10**9))
    kept = left()
    assert len(kept) == 3
    assert ledger.prune(tenant_a, keep=HOUR, now=at(10**8)).pruned == 0
    assert left() == kept


@pytest.mark.parametrize(
    ("retention", "kept"),
    [(None, 1), (timedelta(days=1), 1), (timedelta(minutes=1), 0), (timedelta(0), 0)],
    ids=str,
)
def test_the_tenants_own_retention_comes_first(
    tenant_a: Tenant, retention: timedelta | None, kept: int
) -> None:
    tenant_a.retention = retention
    tenant_a.save()
    done(tenant_a)
    ledger.prune(tenant_a, keep=HOUR, now=at(120))
    assert len(left()) == kept


def test_a_tenants_retention_touches_nobody_else(tenant_a: Tenant, tenant_b: Tenant) -> None:
    done(tenant_a)
    (of_b,) = done(tenant_b)
    ledger.prune(tenant_a, keep=HOUR, now=at(3601))
    assert left() == {of_b}


def test_chunks_go_on_where_the_last_one_ended(tenant_a: Tenant) -> None:
    done(tenant_a, count=7)
    chunks: list[int] = []
    after: UUID | None = None
    while not chunks or after is not None:
        chunk = ledger.prune(tenant_a, keep=HOUR, after=after, limit=3, now=at(3601))
        after = chunk.after
        chunks.append(chunk.pruned)
    assert chunks == [3, 3, 1]
    assert not left()


def test_old_tasks_that_stay_are_walked_past_once(tenant_a: Tenant) -> None:
    put(tenant_a, 5, due_at=at(10**9))
    gone = done(tenant_a, count=2)
    first = ledger.prune(tenant_a, keep=HOUR, limit=5, now=at(3601))
    assert first.pruned == 0
    assert first.after is not None
    second = ledger.prune(tenant_a, keep=HOUR, after=first.after, limit=5, now=at(3601))
    assert (second.pruned, second.after) == (2, None)
    assert left().isdisjoint(gone)


def test_what_is_young_is_not_read_chunk_by_chunk(tenant_a: Tenant) -> None:
    """However much there is of it. Before, a run read the whole index of a tenant to find nothing."""
    done(tenant_a, count=2)
    done(tenant_a, now=3000, count=20)
    first = ledger.prune(tenant_a, keep=HOUR, limit=2, now=at(3601))
    second = ledger.prune(tenant_a, keep=HOUR, after=first.after, limit=2, now=at(3601))
    assert (first.pruned, second.pruned) == (2, 0)
    assert second.after is None


def test_a_young_task_among_old_ones_hides_none_of_them(tenant_a: Tenant) -> None:
    done(tenant_a)
    done(tenant_a, now=3000)
    done(tenant_a)
    first = ledger.prune(tenant_a, keep=HOUR, limit=2, now=at(3601))
    assert first.after is not None, "from the beginning it would be found as well"
    assert ledger.prune(tenant_a, keep=HOUR, after=first.after, now=at(3601)).pruned == 1


def test_a_chunk_with_nothing_in_it_opens_no_transaction(tenant_a: Tenant) -> None:
    """On SQLite that would be a turn to write, and everybody else waits for it."""
    done(tenant_a)
    with CaptureQueriesContext(connection) as queries:
        ledger.prune(tenant_a, keep=HOUR, now=at(1))
    assert [query["sql"].split()[0] for query in queries] == ["SELECT"]


def test_a_pruned_key_is_free_again(tenant_a: Tenant) -> None:
    (gone,) = put(tenant_a, idempotency_key="k", fingerprint="f")
    run(take())
    ledger.prune(tenant_a, keep=HOUR, now=at(3601))
    (fresh,) = put(tenant_a, idempotency_key="k", fingerprint="g", now=at(3601))
    assert fresh != gone


def test_minutes_before_the_instant_go_and_later_ones_stay(tenant_a: Tenant) -> None:
    for minute in range(4):
        done(tenant_a, now=60 * minute)
    assert ledger.prune_throughput(before=at(120), limit=1) == 1
    assert ledger.prune_throughput(before=at(120)) == 1
    assert ledger.prune_throughput(before=at(120)) == 0
    assert list(Throughput.objects.values_list("minute", flat=True)) == [at(120), at(180)]


def test_what_was_done_by_hand_is_kept_for_a_year(tenant_a: Tenant) -> None:
    ada = audit.Actor("ada", audit.Via.CONSOLE)
    for days in (0, 1, 400):
        audit.record(ada, "pause", "everything", now=START + timedelta(days=days))
    before = START + timedelta(days=400) - audit.KEPT
    assert [audit.prune(before=before, limit=1) for _ in range(3)] == [1, 1, 0]
    assert OperatorAction.objects.get().at == START + timedelta(days=400)
