"""`/v1/dead-letters/redrive` and `/discard`: those that are meant, no more, and as many as fit."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from scheduling import clock
from scheduling.ledger.values import Fail, Failure
from scheduling.models import Task
from scheduling.states import TaskState
from tenants.models import ApiToken, Scope, Tenant
from tests.api.kit import Api, faults, problem
from tests.ledger import kit

pytestmark = [pytest.mark.django_db, pytest.mark.ledger]

VERBS = ("redrive", "discard")


def bury(
    tenant: Tenant, count: int = 1, *, error: str = "ValueError", **options: Any
) -> list[UUID]:
    """Dead letters that died just now, of that error."""
    now = clock.now()
    ids = kit.put(tenant, count, now=now, **options)
    for claim in kit.take(count, now=now):
        kit.say(claim, Fail(Failure(error, "no luck"), None), now=now)
    return ids


def send(api: Api, verb: str, **body: Any) -> Any:
    answer = api.post(f"/v1/dead-letters/{verb}", body)
    assert answer.status_code == 200, answer.content
    return answer.json()


def dead() -> set[UUID]:
    return set(Task.objects.dead().values_list("pk", flat=True))


def test_the_ones_named_are_redriven_and_no_others(api_a: Api, tenant_a: Tenant) -> None:
    first, second, third = bury(tenant_a, 3)
    assert send(api_a, "redrive", ids=[str(first), str(second)]) == {
        "done": 2,
        "next": None,
        "full": [],
    }
    assert dead() == {third}
    assert Task.objects.get(pk=first).state == TaskState.QUEUED


def test_the_ones_named_are_discarded_with_their_history(api_a: Api, tenant_a: Tenant) -> None:
    first, second = bury(tenant_a, 2)
    assert send(api_a, "discard", ids=[str(first)])["done"] == 1
    assert dead() == {second}
    assert not Task.objects.filter(pk=first).exists()


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_not_dead_or_not_ones_own_is_left_alone(
    api_a: Api, tenant_a: Tenant, tenant_b: Tenant, verb: str
) -> None:
    [of_b] = bury(tenant_b)
    [waiting] = kit.put(tenant_a)
    before = list(Task.objects.order_by("pk").values())
    assert send(api_a, verb, ids=[str(one) for one in (of_b, waiting, uuid4())])["done"] == 0
    assert send(api_a, verb, filter={})["done"] == 0
    assert list(Task.objects.order_by("pk").values()) == before


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("asked", "options"),
    [
        ({"name": "demo.sleep"}, {"name": "demo.sleep"}),
        ({"queue": "mail"}, {"queue": "mail"}),
        ({"label": "order 4711"}, {"label": "order 4711"}),
        ({"error_class": "KeyError"}, {"error": "KeyError"}),
    ],
)
def test_a_filter_finds_what_it_says(
    api_a: Api, tenant_a: Tenant, verb: str, asked: dict[str, str], options: dict[str, Any]
) -> None:
    others, [wanted] = set(bury(tenant_a, 2)), bury(tenant_a, **options)
    preview = send(api_a, verb, filter=asked, preview=True)
    assert (preview["matching"], preview["is_exact"]) == (1, True)
    assert [task["id"] for task in preview["tasks"]] == [str(wanted)]
    assert dead() == {*others, wanted}
    assert send(api_a, verb, filter=asked)["done"] == 1
    assert dead() == others


def test_a_filter_by_reason_and_time(api_a: Api, tenant_a: Tenant) -> None:
    bury(tenant_a)
    at = Task.objects.get().finished_at
    assert at is not None
    later = (at + timedelta(microseconds=1)).isoformat()
    for asked in (
        {"dead_reason": "worker_lost"},
        {"finished_after": later},
        {"finished_before": at.isoformat()},
    ):
        assert send(api_a, "discard", filter=asked)["done"] == 0
    whole = {"dead_reason": "permanent_failure", "finished_after": at.isoformat()}
    assert send(api_a, "discard", filter=whole | {"finished_before": later})["done"] == 1


def test_many_are_worked_off_in_parts(api_a: Api, tenant_a: Tenant) -> None:
    bury(tenant_a, 5)
    body: dict[str, Any] | None = {"filter": {"name": "demo.echo"}, "limit": 2}
    done = []
    while body:
        answer = send(api_a, "redrive", **body)
        done.append(answer["done"])
        body = answer["next"]
    assert done == [2, 2, 1]
    assert dead() == set()


def test_what_dies_anew_is_not_met_again(api_a: Api, tenant_a: Tenant) -> None:
    bury(tenant_a, 3)
    answer = send(api_a, "redrive", filter={}, limit=1)
    now = clock.now() + timedelta(seconds=1)
    kit.say(kit.take(1, now=now), kit.failing(retry_in=None), now=now)
    while answer["next"]:
        answer = send(api_a, "redrive", **answer["next"])
    assert len(dead()) == 1


def test_a_preview_shows_the_first_few_and_changes_nothing(api_a: Api, tenant_a: Tenant) -> None:
    ids = bury(tenant_a, 12)
    for verb in VERBS:
        preview = send(api_a, verb, filter={}, preview=True)
        assert preview["matching"] == 12
        assert [task["id"] for task in preview["tasks"]] == [str(one) for one in ids[:10]]
        assert send(api_a, verb, ids=[str(ids[0])], preview=True)["matching"] == 1
    assert dead() == set(ids)


def test_as_many_are_redriven_as_fit(api_a: Api, tenant_a: Tenant) -> None:
    bury(tenant_a, 5)
    Tenant.objects.filter(pk=tenant_a.pk).update(max_queued=3)
    assert send(api_a, "redrive", filter={}) == {"done": 3, "next": None, "full": ["tenant-a"]}
    refused = api_a.post("/v1/dead-letters/redrive", {"filter": {}})
    assert problem(refused) == (429, "limit-exceeded")
    assert len(dead()) == 2


def test_a_tenant_that_is_full_keeps_nobody_else_from_being_redriven(
    operator: Api, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    of_a, of_b = bury(tenant_a, 3), bury(tenant_b, 2)
    Tenant.objects.filter(pk=tenant_a.pk).update(max_queued=1)
    answer = send(operator, "redrive", filter={}, limit=2)
    assert answer["done"] == 2
    while answer["next"] and answer["done"]:
        answer = send(operator, "redrive", **answer["next"])
    assert answer["full"] == ["tenant-a"]
    assert len(dead() & set(of_a)) == 2
    assert not dead() & set(of_b)


def test_an_operator_may_narrow_to_a_tenant(
    operator: Api, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    of_a = bury(tenant_a)
    bury(tenant_b)
    assert send(operator, "discard", filter={"tenant": "tenant-b"})["done"] == 1
    assert dead() == set(of_a)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "ids"),
        ({"ids": [str(UUID(int=1))], "filter": {}}, "ids"),
        ({"ids": []}, "ids"),
        ({"ids": ["x"]}, "ids.0"),
        ({"ids": [1.5]}, "ids.0"),
        ({"ids": [None]}, "ids.0"),
        ({"ids": [{}]}, "ids.0"),
        ({"filter": {"finished_after": 5}}, "filter.finished_after"),
        ({"filter": {"finished_before": ["x"]}}, "filter.finished_before"),
        ({"ids": [str(UUID(int=1))], "limit": 3}, "limit"),
        ({"filter": {"nme": "x"}}, "filter.nme"),
        ({"filter": {"error_class": 5}}, "filter.error_class"),
        ({"filter": {}, "limit": 1001}, "limit"),
        ({"filter": {}, "limit": "5"}, "limit"),
        ({"filter": {}, "limit": True}, "limit"),
        ({"filter": {}, "preview": "yes"}, "preview"),
        ({"filter": None}, "filter"),
    ],
)
def test_what_cannot_be_meant_is_refused(api_a: Api, body: Any, field: str) -> None:
    assert faults(api_a.post("/v1/dead-letters/discard", body)).keys() == {field}


@pytest.mark.parametrize("error", [[1], "KeyError", {"class": None}, None])
def test_an_error_that_somebody_changed_keeps_nobody_from_filtering(
    api_a: Api, tenant_a: Tenant, error: Any
) -> None:
    changed, _ = bury(tenant_a, 2, error="KeyError")
    Task.objects.filter(pk=changed).update(error=error)
    assert send(api_a, "discard", filter={"error_class": "KeyError"})["done"] == 1
    assert dead() == {changed}


@pytest.mark.parametrize("verb", VERBS)
def test_it_needs_the_scope_to_control(tenant_a: Tenant, verb: str) -> None:
    others = [scope for scope in Scope if scope != Scope.CONTROL]
    api = Api(ApiToken.objects.issue(tenant=tenant_a, scopes=others)[1])
    assert problem(api.post(f"/v1/dead-letters/{verb}", {"filter": {}})) == (403, "missing-scope")


def test_another_tenants_dead_letters_are_not_to_be_named(api_a: Api, tenant_b: Tenant) -> None:
    answer = api_a.post("/v1/dead-letters/discard", {"filter": {"tenant": "tenant-b"}})
    assert problem(answer) == (403, "wrong-tenant")
