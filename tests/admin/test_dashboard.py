"""What an operator sees first."""

from datetime import timedelta

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from scheduling import clock, ledger
from scheduling.admin import charts, dashboard
from scheduling.admin.figures import Concern, Dashboard, Row
from scheduling.admin.notices import notices
from scheduling.admin.series import Period, Slot
from scheduling.ledger.values import Succeed
from scheduling.models import Lease, RecurringTask
from tenants.models import Tenant
from tests.admin.conftest import SignIn
from tests.admin.kit import ago, bury, put, text_of, worker
from tests.ledger.kit import say, take
from tests.ledger.recurring.kit import recurring

pytestmark = pytest.mark.ledger


def read() -> Dashboard:
    return dashboard.read(clock.now())


def row_of(tenant: Tenant) -> Row:
    return next(row for row in read().tenants if row.tenant == tenant)


def texts() -> list[str]:
    """What the notices say, with the tenants they name."""
    return [
        f"{notice.text}: {', '.join(row.tenant.slug for row in notice.tenants)}."
        if notice.tenants
        else notice.text
        for notice in notices(read())
    ]


def test_each_tenant_has_its_own_figures(tenant_a: Tenant, tenant_b: Tenant) -> None:
    bury(tenant_a, 2)
    put(tenant_a, 3, now=ago(seconds=30))
    put(tenant_a, 4, due_at=clock.now() + timedelta(hours=1))
    put(tenant_b, 1, now=ago(seconds=20))
    say(take(1, now=ago(seconds=10)), Succeed(), now=ago(seconds=5))
    take(1, now=ago(seconds=5))

    sums, last_hour = read().sums, read().last_hour
    assert (sums.waiting, sums.ready, sums.running, sums.dead) == (6, 2, 1, 2)
    assert (last_hour.succeeded, last_hour.dead) == (1, 2)
    assert (row_of(tenant_a).dead, row_of(tenant_b).dead) == (2, 0)


def test_latency_is_the_age_of_the_oldest_ready_task(tenant_a: Tenant) -> None:
    put(tenant_a, now=ago(minutes=5))
    put(tenant_a, now=ago(minutes=2), priority=100)
    latency = row_of(tenant_a).latency
    assert latency is not None
    assert timedelta(minutes=5) <= latency < timedelta(minutes=6)


def test_nothing_ready_has_no_latency(tenant_a: Tenant) -> None:
    put(tenant_a, due_at=clock.now() + timedelta(hours=1))
    assert row_of(tenant_a).latency is None


def test_an_hour_has_a_slot_for_each_minute(tenant_a: Tenant) -> None:
    put(tenant_a, 2, now=ago(minutes=90))
    say(take(1, now=ago(minutes=80)), Succeed(), now=ago(minutes=80))
    say(take(1, now=ago(minutes=2)), Succeed(), now=ago(minutes=2))
    slots = read().slots
    assert len(slots) == 60
    assert sum(slot.succeeded for slot in slots) == 1


def test_a_day_has_a_slot_for_each_hour_however_far_its_minutes_have_moved(
    tenant_a: Tenant,
) -> None:
    put(tenant_a, 4, now=ago(hours=30))
    for hours in (26, 20, 4, 0):
        say(take(1, now=ago(hours=hours)), Succeed(), now=ago(hours=hours))
    ledger.prune_throughput(before=ago(hours=3))
    slots = dashboard.read(clock.now(), Period.DAY).slots
    assert len(slots) == 24
    assert [slot.succeeded for slot in slots if slot.succeeded] == [1, 1, 1]
    assert read().last_hour.succeeded == 1


