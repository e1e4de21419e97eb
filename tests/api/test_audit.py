"""What is done by hand over the API is on record: who did what, to how much, why, and how much was refused."""

from typing import Any

import pytest

from scheduling.models import OperatorAction, Task
from tenants.models import Tenant
from tests.api.kit import Api, faults, problem
from tests.api.test_dead_letters import bury
from tests.ledger import kit

pytestmark = [pytest.mark.django_db, pytest.mark.ledger]

OPERATOR, TENANT = "the operator", "tenant-a"


def on_record() -> list[tuple[Any, ...]]:
    """Who, what, to what, whose, why, and how many; the oldest first."""
    return [
        (
            one.by.partition(" (token ")[0],
            one.verb,
            one.what,
            one.tenant and one.tenant.slug,
            one.reason,
            one.done,
            one.refused,
        )
        for one in OperatorAction.objects.order_by("pk")
    ]


def test_whoever_throws_the_kill_switch(operator: Api, api_a: Api) -> None:
    operator.put("/v1/execution-control", {"paused": True, "reason": "fire"})
    api_a.put("/v1/execution-control", {"paused": True, "queue": "mail", "reason": "deploy"})
    operator.put("/v1/execution-control", {"paused": False, "reason": "all clear"})
    assert on_record() == [
        (OPERATOR, "pause", "everything", None, "fire", 1, 0),
        (TENANT, "pause", "tenant tenant-a, queue mail", TENANT, "deploy", 1, 0),
        (OPERATOR, "resume", "everything", None, "all clear", 1, 0),
    ]


def test_resuming_what_is_not_paused_is_not_on_record(operator: Api, api_a: Api) -> None:
    operator.put("/v1/execution-control", {"paused": True, "tenant": "tenant-a"})
    assert api_a.put("/v1/execution-control", {"paused": False}).json()["paused"]
    answer = operator.put("/v1/execution-control", {"paused": False, "queue": "mail"}).json()
    assert (answer["paused"], answer["by"], answer["since"]) == (False, None, None)
    assert [one[:2] for one in on_record()] == [(OPERATOR, "pause")]


def test_dead_letters_by_a_filter_have_one_entry_with_those_that_did_not_fit(
    operator: Api, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    bury(tenant_a, 3)
    bury(tenant_b, 2)
    Tenant.objects.filter(pk=tenant_a.pk).update(max_queued=1)
    body = {"filter": {"name": "demo.echo"}, "limit": 3, "reason": "mended"}
    assert operator.post("/v1/dead-letters/redrive", body).json()["done"] == 3
    which = "dead letters with name=demo.echo"
    assert on_record() == [(OPERATOR, "redrive", which, None, "mended", 3, 2)]


def test_what_cannot_be_done_at_all_is_on_record_too(operator: Api, tenant_a: Tenant) -> None:
    bury(tenant_a, 2)
    kit.put(tenant_a)
    Tenant.objects.filter(pk=tenant_a.pk).update(max_queued=1)
    answer = operator.post("/v1/dead-letters/redrive", {"filter": {"tenant": TENANT}})
    assert problem(answer) == (429, "limit-exceeded")
    which = "dead letters with tenant=tenant-a"
    assert on_record() == [(OPERATOR, "redrive", which, TENANT, "", 0, 2)]


def test_dead_letters_by_their_ids(api_a: Api, tenant_a: Tenant) -> None:
    ids = [str(one) for one in bury(tenant_a, 2)]
    api_a.post("/v1/dead-letters/discard", {"ids": ids, "preview": True})
    api_a.post("/v1/dead-letters/discard", {"ids": ids, "reason": "junk"})
    assert on_record() == [(TENANT, "discard", "2 dead letters by their ids", TENANT, "junk", 2, 0)]


def test_one_task_names_it(operator: Api, tenant_a: Tenant) -> None:
    [dead], [waiting] = bury(tenant_a), kit.put(tenant_a)
    operator.post(f"/v1/tasks/{dead}/redrive", {"reason": "mended"})
    operator.post(f"/v1/tasks/{waiting}/cancel")
    assert problem(operator.post(f"/v1/tasks/{waiting}/cancel")) == (409, "wrong-state")
    assert on_record() == [
        (OPERATOR, "redrive", f"demo.echo {dead}", TENANT, "mended", 1, 0),
        (OPERATOR, "cancel", f"demo.echo {waiting}", TENANT, "", 1, 0),
        (OPERATOR, "cancel", f"demo.echo {waiting}", TENANT, "", 0, 1),
    ]
    assert OperatorAction.objects.filter(tasks__task=waiting).count() == 2


def test_a_tenant_that_cancels_its_own_task_only_uses_the_api(api_a: Api, tenant_a: Tenant) -> None:
    plain, told = kit.put(tenant_a, 2)
    api_a.post(f"/v1/tasks/{plain}/cancel")
    assert on_record() == []
    api_a.post(f"/v1/tasks/{told}/cancel", {"reason": "sent twice"})
    assert on_record() == [(TENANT, "cancel", f"demo.echo {told}", TENANT, "sent twice", 1, 0)]


def test_what_was_refused_as_a_request_is_no_action(api_a: Api, tenant_a: Tenant) -> None:
    [waiting] = kit.put(tenant_a)
    assert faults(api_a.post(f"/v1/tasks/{waiting}/cancel", {"reson": "x"})).keys() == {"reson"}
    assert faults(api_a.post(f"/v1/tasks/{waiting}/redrive", [])).keys() == {"body"}
    assert Task.objects.get().state == "queued"
    assert on_record() == []


def test_the_entry_outlives_its_tenant(operator: Api, tenant_a: Tenant) -> None:
    operator.put("/v1/execution-control", {"paused": True, "tenant": TENANT})
    tenant_a.delete()
    assert on_record() == [(OPERATOR, "pause", "tenant tenant-a", None, "", 1, 0)]
