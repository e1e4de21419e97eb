"""`GET /v1/limits`, `GET /v1/queues`, and the RateLimit fields: the same figures that enqueueing goes by."""

import re
from datetime import timedelta

import pytest
from pytest_django import DjangoAssertNumQueries, Settings

from scheduling import clock, ledger
from scheduling.api.v1 import limits
from scheduling.ledger import allowance
from tenants.models import ApiToken, Scope, Tenant
from tests.api.kit import Api, Response, faults, problem
from tests.ledger import kit

pytestmark = [pytest.mark.django_db, pytest.mark.ledger]


@pytest.fixture
def slow(tenant_a: Tenant) -> Tenant:
    """A burst of ten, and a thousand seconds until one of it has grown back."""
    Tenant.objects.filter(pk=tenant_a.pk).update(rate_per_second=0.001, rate_burst=10)
    return tenant_a


def left(answer: Response) -> tuple[int, int]:
    """What the RateLimit field says: how many, and in how many seconds all of it is back."""
    found = re.fullmatch(r'"rate_per_second";r=(\d+);t=(\d+)', answer["RateLimit"])
    assert found
    return int(found[1]), int(found[2])


def test_limits_and_what_is_used_of_them(api_a: Api, tenant_a: Tenant) -> None:
    Tenant.objects.filter(pk=tenant_a.pk).update(
        weight=3, max_queued=7, max_in_flight=2, retention=timedelta(days=1)
    )
    kit.put(tenant_a, 4)
    kit.run(kit.take())
    kit.take()
    said = api_a.get("/v1/limits").json()
    assert (said["tenant"], said["weight"]) == ("tenant-a", 3)
    assert (said["max_queued"], said["unfinished"]) == (7, 3)
    assert (said["max_in_flight"], said["in_flight"]) == (2, 1)
    assert said["retention_seconds"] == 86400


def test_without_its_own_retention_a_tenant_is_told_the_installations(
    api_a: Api, settings: Settings
) -> None:
    settings.RENTROLL = settings.RENTROLL | {"RETENTION": timedelta(hours=12)}
    assert api_a.get("/v1/limits").json()["retention_seconds"] == 12 * 3600


def test_a_rate_is_one_policy_whether_it_lets_in_or_not(api_a: Api, slow: Tenant) -> None:
    """So that a client can follow it by its name."""
    let_in = api_a.enqueue()
    one = {"name": "demo.echo", "payload": {"message": "x"}}
    over_its_burst = api_a.post("/v1/tasks/batch", {"tasks": [one] * 11})
    used_up = [api_a.enqueue() for _ in range(10)][-1]
    assert [over_its_burst.json()["limit"], used_up.json()["limit"]] == [
        "rate_burst",
        "rate_per_second",
    ]
    policies = {answer["RateLimit-Policy"] for answer in (let_in, over_its_burst, used_up)}
    assert policies == {'"rate_per_second";q=10;w=10000'}


def test_what_is_left_of_the_rate_is_what_is_taken(api_a: Api, slow: Tenant) -> None:
    for _ in range(4):
        api_a.enqueue()
    assert api_a.get("/v1/limits").json()["rate_left"] == 6
    assert [api_a.enqueue().status_code for _ in range(7)] == [201] * 6 + [429]
    assert api_a.get("/v1/limits").json()["rate_left"] == 0


def test_no_limits_are_null(api_a: Api, tenant_a: Tenant) -> None:
    Tenant.objects.update(max_queued=None, max_in_flight=None, rate_per_second=None)
    said = api_a.get("/v1/limits").json()
    for name in ("max_queued", "max_in_flight", "rate_per_second", "rate_burst", "rate_left"):
        assert said[name] is None
    assert "RateLimit" not in api_a.enqueue()