def test_the_page_takes_few_queries_however_much_there_is(
    operator: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(30):
        tenant = Tenant.objects.create(slug=f"tenant-{number}")
        bury(tenant)
        put(tenant, 2, queue=f"queue-{number}")
        ledger.pause(tenant=tenant, by="ana")
        worker()
    take(20, now=ago(seconds=1))
    with django_assert_max_num_queries(15):
        operator.get("/admin/?period=day")


def test_the_page_never_counts_the_tasks(
    operator: Client, tenant_a: Tenant, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    bury(tenant_a)
    with django_assert_max_num_queries(15) as captured:
        operator.get("/admin/")
    of_tasks = [query["sql"] for query in captured if 'FROM "scheduling_task"' in query["sql"]]
    assert of_tasks
    assert all('"dead_reason" IS NOT NULL' in sql for sql in of_tasks)


def test_the_most_concerning_tenants_come_first(tenant_a: Tenant, tenant_b: Tenant) -> None:
    put(tenant_b, now=ago(minutes=30))
    quiet = Tenant.objects.create(slug="a-quiet-one")
    put(tenant_a, now=ago(seconds=1))
    slugs = [row.tenant.slug for row in read().tenants]
    assert slugs == [tenant_b.slug, tenant_a.slug, quiet.slug]


def test_a_late_tenant_is_marked_and_named(operator: Client, tenant_a: Tenant) -> None:
    put(tenant_a, now=ago(minutes=2))
    assert row_of(tenant_a).concern is Concern.WARN
    assert "Ready tasks wait for long: tenant-a." in text_of(operator.get("/admin/"))


def test_a_very_late_tenant_is_an_alarm(tenant_a: Tenant) -> None:
    put(tenant_a, now=ago(minutes=20))
    assert row_of(tenant_a).concern is Concern.ALARM


@pytest.mark.parametrize("whole", [True, False], ids=["tenant paused", "queue paused"])
def test_what_a_pause_holds_back_is_not_late(tenant_a: Tenant, whole: bool) -> None:
    put(tenant_a, 3, queue="mail", now=ago(minutes=20))
    ledger.pause(tenant=tenant_a, queue="" if whole else "mail", by="ana")
    row = row_of(tenant_a)
    assert (row.ready, row.held, row.latency) == (0, 3, None)
    assert row.is_paused is whole
    assert "Ready tasks wait for long: tenant-a." not in texts()


def test_the_lane_beside_a_paused_one_can_be_late(tenant_a: Tenant) -> None:
    put(tenant_a, queue="mail", now=ago(minutes=20))
    put(tenant_a, queue="default", now=ago(minutes=3))
    ledger.pause(tenant=tenant_a, queue="mail", by="ana")
    row = row_of(tenant_a)
    assert (row.ready, row.held, row.concern) == (1, 1, Concern.WARN)


@pytest.mark.parametrize(
    ("queued", "concern"), [(7, Concern.NONE), (8, Concern.WARN), (10, Concern.ALARM)]
)
def test_a_tenant_near_its_limit_is_marked(tenant_a: Tenant, queued: int, concern: Concern) -> None:
    Tenant.objects.update(max_queued=10)
    put(tenant_a, queued, now=ago(seconds=1))
    assert row_of(tenant_a).waiting_concern is concern


def test_a_tenant_at_its_cap_is_noted(tenant_a: Tenant) -> None:
    Tenant.objects.update(max_in_flight=2)
    put(tenant_a, 3, now=ago(seconds=2))
    take(5, now=ago(seconds=1))
    row = row_of(tenant_a)
    assert (row.running, row.is_at_cap, row.concern) == (2, True, Concern.NOTE)


def test_ready_work_without_a_worker_is_an_alarm(tenant_a: Tenant) -> None:
    put(tenant_a, 2, now=ago(seconds=1))
    first = notices(read())[0]
    assert first.concern is Concern.ALARM
    assert first.text == "No worker is alive. 2 ready tasks with nobody to run them."


def test_one_silent_worker_among_others_is_a_warning(db: None) -> None:
    worker()
    worker(seen=ago(minutes=2))
    assert texts() == ["1 worker not heard of for 30 s or longer."]


def test_a_silent_worker_lends_no_slots(db: None) -> None:
    worker(slots=8)
    worker(slots=8, seen=ago(minutes=2))
    assert read().lent_slots == 8


def test_leases_past_their_end_are_noticed(tenant_a: Tenant) -> None:
    worker()
    put(tenant_a)
    take(1, now=ago(seconds=30))
    assert Lease.objects.get().expires_at < clock.now()
    assert texts() == ["Leases past their end: 1. They are reaped as soon as a worker is sure."]


def test_who_has_more_than_its_share_while_others_wait_is_named(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    worker(slots=8)
    put(tenant_a, 8)
    take(8, now=ago(seconds=1))
    assert texts() == []
    put(tenant_b, 2, now=ago(seconds=30))
    assert texts() == ["Has more than its share of what runs while others wait: tenant-a."]


def test_nobody_has_more_than_its_share_of_what_dead_workers_held(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    dead = worker(slots=8, seen=ago(minutes=2))
    put(tenant_a, 8)
    take(8, worker=dead.pk, now=ago(seconds=1))
    put(tenant_b, 2, now=ago(seconds=30))
    assert texts()[0] == "No worker is alive. 2 ready tasks with nobody to run them."
    assert "share" not in " ".join(texts())


def test_its_weight_is_what_a_share_is_measured_by(tenant_a: Tenant, tenant_b: Tenant) -> None:
    worker(slots=8)
    Tenant.objects.filter(pk=tenant_a.pk).update(weight=9)
    put(tenant_a, 8)
    take(8, now=ago(seconds=1))
    put(tenant_b, 2, now=ago(seconds=30))
    assert texts() == []


def test_lost_leases_and_stale_writes_of_late_are_told(tenant_a: Tenant) -> None:
    worker()
    put(tenant_a, 2, max_attempts=1)
    claims = take(2, now=ago(seconds=50))
    ledger.reap(ledger.held_leases(), now=ago(seconds=30))
    say(claims, Succeed(), now=ago(seconds=20))
    assert texts() == [
        "2 attempts lost within the hour: workers died or fell silent.",
        "2 stale writes refused within the hour: workers spoke for leases they had lost.",
    ]


def test_who_fails_often_is_named_and_comes_first(tenant_a: Tenant, tenant_b: Tenant) -> None:
    worker()
    bury(tenant_b, 9)
    assert "20% or more" not in " ".join(texts())
    bury(tenant_b, 1)
    assert texts() == ["20% or more of the attempts of the last hour failed: tenant-b."]
    assert read().tenants[0].tenant == tenant_b


def test_recurring_tasks_that_do_not_fire_are_told(operator: Client, tenant_a: Tenant) -> None:
    worker()
    recurring(tenant_a, name="on-time", now=clock.now())
    unreadable = recurring(tenant_a, name="unreadable", now=clock.now())
    assert texts() == []
    RecurringTask.objects.filter(pk=unreadable.pk).update(fires_at=None, disabled_reason="no zone")
    recurring(tenant_a, name="late", now=ago(minutes=5))
    assert texts() == [
        "1 recurring task disabled, and not fired any more.",
        "1 recurring task overdue: nobody fires what has come.",
    ]
    assert "?state=disabled" in operator.get("/admin/").content.decode()


def test_a_disk_that_fills_up_is_told(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    worker()
    monkeypatch.setattr("scheduling.ledger.storage.bytes_free_beside", lambda path: 70 << 20)
    assert texts() == ["70.0\xa0MB free on the disk. Below 64.0\xa0MB no tasks are accepted."]
    monkeypatch.setattr("scheduling.ledger.storage.bytes_free_beside", lambda path: 60 << 20)
    assert notices(read())[0].concern is Concern.ALARM


def test_of_very_many_tenants_those_who_need_a_look_are_read(
    monkeypatch: pytest.MonkeyPatch, tenant_a: Tenant
) -> None:
    monkeypatch.setattr(dashboard, "LOOKED_AT", 2)
    for number in range(9):
        Tenant.objects.create(slug=f"idle-{number}")
    put(tenant_a, now=ago(minutes=5), priority=-5)
    put(tenant_a, now=ago(seconds=5), priority=5)
    found = read()
    assert found.tenants[0].tenant == tenant_a
    assert found.tenants[0].concern is Concern.WARN
    assert found.tenants_left == 10 - len(found.tenants) > 0


def test_a_calm_system_says_so(operator: Client, tenant_a: Tenant) -> None:
    worker()
    assert "Nothing needs a look." in text_of(operator.get("/admin/"))


def test_who_may_not_see_tasks_sees_no_figures(sign_in: SignIn, tenant_a: Tenant) -> None:
    put(tenant_a)
    page = text_of(sign_in("view_group").get("/admin/"))
    assert "You may not see tasks." in page
    assert "tenant-a" not in page


def test_the_live_part_is_as_open_as_its_page(sign_in: SignIn, tenant_a: Tenant) -> None:
    live = "/admin/live/dashboard/"
    assert "tenant-a" in text_of(sign_in("view_task").get(live))
    assert sign_in("view_group").get(live).status_code == 403
    stranger = Client().get(live)
    assert (stranger.status_code, stranger["HX-Refresh"]) == (204, "true")


def test_the_mean_wait_is_that_of_all_attempts_and_the_peak_that_of_a_minute() -> None:
    start = clock.now()
    slots = [
        Slot(start, ended=3, wait_seconds=30),
        Slot(start + timedelta(minutes=1), ended=1, wait_seconds=50),
    ]
    chart = charts.of(slots, Period.HOUR)[-1]
    assert (chart.told, chart.peak) == ("20 s in the last hour", "50 s")
    assert charts.of([Slot(start)], Period.DAY)[-1].told == "none in the last day"


def test_who_may_not_see_the_audit_is_shown_none(sign_in: SignIn, operator: Client) -> None:
    operator.post("/admin/scheduling/pause/add/", {"reason": "fire drill", "confirmed": "1"})
    assert "Done by hand" in text_of(operator.get("/admin/"))
    assert "Done by hand" not in text_of(sign_in("view_task").get("/admin/"))
