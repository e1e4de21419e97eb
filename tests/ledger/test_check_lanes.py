"""`checkledger` finds broken counters, caps, lanes and pauses. Each is broken here by a hand on the database."""

import pytest
from django.db.models import F

from scheduling.ledger import check
from scheduling.models import Intake, Lane, Outflow, Pause, Schedule
from scheduling.states import Readiness
from tenants.models import Tenant
from tests.ledger.kit import START, put, run, take, violations_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_tenant_over_its_cap(tenant_a: Tenant) -> None:
    put(tenant_a, 2)
    take(2)
    Tenant.objects.update(max_in_flight=1)
    assert violations_of(check.no_tenant_is_over_its_cap) == [
        "tenant-a: 2 in flight, max_in_flight is 1"
    ]


@pytest.mark.parametrize("counter", [Intake, Outflow])
def test_a_counter_that_is_off_by_one(
    tenant_a: Tenant, counter: type[Intake] | type[Outflow]
) -> None:
    put(tenant_a, 3)
    run(take())
    field = {Intake: "accepted", Outflow: "finished"}[counter]
    counter.objects.update(**{field: F(field) + 1})
    counted = 3 if counter is Intake else 1
    assert violations_of(check.counters_equal_recounts) == [
        f"tenant {tenant_a.pk}: {counted} unfinished by its counters, 2 by its tasks"
    ]


def test_tasks_of_a_tenant_without_counters(tenant_a: Tenant) -> None:
    put(tenant_a)
    Intake.objects.all().delete()
    assert violations_of(check.counters_equal_recounts) == [
        f"tenant {tenant_a.pk}: 0 unfinished by its counters, 1 by its tasks"
    ]


def test_ready_work_in_a_lane_that_is_asleep(tenant_a: Tenant) -> None:
    put(tenant_a)
    Lane.objects.update(readiness=Readiness.NOT_DUE)
    assert violations_of(check.ready_work_is_in_a_lane_that_dispatch_sees) == [
        f"{tenant_a.pk}/default: has ready work, and is not ready"
    ]


@pytest.mark.parametrize(
    ("by", "holds"),
    [
        ({}, True),
        ({"tenant": "a"}, True),
        ({"queue": "default"}, True),
        ({"tenant": "a", "queue": "default"}, True),
        ({"tenant": "b"}, False),
        ({"queue": "mail"}, False),
        ({"name": "demo.echo"}, False),
    ],
    ids=str,
)
def test_a_lane_held_by_no_pause(
    tenant_a: Tenant, tenant_b: Tenant, by: dict[str, str], holds: bool
) -> None:
    put(tenant_a)
    Lane.objects.update(readiness=Readiness.HELD)
    stand(by, tenant_a, tenant_b)
    found = [f"{tenant_a.pk}/default: held, and no pause is there that holds it"]
    assert violations_of(check.what_is_held_is_held_by_a_pause) == ([] if holds else found)


@pytest.mark.parametrize(
    ("by", "holds"),
    [
        ({"name": "demo.echo"}, True),
        ({"tenant": "a", "queue": "default", "name": "demo.echo"}, True),
        ({"name": "demo.sleep"}, False),
        ({"tenant": "b", "name": "demo.echo"}, False),
        ({"tenant": "a"}, False),
        ({}, False),
    ],
    ids=str,
)
def test_a_task_held_by_no_pause(
    tenant_a: Tenant, tenant_b: Tenant, by: dict[str, str], holds: bool
) -> None:
    (task_id,) = put(tenant_a)
    Schedule.objects.update(readiness=Readiness.HELD)
    stand(by, tenant_a, tenant_b)
    (said,) = violations_of(check.what_is_held_is_held_by_a_pause) or [""]
    assert said.startswith(f"schedule of {task_id}") is not holds


def stand(by: dict[str, str], tenant_a: Tenant, tenant_b: Tenant) -> None:
    tenants = {"": None, "a": tenant_a, "b": tenant_b}
    Pause.objects.create(
        scope=str(by),
        tenant=tenants[by.get("tenant", "")],
        queue=by.get("queue", ""),
        name=by.get("name", ""),
        paused_by="operator",
        since=START,
    )
