"""Fixtures that every test may ask for."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.test import TransactionTestCase
from django.test.utils import setup_databases
from hypothesis import HealthCheck
from hypothesis import settings as examples
from pytest_django import DjangoDbBlocker

from scheduling import tables
from tenants.models import Tenant
from tests import emptying, recounting
from tests.installation import Installation, installation_with_tables, keep_tables

if settings.DATABASES["default"]["ENGINE"] != "scheduling.sqlite":
    # What knows of no database, or only of SQLite, is tested once.
    collect_ignore_glob = [
        "scheduling/test_*.py",
        "scripts/test_*.py",
        "benchmarks/test_*.py",
        "builtin/test_addresses.py",
        "chaos/test_plan.py",
        "chaos/test_report.py",
        "chaos/test_rules.py",
        "config/test_children.py",
        "config/test_environment.py",
        "config/test_json_log.py",
        "config/test_secret_key.py",
        "config/test_settings.py",
        "deploy/test_containers.py",
        "deploy/test_kubernetes.py",
        "mutants/test_slips.py",
        "test_docs.py",
        "test_reference.py",
        "test_tutorial.py",
    ]
else:
    # What knows of both is tested where there is PostgreSQL; SQLite is everywhere.
    collect_ignore_glob = ["moving/test_*.py"]

# A machine that stands still fails no test.
examples.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
examples.load_profile("tests")


LONG = {
    "tests/api/test_openapi.py",
    "tests/chaos/test_run.py",
    "tests/console/test_acting.py",
    "tests/console/test_flows.py",
    "tests/deploy/test_rolling_upgrade.py",
    "tests/faults/test_concurrent_start.py",
    "tests/faults/test_secrets.py",
    "tests/faults/test_stepped_clock.py",
    "tests/faults/test_ticks.py",
    "tests/faults/test_worker_death.py",
    "tests/faults/test_zombies.py",
    "tests/ledger/test_model.py",
    "tests/moving/test_guide.py",
    "tests/scheduling/test_recurrence_by_the_minute.py",
    "tests/test_tutorial.py",
}
"""Files that take a quarter of a minute and more."""


@pytest.hookimpl(trylast=True)  # after the order was shuffled
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files begin first: for one that began last the processes of pytest-xdist with no file left would wait.

    Those with a browser come last: as long as one is open, an event loop runs in this thread, and no other can.
    """
    items.sort(
        key=lambda item: (
            "browser" in getattr(item, "fixturenames", ()),
            item.nodeid.partition("::")[0] not in LONG,
        )
    )


def pytest_collection_finish() -> None:
    """What was collected stays to the end: the garbage collector need not look through it again and again."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def empty_quickly() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", emptying.empty)
        yield


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None,
    django_db_modify_db_settings: None,
    django_db_blocker: DjangoDbBlocker,
) -> None:
    """The database that tests are in, migrated, and a copy for the installations of tests that have their own.

    pytest-django's asks whether any test is in a database; those of an installation are not. Nothing is dropped at the
    end: the folder that holds the database goes as a whole, server and all.
    """
    with django_db_blocker.unblock():
        setup_databases(verbosity=0, interactive=False, keepdb=True, serialized_aliases=[])
        keep_tables()
        tables.require_fit_once()  # the first request does; so that no test is surprised by it


@pytest.fixture
def ledger(db: None) -> Iterator[None]:
    """A database whose invariants are recounted from its tables when the test is over."""
    yield
    violations = recounting.violations()
    assert not violations, "\n".join(violations)


@pytest.fixture(autouse=True)
def checked_ledger(request: pytest.FixtureRequest) -> None:
    """Give every test marked ``ledger`` the fixture of that name, and with it the recount."""
    if request.node.get_closest_marker("ledger"):
        request.getfixturevalue("ledger")


@pytest.fixture
def tenant_a(db: None) -> Tenant:
    return Tenant.objects.create(slug="tenant-a", name="Tenant A")


@pytest.fixture
def tenant_b(db: None) -> Tenant:
    return Tenant.objects.create(slug="tenant-b", name="Tenant B")


@pytest.fixture
def installation(django_db_setup: None, tmp_path: Path) -> Installation:
    return installation_with_tables(tmp_path)
