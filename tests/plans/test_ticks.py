"""Firing looks at what is due, waits or is open: never through the history of ticks, however long that is."""

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection

from scheduling import ledger
from scheduling.ids import uuids7
from scheduling.ledger.dialects import dialect
from scheduling.models import RecurringTask, Task, Tick
from scheduling.policies import Overlap, TickOutcome
from scheduling.sqlite.base import qmark
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.plans import tour
from tests.plans.test_statements import plans_of, scanned

pytestmark = pytest.mark.django_db

ROWS, TICKS = 200, 60
"""Recurring tasks, and ticks that each has behind it."""


@pytest.fixture(scope="module")
def recorder(
    django_db_setup: None, django_db_blocker: pytest.FixtureRequest
) -> Iterator[tour.Recorder]:
    """What firing and all that belongs to it sends to a ledger with a long history of ticks."""
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        try:
            fill()
            recorder = tour.Recorder()
            with recorder.recording():
                do_everything(Tenant.objects.earliest("pk"))
            yield recorder
        finally:
            call_command("flush", interactive=False, verbosity=0)


def fill() -> None:
    tenants = tour.make_tenants("busy", 4)
    now = dialect().now()
    for number in range(ROWS):
        ledger.create_recurring(
            ledger.NewRecurring(
                tenant_id=tenants[number % 4].pk,
                name=f"n{number}",
                task_name="demo.echo",
                cron="* * * * *",
                overlap=list(Overlap)[number // 4 % 4],
            ),
            now=now - timedelta(minutes=1),
        )
    rows = list(RecurringTask.objects.all())
    history = [(row, minutes) for row in rows for minutes in range(1, TICKS + 1)]
    ids = uuids7(len(history))
    Task.objects.bulk_create(
        Task(id=pk, tenant_id=row.tenant_id, name="demo.echo", queue="default",
             state=TaskState.SUCCEEDED, created_at=now, finished_at=now)
        for pk, (row, _) in zip(ids, history, strict=True)
    )  # fmt: skip
    Tick.objects.bulk_create(
        Tick(recurring=row, at=now - timedelta(hours=2, minutes=minutes), outcome=TickOutcome.FIRED,
             task_id=pk, decided_at=now)
        for pk, (row, minutes) in zip(ids, history, strict=True)
    )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def do_everything(tenant: Tenant) -> None:
    now = dialect().now()
    Tenant.objects.filter(pk=tenant.pk).update(max_queued=5)
    for minutes in range(1, 4):
        while ledger.fire_due(now=now + timedelta(minutes=minutes)).looked_at:
            pass
    row = RecurringTask.objects.filter(overlap=Overlap.ALLOW).exclude(tenant=tenant)[0]
    ledger.run_now(row.pk, now=now)
    ledger.backfill(row.pk, now - timedelta(hours=1), now, now=now)
    ledger.edit_recurring(row.pk, {"cron": "0 * * * *"}, now=now)
    ledger.pause_recurring(row.pk, True, now=now)
    ledger.prune_ticks(tenant, keep=timedelta(hours=2), now=now)


def test_nothing_reads_all_ticks_or_all_tasks(recorder: tour.Recorder) -> None:
    looked_at = 0
    for sql, values in recorder.orm.items():
        if sql.startswith(("SELECT", "UPDATE", "DELETE")):
            for plan in plans_of(qmark(sql) if connection.vendor == "sqlite" else sql, values):
                looked_at += 1
                assert scanned(plan, ("tick", "task")) == [], f"{sql}\n{plan}"
    assert looked_at > 20


def test_what_waits_of_a_row_is_found_beside_all_that_came_before(recorder: tour.Recorder) -> None:
    """Also before anybody has told the database how much that is, as nobody ever does with SQLite."""
    waits = [
        sql
        for sql in recorder.orm
        if re.search(r'^SELECT.*FROM "scheduling_tick".*"outcome" IS NULL', sql)
    ]
    of_rows = [sql for sql in waits if re.search(r'"recurring_id" (IN|=) [(%]', sql)]
    assert len(of_rows) >= 3
    for sql in of_rows:
        text = qmark(sql) if connection.vendor == "sqlite" else sql
        for plan in plans_of(text, recorder.orm[sql]):
            assert "tick_waiting" in plan, f"{sql}\n{plan}"


def test_idle_looks_are_entries_of_small_indexes(recorder: tour.Recorder) -> None:
    idle = [sql for sql in recorder.orm if "ORDER BY 1 ASC LIMIT 1" in sql]
    assert len(idle) == 2
    for sql in idle:
        text = qmark(sql) if connection.vendor == "sqlite" else sql
        for plan in plans_of(text, recorder.orm[sql]):
            assert "recurring_fires" in plan or "tick_waiting" in plan, f"{sql}\n{plan}"
