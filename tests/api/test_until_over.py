"""`GET /v1/tasks/{id}?wait=`: held until the task is over, by one look for all who wait."""

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from uuid import UUID

import pytest
from django.db import connections
from pytest_django import Settings

from scheduling.api.v1 import until_over, waiting
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.api.kit import Api, faults, problem
from tests.api.test_isolation import in_state
from tests.ledger import kit

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

MANY = 8


class Looks:
    """The tasks that were looked at, and an event for a look at so many of them that found nothing."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, awaited: int = 1) -> None:
        self.at: set[UUID] = set()
        self.met_all = Event()
        over_among = until_over.over_among

        def look(task_ids: Collection[UUID]) -> set[UUID]:
            found = over_among(task_ids)
            self.at |= set(task_ids)
            if len(task_ids) == awaited and not found:
                self.met_all.set()
            return found

        monkeypatch.setattr(until_over, "over_among", look)


def ask(api: Api, task_id: UUID, seconds: float) -> str:
    try:
        answer = api.get(f"/v1/tasks/{task_id}?wait={seconds}")
        assert answer.status_code == 200, answer.content
        state: str = answer.json()["state"]
        return state
    finally:
        connections.close_all()


def test_it_is_answered_when_the_task_is_over(
    api_a: Api, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = Looks(monkeypatch)
    [task_id] = kit.put(tenant_a)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask, api_a, task_id, 30)
        assert looks.met_all.wait(20)
        kit.run(kit.take())
        assert answer.result(20) == TaskState.SUCCEEDED


def test_many_who_wait_share_their_looks(
    api_a: Api, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.RENTROLL = settings.RENTROLL | {
        "WEB_WAITERS": 2 * MANY
    }  # nobody has more of them than are free
    looks = Looks(monkeypatch, awaited=MANY)
    tasks = kit.put(tenant_a, MANY)
    with ThreadPoolExecutor(MANY) as pool:
        answers = [pool.submit(ask, api_a, task_id, 30) for task_id in tasks]
        assert looks.met_all.wait(20)
        kit.run(kit.take(MANY))
        assert {answer.result(20) for answer in answers} == {TaskState.SUCCEEDED}


def test_when_the_time_is_up_it_is_answered_as_it_stands(api_a: Api, tenant_a: Tenant) -> None:
    [task_id] = kit.put(tenant_a)
    assert ask(api_a, task_id, 0.2) == TaskState.QUEUED


def test_whoever_finds_no_seat_is_answered_at_once(
    api_a: Api, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.RENTROLL = settings.RENTROLL | {"WEB_WAITERS": 0}
    looks = Looks(monkeypatch)
    [task_id] = kit.put(tenant_a)
    assert ask(api_a, task_id, 30) == TaskState.QUEUED
    assert task_id not in looks.at


def test_what_is_over_is_not_waited_for(
    api_a: Api, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = Looks(monkeypatch)
    task_id = in_state(tenant_a, TaskState.DEAD)
    assert ask(api_a, task_id, 30) == TaskState.DEAD
    assert task_id not in looks.at


def test_anothers_task_is_not_waited_for(api_a: Api, tenant_b: Tenant) -> None:
    [task_id] = kit.put(tenant_b)
    assert problem(api_a.get(f"/v1/tasks/{task_id}?wait=30")) == (404, "unknown-task")


def test_a_tenant_leaves_seats_to_others(settings: Settings) -> None:
    settings.RENTROLL = settings.RENTROLL | {"WEB_WAITERS": 4}
    seats = waiting.Seats()
    with seats.one_for("a") as first, seats.one_for("a") as second, seats.one_for("a") as third:
        assert (first, second, third) == (True, True, False)
        with seats.one_for("b") as of_another, seats.one_for("b") as another_one:
            assert (of_another, another_one) == (True, False)
    with seats.one_for("b") as freed:
        assert freed


@pytest.mark.parametrize("seconds", ["-1", "31", "long", "nan", ""])
def test_a_wait_that_cannot_be_is_refused(api_a: Api, tenant_a: Tenant, seconds: str) -> None:
    [task_id] = kit.put(tenant_a)
    assert faults(api_a.get(f"/v1/tasks/{task_id}?wait={seconds}")).keys() == {"wait"}
