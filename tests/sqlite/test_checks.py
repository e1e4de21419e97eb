"""An installation that could lose what it accepted does not start."""

from types import SimpleNamespace
from typing import Any

import pysqlite3
import pytest
from django.core import checks
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from scheduling.checks import Version, loses_committed_pages, problems_of, sqlite_is_safe


def database(version: Version = (3, 53, 0), **settings: Any) -> SimpleNamespace:
    return SimpleNamespace(
        Database=SimpleNamespace(sqlite_version_info=version),
        settings_dict={
            "ENGINE": "scheduling.sqlite",
            "OPTIONS": {"transaction_mode": "IMMEDIATE"},
            **settings,
        },
    )


def ids(messages: list[checks.CheckMessage]) -> list[str | None]:
    return [message.id for message in messages]


@pytest.mark.parametrize(
    ("version", "unsafe"),
    [
        ((3, 7, 17), True),
        ((3, 40, 1), True),  # Debian 12
        ((3, 44, 5), True),
        ((3, 44, 6), False),
        ((3, 44, 7), False),
        ((3, 45, 0), True),
        ((3, 46, 1), True),  # Debian 13
        ((3, 49, 9), True),
        ((3, 50, 6), True),
        ((3, 50, 7), False),
        ((3, 51, 0), True),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
        ((3, 52, 0), False),
        ((3, 53, 4), False),
        ((4, 0, 0), False),
    ],
)
def test_a_library_that_loses_committed_pages_is_refused(version: Version, unsafe: bool) -> None:
    assert loses_committed_pages(version) is unsafe
    assert ids(problems_of(database(version))) == ["scheduling.E001"] * unsafe


def test_the_refusal_names_the_version_and_says_what_to_do() -> None:
    (error,) = problems_of(database((3, 40, 1)))
    assert error.is_serious()
    assert "3.40.1" in error.msg
    assert "pysqlite3" in str(error.hint)


@pytest.mark.django_db
@pytest.mark.parametrize("command", ["bootstrap", "runworkers"])
def test_nothing_starts_on_such_a_library(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduling.checks.loses_committed_pages", lambda _: True)
    monkeypatch.delattr("scheduling.management.commands.runworkers.Supervisor")
    with pytest.raises(SystemCheckError, match="can lose committed transactions"):
        call_command(command)


def test_another_engine_is_refused() -> None:
    assert ids(problems_of(database(ENGINE="django.db.backends.sqlite3"))) == ["scheduling.E002"]


def test_the_mode_of_transactions_may_be_written_in_small_letters() -> None:
    assert problems_of(database(OPTIONS={"transaction_mode": "immediate"})) == []


def test_the_mode_of_transactions_may_be_left_to_the_engine() -> None:
    assert problems_of(database(OPTIONS={})) == []


@pytest.mark.parametrize("mode", ["DEFERRED", "exclusive"])
def test_transactions_of_another_mode_are_refused(mode: str) -> None:
    messages = problems_of(database(OPTIONS={"transaction_mode": mode}))
    assert ids(messages) == ["scheduling.E003"]


def test_the_library_that_is_installed_is_safe() -> None:
    assert sqlite_is_safe() == []
    assert not loses_committed_pages(pysqlite3.sqlite_version_info)


def test_the_check_needs_no_database_to_be_named() -> None:
    assert sqlite_is_safe in checks.registry.registry.registered_checks


@pytest.mark.django_db
def test_the_checks_of_databases_find_nothing() -> None:
    assert checks.run_checks(tags=[checks.Tags.database], databases=["default"]) == []