def test_every_answer_says_how_much_is_left(api_a: Api, slow: Tenant) -> None:
    answer = api_a.enqueue(key="k")
    assert answer["RateLimit-Policy"] == '"rate_per_second";q=10;w=10000'
    assert left(answer) == (9, 1000)
    assert left(api_a.enqueue(key="k"))[0] == 9
    one = {"name": "demo.echo", "payload": {"message": "x"}}
    assert left(api_a.post("/v1/tasks/batch", {"tasks": [one] * 3}))[0] == 6


def test_what_others_used_up_is_theirs(api_b: Api, slow: Tenant, tenant_b: Tenant) -> None:
    Tenant.objects.filter(pk=tenant_b.pk).update(rate_per_second=0.001, rate_burst=10)
    kit.put(slow, 7, now=clock.now())
    kit.put(tenant_b, 2, now=clock.now())
    assert api_b.get("/v1/limits").json()["rate_left"] == 8


def test_seconds_are_told_so_that_who_waits_for_them_has_waited_long_enough() -> None:
    odd = allowance.Allowance(burst=10, rate_per_second=3, left=3)
    assert (odd.window, odd.whole_in) == (timedelta(seconds=4), timedelta(seconds=3))


def test_a_look_that_is_a_second_old_is_not_trusted(
    api_a: Api, slow: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What other processes accept shows after a second at most."""
    now = clock.monotonic()
    monkeypatch.setattr(clock, "monotonic", lambda: now)
    api_a.enqueue()
    kit.put(slow, 5, now=clock.now())
    assert left(api_a.enqueue())[0] == 8
    now += 2 * allowance.LOOK
    assert left(api_a.enqueue())[0] == 2


def test_telling_costs_no_query_while_a_look_is_good(
    slow: Tenant, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    now = clock.monotonic()
    monkeypatch.setattr(clock, "monotonic", lambda: now)
    assert allowance.after_spending(slow.pk, 0) == allowance.Allowance(10, 0.001, 10)
    with django_assert_num_queries(0):
        assert allowance.after_spending(slow.pk, 3) == allowance.Allowance(10, 0.001, 7)


def test_queues_by_name_with_what_is_in_them(api_a: Api, tenant_a: Tenant) -> None:
    now = clock.now()
    kit.put(tenant_a, 3, queue="mail", now=now)
    kit.put(tenant_a, 2, queue="later", due_at=now + timedelta(hours=1), now=now)
    kit.take(1, queues=["mail"], now=now)
    ledger.pause(by="operator", queue="later")
    later, mail = api_a.get("/v1/queues").json()["queues"]
    assert later == {
        "queue": "later", "paused": True, "ready": 0, "not_due": 2, "held": 0, "running": 0,
    }  # fmt: skip
    assert mail == {
        "queue": "mail", "paused": False, "ready": 2, "not_due": 0, "held": 0, "running": 1,
    }  # fmt: skip


def test_queues_come_in_pages(
    api_a: Api, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "QUEUES_PER_PAGE", 2)
    names = ["a", "b", "c", "d"]
    for name in names:
        kit.put(tenant_a, queue=name)
    first = api_a.get("/v1/queues").json()
    second = api_a.get(first["next"]).json()
    assert [one["queue"] for one in first["queues"] + second["queues"]] == names
    assert second["next"] is None


@pytest.mark.parametrize("address", ["/v1/limits", "/v1/queues"])
def test_a_tenant_sees_its_own_and_an_operator_says_whose(
    api_a: Api, operator: Api, tenant_a: Tenant, tenant_b: Tenant, address: str
) -> None:
    kit.put(tenant_b)
    assert api_a.get(address).status_code == 200
    assert "default" not in api_a.get("/v1/queues").content.decode()
    assert problem(api_a.get(f"{address}?tenant=tenant-b")) == (403, "wrong-tenant")
    assert faults(operator.get(address)).keys() == {"tenant"}
    assert operator.get(f"{address}?tenant=tenant-b").status_code == 200
    assert faults(api_a.get(f"{address}?tenat=tenant-a")).keys() == {"tenat"}
    blind = Api(ApiToken.objects.issue(tenant=tenant_a, scopes=[Scope.WORK])[1])
    assert problem(blind.get(address)) == (403, "missing-scope")
