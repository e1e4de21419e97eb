"""Each hot statement finds its rows by the index that is meant for it, and none reads a large table.

A statement that is new in the dialect fails here until it is told which indexes it uses, and until the tour
sends it.
"""

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType

import pytest
from django.conf import settings
from django.core.management import call_command

from scheduling import clock
from scheduling.admin import dashboard, standing
from scheduling.admin.series import Period
from scheduling.ledger.survey import survey
from scheduling.sqlite.base import qmark
from tenants.models import Tenant
from tests.plans import tour

pytestmark = pytest.mark.django_db

ON_SQLITE = settings.DATABASES["default"]["ENGINE"] == "scheduling.sqlite"
DIALECT: ModuleType = import_module(
    f"scheduling.ledger.dialects.{'sqlite' if ON_SQLITE else 'postgres'}.statements"
)

LARGE = ("task", "schedule", "attempt", "lease", "lane")
HISTORY = ("task", "schedule", "attempt")
"""What grows with the work there is and was. Leases and lanes are as many as workers and tenants allow."""


def key_of(table: str) -> str:
    name = f"scheduling_{table}"
    rowid = r"|lane USING INTEGER PRIMARY KEY" if table == "lane" else ""
    return f"{name}_pkey|sqlite_autoindex_{name}_1{rowid}"


LANE_BY_QUEUE = "lane_tenant_queue|sqlite_autoindex_scheduling_lane_1"
LEASES_OF_TENANT = "scheduling_lease_tenant_id_"

INDEXES: dict[str, tuple[str, ...]] = {
    "ADMIT": (),  # a row of intake, outflow and tenant each, of tables that are small here
    "USAGE": (),  # the same
    "ACCEPT_ONE": (LANE_BY_QUEUE, "task_idempotency_key", key_of("lane")),
    "TASKS_WITH_KEYS": ("task_idempotency_key",),
    "INSERT_TASK": (),
    "INSERT_TASKS": (),
    "INSERT_SCHEDULE": (),
    "INSERT_SCHEDULES": (),
    "LANE_STANDS": (LANE_BY_QUEUE,),
    "FIND_LANE": (LANE_BY_QUEUE,),
    "SHARE_LANES": (LANE_BY_QUEUE,),
    "ADD_LANE": (),
    "ADD_LANES": (),
    "SHARE_LANE_IDS": (key_of("lane"),),
    "FREE_LANES": (key_of("lane"),),
    "ACTIVATE_LANES": (key_of("lane"), LANE_BY_QUEUE),
    "REACHED": (),  # dispatch has a row for each kind of worker
    "TAKE_TURN": (),
    "FIRST_TURN": (),
    "PAUSES": (),  # there are few
    "READY_LANES_ANY_QUEUE": (r"lane_ready\b", LEASES_OF_TENANT),
    "READY_LANES_IN_QUEUE": ("lane_ready_in_queue", LEASES_OF_TENANT),
    "READY_LANES_IN_QUEUES": ("lane_ready", LEASES_OF_TENANT),  # which one is for statistics to say
    "READY_LANES_OF_TENANT": (LANE_BY_QUEUE, LEASES_OF_TENANT),
    "HEADS": ("schedule_ready",),
    "UNNAMED_HEADS": ("schedule_ready",),
    "NAMED_HEADS": ("schedule_ready", key_of("task")),
    "HOLD_LANES": (key_of("lane"),),
    "SET_READINESS": (key_of("schedule"),),
    "START": (key_of("task"),),
    "DROP_SCHEDULES": (key_of("schedule"),),
    "INSERT_LEASE": (),
    "MOVE_TENANT": (LANE_BY_QUEUE,),
    "MOVE_LANE": (key_of("lane"),),
    "RETIRE_LANES": (key_of("lane"),),
    "LOCK_EMPTY_LANES": (key_of("lane"),),
    "SERVE_LANES": (LANE_BY_QUEUE, key_of("lane"), "schedule_ready"),
    "MOVE_DISPATCH": (),
    "RENEW": (key_of("lease"),),
    "END_LEASES": (key_of("lease"),),
    "END_UNRENEWED_LEASES": (key_of("lease"),),
    "HELD_LEASES": (),  # all there are
    "HELD_LEASES_OF_WORKER": ("scheduling_lease_worker_",),
    "SUCCEED": (r"lease_worker_|scheduling_lease_pkey", key_of("task")),
    "STANDINGS": (key_of("task"),),
    "FINISH": (key_of("task"),),
    "INSERT_ATTEMPT": (),
    "ADD_FINISHED": (),
    "ADD_THROUGHPUT": (),
    "ADD_HOURS": (),
    "ADD_TOTALS": (),
    "NEXT_DUE": ("schedule_future",),
    "DUE_SCHEDULES": ("schedule_future",),
}
READS_ALL = {"HELD_LEASES"}
"""These are meant to: a reaper watches every lease."""
ORDERED_BY_INDEX = {
    "READY_LANES_ANY_QUEUE",
    "READY_LANES_IN_QUEUE",
    "HEADS",
    "NAMED_HEADS",
    "DUE_SCHEDULES",
}
"""These stop at their limit, and so must not sort what lies beyond it."""


