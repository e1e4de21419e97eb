"""Whether the process lives, and whether it can work."""

import shutil
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from django.db import OperationalError
from django.db.migrations.executor import MigrationExecutor
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from scheduling import tables
from scheduling.api.leaving import IS_LEAVING
from scheduling.ledger import storage
from tests.api.kit import Api, problem


class Disk(NamedTuple):
    free: int


@pytest.fixture(autouse=True)
def first_look() -> Iterator[None]:
    """Each test asks for the migrations anew."""
    tables.require_fit_once.cache_clear()
    yield
    tables.require_fit_once.cache_clear()


def test_a_living_process_says_so_without_the_database() -> None:
    answer = Api().get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "alive"})


@pytest.mark.django_db
def test_a_ready_one_says_how_much_room_there_is() -> None:
    answer = Api().get("/readyz")
    assert answer.status_code == 200
    assert answer.json()["status"] == "ready"
    assert answer.json()["free_bytes"] > 0


@pytest.mark.django_db
def test_one_that_was_told_to_stop_is_alive_and_not_ready() -> None:
    told: dict[str, Any] = {IS_LEAVING: True}
    answer = Client().get("/readyz", **told)
    assert problem(answer) == (503, "unavailable")
    assert "being stopped" in answer.json()["detail"]
    assert Client().get("/healthz", **told).status_code == 200


@pytest.mark.django_db
def test_looking_again_costs_one_query(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    Api().get("/readyz")
    with django_assert_num_queries(1):
        assert Api().get("/readyz").status_code == 200


@pytest.mark.django_db
def test_a_nearly_full_disk_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Disk(storage.least_free_bytes() - 1))
    answer = Api().get("/readyz")
    assert problem(answer) == (503, "unavailable")
    assert "nearly full" in answer.json()["detail"]
    assert answer.json()["free_bytes"] == storage.least_free_bytes() - 1
    assert int(answer["Retry-After"]) >= 1


@pytest.mark.django_db
def test_tables_that_are_not_up_to_date_are_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as outdated:
        outdated.setattr(MigrationExecutor, "migration_plan", lambda *args: ["0002"])
        answer = Api().get("/readyz")
        assert problem(answer) == (503, "unavailable")
        assert "manage.py migrate" in answer.json()["detail"]
    assert Api().get("/readyz").status_code == 200


@pytest.mark.django_db
def test_a_database_that_does_not_answer_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Api().get("/readyz").status_code == 200

    def gone(*args: object) -> Any:
        raise OperationalError("connection refused")

    monkeypatch.setattr("django.db.backends.utils.CursorWrapper.execute", gone)
    answer = Api().get("/readyz")
    assert problem(answer) == (503, "unavailable")
    assert "does not answer" in answer.json()["detail"]
    assert "refused" not in answer.content.decode()
