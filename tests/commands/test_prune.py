"""`prune`: what is over for long enough goes, and the rest stays."""

from datetime import timedelta
from functools import partial

import pytest

from scheduling import clock, ledger, sweeps
from scheduling.audit import Actor, Via
from scheduling.ledger.recurring.look_back import look_back
from scheduling.management.commands import prune
from scheduling.models import RecurringTask, Sweep, Task, Throughput, Tick
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.commands.kit import complaint, manage
from tests.ledger import kit

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def finished(tenant: Tenant, *, days_ago: int, count: int = 1) -> None:
    then = clock.now() - timedelta(days=days_ago)
    kit.put(tenant, count, now=then)
    kit.say(kit.take(count, now=then), ledger.Succeed(), now=then)


def test_thirty_days_are_kept_unless_said_otherwise(tenant_a: Tenant) -> None:
    finished(tenant_a, days_ago=31)
    finished(tenant_a, days_ago=29)
    assert manage("prune").out == "tenant-a: 1 task pruned\n"
    assert Task.objects.count() == 1
    assert manage("prune", "--older-than", "28d").out == "tenant-a: 1 task pruned\n"
    assert not Task.objects.exists()


def test_a_tenants_own_retention_counts_first(tenant_a: Tenant, tenant_b: Tenant) -> None:
    Tenant.objects.filter(pk=tenant_a.pk).update(retention=timedelta(days=3))
    finished(tenant_a, days_ago=4)
    finished(tenant_b, days_ago=4)
    manage("prune")
    assert Task.objects.get().tenant == tenant_b


def test_what_waits_runs_or_is_dead_stays(tenant_a: Tenant) -> None:
    then = clock.now() - timedelta(days=99)
    kit.put(tenant_a, 3, now=then)
    kit.say(kit.take(now=then), kit.failing(retry_in=None), now=then)
    kit.take(now=then)
    assert manage("prune").out == ""
    assert set(Task.objects.values_list("state", flat=True)) == {
        TaskState.QUEUED,
        TaskState.RUNNING,
        TaskState.DEAD,
    }


def test_progress_is_told_chunk_by_chunk(tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    in_twos = partial(ledger.prune, limit=2)
    monkeypatch.setattr(ledger, "prune", in_twos)
    monkeypatch.setattr(prune, "TELL_EVERY", 3600.0)
    finished(tenant_a, days_ago=31, count=10)
    assert manage("prune").out == "tenant-a: 10 tasks pruned\n", "told before its time"

    monkeypatch.setattr(prune, "TELL_EVERY", 0.0)
    finished(tenant_a, days_ago=31, count=5)
    assert manage("prune").out.splitlines() == [
        "tenant-a: 2 tasks pruned",
        "tenant-a: 4 tasks pruned",
        "tenant-a: 5 tasks pruned",
    ]


def test_a_quiet_run_says_nothing(tenant_a: Tenant) -> None:
    finished(tenant_a, days_ago=31)
    assert manage("prune", "--verbosity", "0").out == ""
    assert not Task.objects.exists()


def test_minutes_of_throughput_go_with_their_time(tenant_a: Tenant) -> None:
    finished(tenant_a, days_ago=31)
    finished(tenant_a, days_ago=1)
    manage("prune")
    assert Throughput.objects.count() == 1


def test_a_duration_that_cannot_be_is_refused() -> None:
    assert "'long' is no usable duration" in complaint("prune", "--older-than", "long")


def test_ticks_go_with_the_tasks_of_their_time(tenant_a: Tenant) -> None:
    for days_ago in (31, 29):
        then = clock.now() - timedelta(days=days_ago)
        row = ledger.NewRecurring(
            tenant_id=tenant_a.pk, name=str(days_ago), task_name="demo.echo", every_seconds=60
        )
        ledger.create_recurring(row, now=then - timedelta(minutes=1))
        ledger.fire_due(now=then)
        ledger.pause_recurring(RecurringTask.objects.get(name=row.name).pk, True, now=then)
        kit.run(kit.take(now=then), now=then)
        ledger.pause_recurring(RecurringTask.objects.get(name=row.name).pk, False, now=then)
    look_back(list(RecurringTask.objects.all()), clock.now())
    manage("prune")
    assert list(Tick.objects.values_list("recurring__name", flat=True)) == ["29"]


def test_sweeps_that_are_over_go_and_those_under_way_stay(tenant_a: Tenant) -> None:
    kit.put(tenant_a, 2)
    kit.say(kit.take(2), kit.failing(retry_in=None))
    over, recent, under_way = (
        sweeps.begin(Sweep.Operation.DISCARD, {}, which="all", by=Actor("ana", Via.CONSOLE))
        for _ in range(3)
    )
    for sweep in (over, recent):
        sweeps.cancel(sweep.pk, Actor("ana", Via.CONSOLE))
    Sweep.objects.exclude(pk=recent.pk).update(stepped_at=clock.now() - timedelta(days=31))
    manage("prune")
    assert set(Sweep.objects.all()) == {recent, under_way}
