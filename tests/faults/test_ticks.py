"""Scenarios 38 and 40, and a firing process that is killed between any two statements: each tick fires once."""

from concurrent.futures.process import BrokenProcessPool
from datetime import datetime, timedelta
from functools import partial

import pytest

from scheduling import ledger
from scheduling.ledger import check
from scheduling.ledger.dialects import dialect
from scheduling.models import RecurringTask, Task, Tick
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.app import tasks
from tests.faults.conftest import Start
from tests.faults.kit import Effects, enqueue
from tests.ledger.kit import at, put, run, take
from tests.ledger.recurring.kit import fire, outcomes, recurring, told
from tests.races.processes import processes_at_once
from tests.races.work import die_at_statement
from tests.waiting import until

IN_TIME = timedelta(seconds=2)


class TestKilledWhileFiring:
    pytestmark = [pytest.mark.django_db(transaction=True)]

    def test_each_tick_fires_once_wherever_the_process_is_killed(self, tenant_a: Tenant) -> None:
        """Ticks that are due, that wait for their predecessor, that cancel it, and that meet a limit."""
        number, survived = 0, False
        while not survived:
            rows = self.make_rows(tenant_a)
            survived = self.fire_and_die(number)
            until(lambda: fire(at(180)) or self.nothing_is_due())
            self.assert_each_tick_fired_once(*rows)
            self.clean_up(tenant_a)
            number += 1
        assert number > 20

    def make_rows(self, tenant: Tenant) -> tuple[RecurringTask, ...]:
        """As they stand at the third minute: nothing is due before, and of each something is then."""
        buffers = recurring(tenant, name="buffers", overlap="buffer_one", queue="b")
        fire(at(60))
        fire(at(120))
        cancels = recurring(tenant, name="cancels", overlap="cancel_other", queue="c", now=at(60))
        fire(at(120))
        work_off_queue("b")
        plain = [recurring(tenant, name=f"plain{n}", overlap="skip", now=at(120)) for n in range(2)]
        other = Tenant.objects.create(slug="other", max_queued=1)
        put(other, queue="o")
        full = recurring(other, name="full", now=at(120))
        return buffers, cancels, *plain, full

    def fire_and_die(self, number: int) -> bool:
        """Whether it lived to fire everything."""
        try:
            processes_at_once(1, partial(die_at_statement, number, at(180)))
        except BrokenProcessPool:
            return False
        return True

    def nothing_is_due(self) -> bool:
        return not RecurringTask.objects.due(at(180)).exists()

    def assert_each_tick_fired_once(
        self,
        buffers: RecurringTask,
        cancels: RecurringTask,
        one: RecurringTask,
        two: RecurringTask,
        full: RecurringTask,
    ) -> None:
        assert told(buffers) == [("12:01", "fired"), ("12:02", "fired"), ("12:03", None)]
        assert told(cancels) == [("12:02", "fired"), ("12:03", "fired")]
        assert told(one) == told(two) == [("12:03", "fired")]
        assert told(full) == [("12:03", None)]
        made = Tick.objects.filter(outcome="fired").count()
        assert Task.objects.exclude(tenant=full.tenant).count() == made
        assert check.violations() == []

    def clean_up(self, tenant: Tenant) -> None:
        for row in RecurringTask.objects.all():
            ledger.delete_recurring(row.pk)
        ledger.cancel(list(Task.objects.values_list("pk", flat=True)), now=at(200))
        for each in Tenant.objects.all():
            ledger.prune(each, keep=timedelta(), now=at(100_000))
        assert not Task.objects.exists()
        Tenant.objects.exclude(pk=tenant.pk).delete()


def work_off_queue(queue: str) -> None:
    run(take(10, now=at(170), queues=[queue]), now=at(170))


def test_a_tick_fires_once_when_its_scheduler_is_killed_just_before(
    start_workers: Start, tenant_a: Tenant
) -> None:
    workers = start_workers("--processes=2", "--threads=1")
    due_at = in_a_moment(3)
    row = recurring(
        tenant_a, every_seconds=3600, anchor=due_at, now=dialect().now(), catchup="none"
    )
    until(lambda: dialect().now() > due_at - timedelta(seconds=1))
    workers.kill_all()
    start_workers("--processes=2", "--threads=1")
    until(lambda: outcomes(row) == {"fired": 1})
    until(lambda: Task.objects.filter(state=TaskState.SUCCEEDED).count() == 1)


def test_a_thousand_ticks_are_enqueued_in_time_while_every_slot_is_busy(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    start_workers("--processes=2", "--threads=1")
    for word in ("a", "b"):
        enqueue(tasks.hold, word, tenant=tenant_a)
        effects.wait_for(f"{word} started 1")
    for number in range(1000):
        recurring(tenant_a, name=f"n{number}", every_seconds=3600, now=dialect().now())
    due_at = in_a_moment(2)
    RecurringTask.objects.update(
        anchor=due_at, reached_at=due_at - timedelta(seconds=1), next_at=due_at, fires_at=due_at
    )

    until(lambda: Tick.objects.count() == 1000)

    ticks = Tick.objects.select_related("task")
    late_by = max(tick.task.created_at - due_at for tick in ticks if tick.task)
    assert timedelta() <= late_by < IN_TIME
    assert Task.objects.filter(state=TaskState.QUEUED).count() == 1000
    for word in ("a", "b"):
        effects.open_gate(word)


def in_a_moment(seconds: int) -> datetime:
    return dialect().now().replace(microsecond=0) + timedelta(seconds=seconds)