def statements() -> dict[str, str]:
    """The constants of the dialect that are SQL. Templates are not: what they make is."""
    constants = {name: value for name, value in vars(DIALECT).items() if name.isupper()}
    verbs = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")
    return {
        name: value
        for name, value in constants.items()
        if isinstance(value, str) and value.strip().startswith(verbs) and "{" not in value
    }


NAMES = {tour.without_limits(statement): name for name, statement in statements().items()}


@pytest.fixture(scope="module")
def recorder(
    django_db_setup: None, django_db_blocker: pytest.FixtureRequest
) -> Iterator[tour.Recorder]:
    """What every verb sends to a ledger with thousands of rows, which stays for the tests of this module."""
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        try:
            yield tour.record()
        finally:
            call_command("flush", interactive=False, verbosity=0)


def plans_of(statement: str, values: object) -> list[str]:
    """For these values and, on SQLite, where nobody analyzes tables, without knowing what they hold."""
    plans = [tour.explain(statement, values)]
    if ON_SQLITE:
        with tour.without_statistics():
            plans.append(tour.explain(statement, values))
    return plans


def plans_kept(statement: str) -> list[str]:
    """By the sessions of workers, for all values."""
    return [] if ON_SQLITE else [tour.explain_as_kept(statement)]


def scanned(plan: str, tables: tuple[str, ...]) -> list[str]:
    """The lines of a plan in which one of the tables is read from its beginning to its end."""
    names = "|".join(tables)
    return re.findall(
        rf"^(?:SCAN (?:scheduling_)?(?:{names})|Seq Scan scheduling_(?:{names}))$", plan, re.M
    )


def test_every_statement_is_told_its_indexes_and_sent_by_the_tour(recorder: tour.Recorder) -> None:
    assert set(statements()) <= set(INDEXES), "say in INDEXES what the new statement uses"
    assert set(NAMES) <= set(recorder.dialects), "let the tour send it"


def test_the_tour_meets_no_statement_without_a_name(recorder: tour.Recorder) -> None:
    """A statement that is not a constant of the dialect escapes this file."""
    unnamed = [sql for sql in recorder.dialects if sql not in NAMES]
    assert [sql for sql in unnamed if "scheduling_" in sql] == []


@pytest.mark.parametrize("name", sorted(statements()))
def test_it_uses_its_indexes_and_reads_no_large_table(name: str, recorder: tour.Recorder) -> None:
    sent, values = recorder.dialects[tour.without_limits(statements()[name])]
    for plan in [*plans_of(sent, values), *plans_kept(sent)]:
        assert name in READS_ALL or scanned(plan, LARGE) == [], plan
        for index in INDEXES[name]:
            assert re.search(index, plan), f"{index} in\n{plan}"
        if name in ORDERED_BY_INDEX:
            assert not re.search(r"USE TEMP B-TREE|^Sort", plan, re.M), plan


def test_the_orm_reads_no_history_either(recorder: tour.Recorder) -> None:
    for sql, values in recorder.orm.items():
        if sql.startswith(("SELECT", "UPDATE", "DELETE")):
            for plan in plans_of(qmark(sql) if ON_SQLITE else sql, values):
                assert scanned(plan, HISTORY) == [], f"{sql}\n{plan}"


def a_dashboard() -> None:
    dashboard.read(clock.now(), Period.DAY)


def a_standing() -> None:
    tenant = Tenant.objects.order_by("pk")[0]
    assert standing.read(tenant.pk, [], clock.now(), Period.DAY)


@pytest.mark.parametrize("look", [survey, a_dashboard, a_standing], ids=lambda look: look.__name__)
def test_who_watches_reads_no_task_that_is_over(
    recorder: tour.Recorder, look: Callable[[], object]
) -> None:
    """What waits it counts, by an index or all of it: PostgreSQL reads few pages at once sooner.

    So it does with refusals, of which the dashboard asks for the latest by a range of ids.
    """
    watching = tour.Recorder()
    with watching.recording():
        look()
    assert any("scheduling_task" in sql for sql in watching.orm), "the dead letters"
    for sql, values in watching.orm.items():
        for plan in plans_of(qmark(sql) if ON_SQLITE else sql, values):
            assert scanned(plan, ("task", "attempt")) == [], f"{sql}\n{plan}"
            assert not ON_SQLITE or scanned(plan, ("schedule",)) == [], f"{sql}\n{plan}"


def test_a_plan_that_reads_a_large_table_is_recognized(recorder: tour.Recorder) -> None:
    """The tests above would not notice if this one failed."""
    sql = "SELECT count(*) FROM scheduling_task WHERE name = 'x'"
    assert scanned(tour.explain(sql, ()), LARGE) != []
