"""`POST /v1/tasks`: what is accepted is stored, and what is refused is not."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from scheduling import clock
from scheduling.models import Task
from tenants.models import ApiToken, Scope, Tenant
from tests.api.kit import Api, faults, problem

pytestmark = [pytest.mark.django_db, pytest.mark.ledger]

REPRESENTATION = {
    "id", "name", "queue", "state", "phase", "priority", "payload", "due_at", "attempt", "max_attempts",
    "generation", "created_at", "finished_at", "result", "error", "dead_reason", "idempotency_key",
    "label",
}  # fmt: skip


def test_a_task_is_accepted_and_found_at_its_address(api_a: Api) -> None:
    accepted = api_a.enqueue()
    assert accepted.status_code == 201
    assert accepted.json().keys() == REPRESENTATION
    found = api_a.get(accepted["Location"])
    assert found.status_code == 200
    assert found.json() == accepted.json() | {"progress": None, "attempts": []}


def test_its_address_has_nothing_of_a_query_that_says_nothing(api_a: Api) -> None:
    accepted = api_a.post("/v1/tasks?&", {"name": "demo.echo", "payload": {"message": "hello"}})
    assert accepted["Location"] == f"/v1/tasks/{accepted.json()['id']}"


def test_it_is_stored_as_it_was_asked_for(api_a: Api, tenant_a: Tenant) -> None:
    deadline = clock.now().replace(microsecond=0) + timedelta(hours=1)
    accepted = api_a.enqueue(
        payload={"message": "grüße", "n": [1, 2.5, None, True]},
        queue="mail",
        priority=7,
        max_attempts=9,
        timeout_seconds=1.5,
        deadline=deadline.isoformat(),
        label="order 4711",
    ).json()
    task = Task.objects.get()
    assert task.tenant == tenant_a
    assert task.kwargs == accepted["payload"] == {"message": "grüße", "n": [1, 2.5, None, True]}
    assert (task.queue, task.priority, task.max_attempts) == ("mail", 7, 9)
    assert (task.timeout_seconds, task.deadline) == (1.5, deadline)
    assert accepted["label"] == task.label == "order 4711"
    assert accepted["state"] == accepted["phase"] == "queued"
    assert accepted["attempt"] == accepted["generation"] == 0


def test_a_task_for_later_is_scheduled(api_a: Api) -> None:
    due_at = clock.now().replace(microsecond=0) + timedelta(hours=1)
    for when in ({"due_at": due_at.isoformat()}, {"delay_seconds": 3600}):
        accepted = api_a.enqueue(**when).json()
        assert accepted["phase"] == "scheduled"
        assert abs(datetime.fromisoformat(accepted["due_at"]) - due_at) < timedelta(minutes=1)
        assert api_a.get(f"/v1/tasks/{accepted['id']}").json()["due_at"] == accepted["due_at"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "no.such"}, "name"),
        ({"name": "tests.app.tasks.noop"}, "name"),
        ({"name": None}, "name"),
        ({"name": ["demo.echo"]}, "name"),
        ({"payload": [1]}, "payload"),
        ({"payload": None}, "payload"),
        ({"name": "demo.flaky", "payload": {"failures": "2"}}, "payload.failures"),
        ({"name": "demo.flaky", "payload": {}}, "payload.failures"),
        ({"name": "demo.flaky", "payload": {"failures": 2, "x": 1}}, "payload.x"),
        ({"queue": "a b"}, "queue"),
        ({"queue": "q" * 101}, "queue"),
        ({"queue": 5}, "queue"),
        ({"priority": 101}, "priority"),
        ({"priority": True}, "priority"),
        ({"priority": 1.5}, "priority"),
        ({"max_attempts": 0}, "max_attempts"),
        ({"max_attempts": 2**40}, "max_attempts"),
        ({"timeout_seconds": 0}, "timeout_seconds"),
        ({"timeout_seconds": "5"}, "timeout_seconds"),
        ({"due_at": "2027-03-28T02:30:00"}, "due_at"),
        ({"due_at": "2027-03-28"}, "due_at"),
        ({"due_at": "2027-W12-7T00:00:00Z"}, "due_at"),
        ({"due_at": "9999-12-31T23:59:59Z"}, "due_at"),
        ({"due_at": "1999-12-31T23:59:59Z"}, "due_at"),
        ({"due_at": 1800000000}, "due_at"),
        ({"delay_seconds": -1}, "delay_seconds"),
        ({"delay_seconds": 1, "due_at": "2027-03-28T02:30:00Z"}, "delay_seconds"),
        ({"deadline": "yesterday"}, "deadline"),
        ({"label": ""}, "label"),
        ({"label": "order 4711 "}, "label"),
        ({"label": "order\0"}, "label"),
        ({"label": "order\n4711"}, "label"),
        ({"label": "x" * 201}, "label"),
        ({"label": 4711}, "label"),
        ({"tenants": "tenant-a"}, "tenants"),
        ({"idempotency_key": "in the body"}, "idempotency_key"),
    ],
)
def test_a_field_at_fault_is_named_and_nothing_is_stored(
    api_a: Api, body: dict[str, Any], field: str
) -> None:
    assert field in faults(api_a.enqueue(**body))
    assert not Task.objects.exists()


def test_every_field_at_fault_is_named_at_once(api_a: Api) -> None:
    refused = api_a.enqueue(name="demo.flaky", payload={}, priority=999, due_at="soon")
    assert faults(refused).keys() == {"payload.failures", "priority", "due_at"}


def test_the_operator_says_whose_task_it_is(operator: Api, tenant_a: Tenant) -> None:
    accepted = operator.enqueue(tenant="tenant-a")
    assert accepted.json().keys() == REPRESENTATION | {"tenant"}
    assert accepted.json()["tenant"] == "tenant-a"
    assert Task.objects.get().tenant == tenant_a


@pytest.mark.parametrize("tenant", [{}, {"tenant": None}, {"tenant": "nobody"}, {"tenant": 5}])
def test_the_operator_cannot_leave_the_tenant_open(operator: Api, tenant: dict[str, Any]) -> None:
    assert faults(operator.enqueue(**tenant)).keys() == {"tenant"}


def test_a_tenant_may_name_itself_and_nobody_else(api_a: Api, tenant_b: Tenant) -> None:
    assert api_a.enqueue(tenant="tenant-a").status_code == 201
    for other in ("tenant-b", "nobody", 5):
        assert problem(api_a.enqueue(tenant=other)) == (403, "wrong-tenant")
    assert not Task.objects.filter(tenant=tenant_b).exists()


def test_a_token_without_the_scope_enqueues_nothing(tenant_a: Tenant) -> None:
    reader = Api(ApiToken.objects.issue(tenant=tenant_a, scopes=[Scope.READ])[1])
    refused = reader.enqueue()
    assert problem(refused) == (403, "missing-scope")
    assert refused.json()["scope"] == "enqueue"
    assert 'scope="enqueue"' in refused["WWW-Authenticate"]
    assert not Task.objects.exists()


def test_a_full_tenant_is_told_so_and_when_to_come_back(api_a: Api, tenant_a: Tenant) -> None:
    Tenant.objects.filter(pk=tenant_a.pk).update(max_queued=2)
    assert [api_a.enqueue().status_code for _ in range(2)] == [201, 201]
    refused = api_a.enqueue()
    assert problem(refused) == (429, "limit-exceeded")
    assert (refused.json()["limit"], refused.json()["allowed"]) == ("max_queued", 2)
    assert int(refused["Retry-After"]) >= 1
    assert refused["RateLimit-Policy"] == '"max_queued";q=2'
    assert refused["RateLimit"] == f'"max_queued";r=0;t={refused["Retry-After"]}'
    assert Task.objects.count() == 2


def test_a_batch_that_does_not_fit_is_told_how_many_would(api_a: Api, tenant_a: Tenant) -> None:
    Tenant.objects.filter(pk=tenant_a.pk).update(max_queued=4)
    api_a.enqueue()
    one = {"name": "demo.echo", "payload": {"message": "x"}}
    later, never = (api_a.post("/v1/tasks/batch", {"tasks": [one] * count}) for count in (4, 5))
    assert later["RateLimit"] == f'"max_queued";r=3;t={later["Retry-After"]}'
    assert never["RateLimit"] == '"max_queued";r=3'
    assert {answer["RateLimit-Policy"] for answer in (later, never)} == {'"max_queued";q=4'}
    assert api_a.post("/v1/tasks/batch", {"tasks": [one] * 3}).status_code == 201


@pytest.mark.parametrize(
    ("rate", "policy"), [(7 / 60, "q=1;w=9"), (0.001, "q=1;w=1000"), (2.5, "q=1;w=1")]
)
def test_a_tenant_over_its_rate_is_told_so_in_whole_seconds(
    api_a: Api, tenant_a: Tenant, rate: float, policy: str
) -> None:
    Tenant.objects.filter(pk=tenant_a.pk).update(rate_per_second=rate, rate_burst=1)
    assert api_a.enqueue().status_code == 201
    refused = next(answer for answer in iter(api_a.enqueue, None) if answer.status_code != 201)
    assert problem(refused) == (429, "limit-exceeded")
    assert 1 <= int(refused["Retry-After"]) <= 1 / rate + 1
    assert refused["RateLimit-Policy"] == f'"rate_per_second";{policy}'


def test_another_tenant_is_not_held_back_by_a_full_one(
    api_a: Api, api_b: Api, tenant_a: Tenant
) -> None:
    Tenant.objects.filter(pk=tenant_a.pk).update(max_queued=1)
    assert [api_a.enqueue().status_code for _ in range(2)] == [201, 429]
    assert api_b.enqueue().status_code == 201


def test_the_answer_costs_no_query_beyond_the_token_and_the_ledger(
    api_a: Api, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    api_a.enqueue()
    with django_assert_max_num_queries(9):
        api_a.enqueue()
