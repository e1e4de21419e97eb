"""`POST /v1/tasks/batch`: all of them, or none, and each refusal says which."""

from typing import Any

import pytest

from scheduling.models import Task
from tenants.models import ApiToken, Scope, Tenant
from tests.api.kit import Api, Response, faults, problem

pytestmark = [pytest.mark.django_db, pytest.mark.ledger]


def one(**more: Any) -> dict[str, Any]:
    return {"name": "demo.echo", "payload": {"message": "hello"}, **more}


def send(api: Api, *tasks: Any, **headers: str) -> Response:
    return api.post("/v1/tasks/batch", {"tasks": list(tasks)}, **headers)


def test_tasks_are_accepted_in_their_order(api_a: Api, tenant_a: Tenant) -> None:
    answer = send(api_a, one(priority=1), one(priority=2, queue="mail"), one(delay_seconds=60))
    assert answer.status_code == 201
    stored = [Task.objects.get(pk=task["id"]) for task in answer.json()["tasks"]]
    assert [task.priority for task in stored] == [1, 2, 0]
    assert {task.tenant for task in stored} == {tenant_a}
    assert {task["replayed"] for task in answer.json()["tasks"]} == {False}


def test_a_thousand_are_taken_and_one_more_is_not(api_a: Api) -> None:
    assert len(send(api_a, *[one()] * 1000).json()["tasks"]) == 1000
    assert faults(send(api_a, *[one()] * 1001)).keys() == {"tasks"}
    assert Task.objects.count() == 1000


@pytest.mark.parametrize("body", [{}, {"tasks": []}, {"tasks": {}}, {"tasks": [], "name": "x"}])
def test_what_is_no_batch_is_refused(api_a: Api, body: Any) -> None:
    assert problem(api_a.post("/v1/tasks/batch", body)) == (400, "invalid-request")


def test_every_fault_is_told_with_its_index_and_nothing_is_stored(api_a: Api) -> None:
    answer = send(
        api_a,
        one(),
        one(name="demo.nothing"),
        one(priority=101, max_attempts=0),
        17,
        one(idempotency_key="clé"),
        one(tenant=5),
        one(label="a\tb"),
    )
    assert problem(answer) == (400, "invalid-request")
    told = {(fault["index"], fault["field"]) for fault in answer.json()["errors"]}
    assert told == {
        (1, "name"),
        (2, "priority"),
        (2, "max_attempts"),
        (3, "task"),
        (4, "idempotency_key"),
        (5, "tenant"),
        (6, "label"),
    }
    assert not Task.objects.exists()


def test_a_batch_that_does_not_fit_leaves_nothing_behind(api_a: Api, tenant_a: Tenant) -> None:
    Tenant.objects.filter(pk=tenant_a.pk).update(max_queued=2)
    assert problem(send(api_a, one(), one(), one())) == (429, "limit-exceeded")
    assert not Task.objects.exists()
    assert send(api_a, one(), one()).status_code == 201


def test_the_same_batch_again_is_answered_with_the_same_tasks(api_a: Api) -> None:
    batch = [one(idempotency_key="k"), one(idempotency_key="l")]
    first, again = send(api_a, *batch), send(api_a, *batch)
    assert (first.status_code, again.status_code) == (201, 200)
    assert again["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first
    ids = [[task["id"] for task in answer.json()["tasks"]] for answer in (first, again)]
    assert ids[0] == ids[1]
    assert Task.objects.count() == 2


def test_a_key_that_stands_and_one_that_is_new_go_together(api_a: Api) -> None:
    known = api_a.enqueue(key="k").json()["id"]
    answer = send(api_a, one(idempotency_key="k"), one(idempotency_key="l"))
    assert answer.status_code == 201
    assert [task["replayed"] for task in answer.json()["tasks"]] == [True, False]
    assert answer.json()["tasks"][0]["id"] == known


def test_a_key_of_another_task_refuses_the_batch_and_says_where(api_a: Api) -> None:
    known = api_a.enqueue(key="k").json()["id"]
    answer = send(api_a, one(), one(idempotency_key="k", priority=5))
    assert problem(answer) == (422, "idempotency-key-reused")
    assert answer.json()["indexes"] == [1]
    assert answer.json()["task_id"] == known
    assert Task.objects.count() == 1


def test_one_key_for_two_tasks_of_a_batch_is_refused(api_a: Api) -> None:
    same = one(idempotency_key="k")
    answer = send(api_a, same, one(), one(idempotency_key="k", priority=5))
    assert problem(answer) == (422, "idempotency-key-reused")
    assert answer.json()["indexes"] == [0, 2]
    assert not Task.objects.exists()
    ids = {task["id"] for task in send(api_a, same, same).json()["tasks"]}
    assert len(ids) == Task.objects.count() == 1


def test_a_key_in_the_header_is_not_quietly_ignored(api_a: Api) -> None:
    assert faults(send(api_a, one(), idempotency_key="k")).keys() == {"idempotency_key"}
    assert not Task.objects.exists()


def test_an_operator_says_of_each_task_whose_it_is(
    operator: Api, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    answer = send(operator, one(tenant="tenant-a"), one(tenant="tenant-b"))
    owners = [Task.objects.get(pk=task["id"]).tenant for task in answer.json()["tasks"]]
    assert owners == [tenant_a, tenant_b]
    refused = send(operator, one(tenant="tenant-a"), one(), one(tenant="nobody"))
    assert [fault["index"] for fault in refused.json()["errors"]] == [1, 2]


def test_a_tenant_cannot_put_a_task_into_the_batch_for_another(
    api_a: Api, tenant_b: Tenant
) -> None:
    assert problem(send(api_a, one(), one(tenant="tenant-b"))) == (403, "wrong-tenant")
    assert not Task.objects.exists()


def test_it_needs_the_scope_to_enqueue(tenant_a: Tenant) -> None:
    reader = Api(ApiToken.objects.issue(tenant=tenant_a, scopes=[Scope.READ])[1])
    assert problem(send(reader, one())) == (403, "missing-scope")


@pytest.mark.parametrize(
    ("limits", "limit"),
    [({"rate_per_second": 5, "rate_burst": 2}, "rate_burst"), ({"max_queued": 2}, "max_queued")],
)
def test_a_batch_that_no_wait_would_let_in_is_told_so(
    api_a: Api, tenant_a: Tenant, limits: dict[str, int], limit: str
) -> None:
    Tenant.objects.filter(pk=tenant_a.pk).update(**limits)
    refused = api_a.post("/v1/tasks/batch", {"tasks": [{"name": "demo.echo"}] * 3})
    assert problem(refused) == (429, "limit-exceeded")
    assert (refused.json()["limit"], refused.json()["allowed"]) == (limit, 2)
    assert "send fewer" in refused.json()["detail"]
