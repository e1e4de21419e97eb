"""`GET /v1/tasks`: newest first, page by page, narrowed by filters that hold."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from pytest_django import DjangoAssertNumQueries

from scheduling import clock
from scheduling.lists import paging
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.api.kit import Api, faults
from tests.api.test_enqueue import REPRESENTATION
from tests.api.test_isolation import in_state
from tests.ledger import kit

pytestmark = [pytest.mark.django_db, pytest.mark.ledger]


def pages(api: Api, address: str) -> Iterator[list[str]]:
    """The ids on each page, following the links."""
    following: str | None = address
    while following:
        page = api.get(following).json()
        yield [task["id"] for task in page["tasks"]]
        following = page["next"]


def ids(api: Api, **query: Any) -> set[str]:
    answer = api.client.get("/v1/tasks", query)
    assert answer.status_code == 200, answer.content
    return {task["id"] for task in answer.json()["tasks"]}


def test_an_empty_list_is_a_page(api_a: Api) -> None:
    assert api_a.get("/v1/tasks").json() == {"tasks": [], "next": None}


def test_lists_carry_no_payload_and_no_result(api_a: Api, tenant_a: Tenant) -> None:
    kit.put(tenant_a)
    [task] = api_a.get("/v1/tasks").json()["tasks"]
    assert task.keys() == REPRESENTATION - {"payload", "result"}


def test_pages_are_newest_first_and_complete(api_a: Api, tenant_a: Tenant) -> None:
    newest_first = [str(task_id) for task_id in reversed(kit.put(tenant_a, 7))]
    assert list(pages(api_a, "/v1/tasks?limit=3")) == [
        newest_first[:3],
        newest_first[3:6],
        newest_first[6:],
    ]


def test_a_full_last_page_has_no_next(api_a: Api, tenant_a: Tenant) -> None:
    kit.put(tenant_a, 4)
    assert [len(page) for page in pages(api_a, "/v1/tasks?limit=2")] == [2, 2]


def test_a_task_that_comes_in_meanwhile_shifts_nothing(api_a: Api, tenant_a: Tenant) -> None:
    old = {str(task_id) for task_id in kit.put(tenant_a, 4)}
    first = api_a.get("/v1/tasks?limit=2").json()
    kit.put(tenant_a)
    second = api_a.get(first["next"]).json()
    assert {task["id"] for task in [*first["tasks"], *second["tasks"]]} == old


def test_filters_go_along_to_the_next_page(api_a: Api, tenant_a: Tenant) -> None:
    mail = {str(task_id) for task_id in kit.put(tenant_a, 3, queue="mail")}
    kit.put(tenant_a, 3)
    found = [task_id for page in pages(api_a, "/v1/tasks?limit=1&queue=mail") for task_id in page]
    assert set(found) == mail
    assert len(found) == 3


def test_each_state_finds_its_tasks(api_a: Api, tenant_a: Tenant) -> None:
    by_state = {state: str(in_state(tenant_a, state)) for state in reversed(TaskState)}
    for state, task_id in by_state.items():
        assert ids(api_a, state=state.value) == {task_id}


def test_name_and_queue_narrow_together(api_a: Api, tenant_a: Tenant) -> None:
    [wanted] = kit.put(tenant_a, name="demo.sleep", queue="mail")
    kit.put(tenant_a, name="demo.sleep")
    kit.put(tenant_a, queue="mail")
    assert ids(api_a, name="demo.sleep", queue="mail") == {str(wanted)}
    assert ids(api_a, name="demo.nothing") == set()


def test_creation_is_narrowed_to_a_half_open_interval(api_a: Api, tenant_a: Tenant) -> None:
    instants = [clock.now() - timedelta(hours=hours) for hours in (4, 3, 2, 1)]
    created = [str(kit.put(tenant_a, now=instant)[0]) for instant in instants]
    query = {
        "created_after": instants[1].isoformat(),
        "created_before": instants[3].isoformat(),
    }
    assert ids(api_a, **query) == set(created[1:3])


def test_the_ends_of_the_calendar_are_instants_like_others(api_a: Api, tenant_a: Tenant) -> None:
    task = str(kit.put(tenant_a)[0])
    assert ids(api_a, created_after="0001-01-01T00:00:00Z") == {task}
    assert ids(api_a, created_before="9999-12-31T23:59:59.999999Z") == {task}


def test_ways_of_being_queued_are_told_apart(api_a: Api, tenant_a: Tenant) -> None:
    now = clock.now()
    [later] = kit.put(tenant_a, due_at=now + timedelta(hours=1), now=now)
    [again] = kit.put(tenant_a, now=now)
    kit.say(kit.take(now=now), kit.failing(retry_in=timedelta(hours=1)), now=now)
    [plain] = kit.put(tenant_a, now=now)
    assert ids(api_a, state="scheduled") == {str(later)}
    assert ids(api_a, state="retrying") == {str(again)}
    assert ids(api_a, state="queued") == {str(one) for one in (later, again, plain)}


def test_a_key_finds_its_task(api_a: Api, api_b: Api, operator: Api, tenant_a: Tenant) -> None:
    wanted = api_a.enqueue(key="k").json()["id"]
    api_a.enqueue(key="l")
    api_b.enqueue(key="k")
    assert ids(api_a, key="k") == ids(api_a, key="k", state="queued") == {wanted}
    assert len(ids(operator, key="k")) == 2
    assert ids(api_a, key="k", state="dead") == ids(api_a, key="m") == set()


def test_a_label_finds_its_tasks_page_by_page(
    api_a: Api, operator: Api, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    mine = [str(one) for one in reversed(kit.put(tenant_a, 3, label="order 4711"))]
    kit.put(tenant_a, label="order 47110")
    kit.put(tenant_a)
    theirs = [str(one) for one in kit.put(tenant_b, label="order 4711")]
    address = "/v1/tasks?label=order%204711&limit=2"
    assert list(pages(api_a, address)) == [mine[:2], mine[2:]]
    assert list(pages(operator, address)) == [[*theirs, *mine[:1]], mine[1:]]
    assert ids(api_a, label="order 4711", state="dead") == ids(api_a, label="order") == set()


def test_a_label_and_another_filter_narrow_together(api_a: Api, tenant_a: Tenant) -> None:
    [dead] = kit.put(tenant_a, label="nightly", name="demo.flaky")
    kit.say(kit.take(), kit.failing(retry_in=None))
    kit.put(tenant_a, label="nightly")
    [running] = kit.take()
    assert ids(api_a, label="nightly", state="dead") == {str(dead)}
    assert ids(api_a, label="nightly", name="demo.flaky") == {str(dead)}
    assert ids(api_a, label="nightly", state="running") == {str(running.task_id)}


def test_the_end_is_narrowed_to_a_half_open_interval(api_a: Api, tenant_a: Tenant) -> None:
    now = clock.now()
    instants = [now + timedelta(seconds=seconds) for seconds in range(4)]
    done = [kit.run(kit.take(now=at), now=at)[0] for at in instants if kit.put(tenant_a, now=at)]
    kit.put(tenant_a)
    query = {
        "finished_after": instants[1].isoformat(),
        "finished_before": instants[3].isoformat(),
    }
    assert ids(api_a, **query) == {str(one) for one in done[1:3]}


@pytest.mark.parametrize(
    "query", ["name=demo.rare", "state=succeeded", "queue=rare", "label=often&queue=rare"]
)
def test_a_page_looks_so_far_and_no_further_and_the_next_goes_on(
    api_a: Api, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(paging, "WALK", 3)
    monkeypatch.setattr(paging, "ENOUGH", 0)
    [first] = kit.put(tenant_a, name="demo.rare", queue="rare", label="often")
    kit.run(kit.take())
    kit.put(tenant_a, 7, label="often")
    [last] = kit.put(tenant_a, name="demo.rare", queue="rare", label="often")
    kit.run(kit.take(queues=["rare"]))
    kit.put(tenant_a, 1, label="often")
    found = list(pages(api_a, f"/v1/tasks?{query}"))
    assert [task_id for page in found for task_id in page] == [str(last), str(first)]
    assert len(found) > 2


def test_a_page_that_is_not_full_looks_on_for_a_while(
    api_a: Api, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "WALK", 3)
    monkeypatch.setattr(clock, "monotonic", lambda: 0.0)
    old = kit.put(tenant_a, 2, name="demo.rare")
    kit.put(tenant_a, 7)
    [new] = kit.put(tenant_a, name="demo.rare")
    found = list(pages(api_a, "/v1/tasks?name=demo.rare&limit=2"))
    assert found == [[str(new), str(old[1])], [str(old[0])]]


@pytest.mark.parametrize("walk", [3, 100], ids=["many wait", "few wait"])
@pytest.mark.parametrize("queue", ["", "&queue=default"])
def test_what_is_not_over_comes_newest_first_and_whole_between_what_others_have_waiting(
    api_a: Api,
    operator: Api,
    tenant_a: Tenant,
    tenant_b: Tenant,
    monkeypatch: pytest.MonkeyPatch,
    walk: int,
    queue: str,
) -> None:
    monkeypatch.setattr(paging, "WALK", walk)
    monkeypatch.setattr(paging, "ENOUGH", 0)
    now = clock.now()
    waiting: dict[str, list[UUID]] = {"a": [], "b": []}
    for _ in range(4):
        for slug, tenant in (("a", tenant_a), ("b", tenant_b)):
            waiting[slug] += kit.put(tenant, 2, due_at=now + timedelta(hours=1), now=now)
        kit.put(tenant_a, 3, now=now)
        kit.run(kit.take(3, now=now), now=now)
    for state in ("queued", "scheduled"):
        address = f"/v1/tasks?state={state}{queue}&limit=2"
        mine = [one for page in pages(api_a, address) for one in page]
        everybodys = [one for page in pages(operator, address) for one in page]
        assert mine == [str(one) for one in sorted(waiting["a"])[::-1]]
        assert everybodys == [str(one) for one in sorted(waiting["a"] + waiting["b"])[::-1]]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("stat=queued", "stat"),
        ("state=waiting", "state"),
        ("state=", "state"),
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=ten", "limit"),
        ("cursor=5", "cursor"),
        ("cursor=%00", "cursor"),
        ("name=%00", "name"),
        ("queue=" + "q" * 101, "queue"),
        ("label=", "label"),
        ("label=%00", "label"),
        ("label=" + "l" * 201, "label"),
        ("created_after=2027-03-28", "created_after"),
        ("created_after=2027-03-28T02:30:00", "created_after"),
        ("created_before=9999-12-31T23:59:59-23:59", "created_before"),
        ("created_before=%00", "created_before"),
        ("format=xml", "format"),
    ],
)
def test_a_filter_that_cannot_be_is_refused(api_a: Api, query: str, field: str) -> None:
    assert faults(api_a.get(f"/v1/tasks?{query}")).keys() == {field}


def test_an_unknown_tenant_is_no_empty_list(operator: Api) -> None:
    assert faults(operator.get("/v1/tasks?tenant=nobody")).keys() == {"tenant"}


def test_a_page_costs_two_queries_and_no_blobs(
    api_a: Api, tenant_a: Tenant, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for state in TaskState:
        in_state(tenant_a, state)
    api_a.get("/v1/tasks")
    with django_assert_num_queries(2) as queries:
        assert len(ids(api_a)) == len(TaskState)
    assert "kwargs" not in queries[-1]["sql"]
