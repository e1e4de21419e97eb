"""A project that the ledger cannot live in is told so, with what to write."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.core.checks import registry
from psycopg import IsolationLevel
from pytest_django.fixtures import Settings

from scheduling import project_checks
from scheduling.checks import LEDGER
from tenants.models import Tenant


def ids(messages: list[Any]) -> list[str]:
    return [message.id for message in messages]


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Have the ledger in a database with those settings."""

    def there(vendor: str, zone: str = "UTC", **options: Any) -> None:
        database = SimpleNamespace(
            vendor=vendor,
            timezone_name=zone,
            settings_dict={"ENGINE": vendor, "ATOMIC_REQUESTS": False, "OPTIONS": {}, **options},
        )
        monkeypatch.setattr(project_checks, "connections", {"default": database})

    return there


def test_this_project_is_one_for_it() -> None:
    assert registry.run_checks(tags=[LEDGER]) == []


def test_a_setting_that_there_is_not_is_told(settings: Settings) -> None:
    settings.RENTROLL = {"REMOTE_QUEUE": ["films"]}
    (error,) = project_checks.settings_can_be_read()
    assert error.id == "scheduling.E006"
    assert "Did you mean REMOTE_QUEUES?" in error.msg


def test_times_without_a_zone_are_refused(settings: Settings) -> None:
    settings.USE_TZ = False
    assert ids(project_checks.times_are_utc()) == ["scheduling.E008"]


def test_a_database_that_keeps_another_zone_is_refused(on: Any) -> None:
    on("sqlite", zone="Europe/Berlin")
    assert ids(project_checks.times_are_utc()) == ["scheduling.E008"]


@pytest.mark.parametrize(("vendor", "found"), [("mysql", ["scheduling.E009"]), ("sqlite", [])])
def test_a_third_database_is_refused(on: Any, vendor: str, found: list[str]) -> None:
    on(vendor)
    assert ids(project_checks.the_default_database_can_hold_a_ledger()) == found


class Elsewhere:
    """Sends the tables of one app to another database."""

    def db_for_write(self, model: Any, **hints: Any) -> str | None:
        return "elsewhere" if model._meta.app_label == "tenants" else None


class Replica:
    def db_for_read(self, model: Any, **hints: Any) -> str | None:
        return "replica" if model is Tenant else None


class Forbidding:
    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool | None:
        return False if app_label == "tenants" else None


@pytest.mark.parametrize("router", [Elsewhere, Replica, Forbidding])
def test_routers_that_take_tables_away_are_refused(settings: Settings, router: type) -> None:
    settings.DATABASE_ROUTERS = [router()]
    (error,) = project_checks.the_ledger_stays_in_one_database()
    assert error.id == "scheduling.E010"
    assert "tenants.Tenant" in error.msg


@pytest.mark.parametrize(
    ("level", "found"),
    [
        (None, []),
        (IsolationLevel.READ_COMMITTED, []),
        (IsolationLevel.SERIALIZABLE, ["scheduling.E011"]),
    ],
)
def test_another_isolation_is_refused(on: Any, level: Any, found: list[str]) -> None:
    on("postgresql", OPTIONS={"isolation_level": level})
    assert ids(project_checks.transactions_are_read_committed()) == found


@pytest.mark.parametrize(("vendor", "found"), [("sqlite", ["scheduling.W002"]), ("postgresql", [])])
def test_requests_that_are_writers_for_as_long_as_they_last_are_told(
    on: Any, vendor: str, found: list[str]
) -> None:
    on(vendor, ATOMIC_REQUESTS=True)
    assert ids(project_checks.requests_leave_the_ledger_to_others()) == found
