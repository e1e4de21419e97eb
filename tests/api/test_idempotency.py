"""One key, one task: whoever asks, however often, and however many at once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from threading import Barrier, Event, Lock
from typing import Any

import pytest
from django.db import connection, connections

from scheduling.models import Task
from scheduling.sqlite.base import DatabaseWrapper as SQLite
from tests.api.kit import Api, Response, faults, problem

pytestmark = [pytest.mark.django_db, pytest.mark.ledger]

CALLERS = 50
enqueueing = import_module("scheduling.ledger.enqueue")  # the package gives its verb that name


def test_the_same_request_again_is_answered_with_the_same_task(api_a: Api) -> None:
    first, again = api_a.enqueue(key="k"), api_a.enqueue(key="k")
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()
    assert again["Location"] == first["Location"]
    assert "Idempotency-Replayed" not in first
    assert again["Idempotency-Replayed"] == "true"
    assert Task.objects.count() == 1


def test_the_order_and_spacing_of_the_body_do_not_matter(api_a: Api) -> None:
    one = '{"name": "demo.echo", "payload": {"a": 1, "b": 2}}'
    other = '{"payload":{"b":2,"a":1},"name":"demo.echo"}'
    first, again = (api_a.post("/v1/tasks", body, idempotency_key="k") for body in (one, other))
    assert (first.status_code, again.status_code) == (201, 200)


def test_a_delay_counts_as_it_was_asked_for(api_a: Api) -> None:
    first, again = (api_a.enqueue(key="k", delay_seconds=60) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json()["due_at"] == first.json()["due_at"]


@pytest.mark.parametrize(
    "other",
    [
        {"payload": {"message": "other"}},
        {"name": "demo.sleep", "payload": {"seconds": 1}},
        {"queue": "mail"},
        {"priority": 1},
        {"delay_seconds": 5},
        {"max_attempts": 4},
        {"deadline": "2027-01-01T00:00:00Z"},
    ],
)
def test_another_request_under_the_key_is_refused(api_a: Api, other: dict[str, Any]) -> None:
    first = api_a.enqueue(key="k")
    refused = api_a.enqueue(key="k", **other)
    assert problem(refused) == (422, "idempotency-key-reused")
    assert refused.json()["task_id"] == first.json()["id"]
    assert Task.objects.count() == 1


def test_a_key_may_be_quoted_or_bare(api_a: Api) -> None:
    same = ['"a \\"b\\" \\\\ c"', 'a "b" \\ c']
    assert [api_a.enqueue(key=key).status_code for key in same] == [201, 200]
    assert Task.objects.get().idempotency_key == 'a "b" \\ c'


@pytest.mark.parametrize(
    "key",
    ["", '""', " ", '"unfinished', '"a"b"', '"a";p=1', "k" * 256, f'"{"k" * 256}"', "clé", "a\tb"],
)
def test_a_key_that_cannot_be_is_refused(api_a: Api, key: str) -> None:
    refused = api_a.post("/v1/tasks", {"name": "demo.echo"}, idempotency_key=key)
    assert faults(refused).keys() == {"idempotency_key"}


def test_the_longest_key_is_taken(api_a: Api) -> None:
    assert [api_a.enqueue(key="k" * 255).status_code for _ in range(2)] == [201, 200]


def test_two_tenants_with_one_key_have_two_tasks_and_see_nothing_of_each_other(
    api_a: Api, api_b: Api
) -> None:
    of_a = api_a.enqueue(key="k", payload={"message": "from a"})
    of_b = api_b.enqueue(key="k", payload={"message": "from b"})
    assert (of_a.status_code, of_b.status_code) == (201, 201)
    assert of_a.json()["id"] != of_b.json()["id"]
    assert api_b.enqueue(key="k", payload={"message": "from b"}).json() == of_b.json()
    refused = api_b.enqueue(key="k", payload={"message": "from a"})
    assert problem(refused) == (422, "idempotency-key-reused")
    assert of_a.json()["id"] not in refused.content.decode()


def test_the_operator_shares_the_keys_of_the_tenant_it_names(api_a: Api, operator: Api) -> None:
    first, again = api_a.enqueue(key="k"), operator.enqueue(key="k", tenant="tenant-a")
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json()["id"] == first.json()["id"]


@pytest.mark.django_db(transaction=True)
def test_fifty_requests_with_one_key_make_one_task(
    api_a: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first is held inside its transaction, with the key written, until all the others are on their way."""
    everybody = Barrier(CALLERS)
    first_is_inside = held_once(monkeypatch, lambda: everybody.wait(30))

    def send(number: int) -> Response:
        if number:
            first_is_inside.wait(30)
            everybody.wait(30)
        return api_a.enqueue(key="k")

    answers = at_once(CALLERS, send)
    assert {answer.status_code for answer in answers} <= {200, 201, 409}
    assert [answer.status_code for answer in answers].count(201) == 1
    assert len({answer.json()["id"] for answer in answers if answer.status_code != 409}) == 1
    assert Task.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_request_that_waited_too_long_for_the_first_is_told_to_come_back(
    api_a: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    second_is_done = Event()
    first_is_inside = held_once(monkeypatch, lambda: second_is_done.wait(30))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(in_own_connection, lambda _: api_a.enqueue(key="k"), 0)
        first_is_inside.wait(30)
        become_impatient()
        try:
            second = api_a.enqueue(key="k")
        finally:
            second_is_done.set()
            connection.close()
    assert problem(second) == (409, "idempotency-key-in-use")
    assert second["Retry-After"] == "1"
    assert first.result().status_code == 201
    assert api_a.enqueue(key="k").json()["id"] == first.result().json()["id"]


def held_once(monkeypatch: pytest.MonkeyPatch, hold: Callable[[], object]) -> Event:
    """Hold the first transaction that has written its task. The event tells that it got there."""
    inside, only_one = Event(), Lock()
    place = enqueueing.place

    def held(*args: Any) -> None:
        place(*args)
        if only_one.acquire(blocking=False):
            inside.set()
            hold()

    monkeypatch.setattr(enqueueing, "place", held)
    return inside


def become_impatient() -> None:
    """Let this connection wait for others no longer than a moment."""
    connection.ensure_connection()
    if isinstance(connections["default"], SQLite):
        connections["default"].patience = 0.05
    else:
        connection.cursor().execute("SET lock_timeout TO '50ms'")


def at_once(count: int, send: Callable[[int], Response]) -> list[Response]:
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(in_own_connection, [send] * count, range(count)))


def in_own_connection(send: Callable[[int], Response], number: int) -> Response:
    try:
        return send(number)
    finally:
        connections.close_all()
