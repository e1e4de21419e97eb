"""When the system is full nobody's tasks are accepted, everybody is told, and what is under way goes on."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from django.db import connection
from pytest_django.fixtures import Settings

from scheduling import clock, ledger
from scheduling.errors import LimitExceeded, Overloaded
from scheduling.ledger import capacity, storage
from scheduling.models import Task
from tenants.models import Tenant
from tests.ledger.kit import failing, new, put, run, say, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

ONLY_SQLITE = pytest.mark.skipif(
    connection.vendor != "sqlite", reason="The disk of a database server is not ours to see."
)


class Disk(NamedTuple):
    free: int


@pytest.fixture(autouse=True)
def every_look_is_fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(capacity, "LOOK", 0.0)
    capacity.look_again()
    yield
    capacity.look_again()


def fill_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    free = storage.least_free_bytes() - 1
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Disk(free))


def test_the_cap_counts_the_unfinished_tasks_of_all_tenants(
    tenant_a: Tenant, tenant_b: Tenant, settings: Settings
) -> None:
    settings.RENTROLL = settings.RENTROLL | {"LEDGER_MAX_QUEUED": 3}
    put(tenant_a, 2)
    take()
    put(tenant_b)
    for tenant in (tenant_a, tenant_b):
        with pytest.raises(Overloaded, match="as many unfinished tasks as it may: 3") as refusal:
            put(tenant)
        assert refusal.value.retry_after == capacity.RETRY_AFTER
    assert Task.objects.count() == 3


def test_work_that_is_done_makes_room(tenant_a: Tenant, settings: Settings) -> None:
    settings.RENTROLL = settings.RENTROLL | {"LEDGER_MAX_QUEUED": 1}
    put(tenant_a)
    with pytest.raises(Overloaded):
        put(tenant_a)
    run(take())
    put(tenant_a)


def test_a_redrive_adds_work_too(tenant_a: Tenant, settings: Settings) -> None:
    (dead,) = put(tenant_a)
    say(take(), failing(retry_in=None))
    put(tenant_a)
    settings.RENTROLL = settings.RENTROLL | {"LEDGER_MAX_QUEUED": 1}
    with pytest.raises(Overloaded):
        ledger.redrive([dead])
    assert Task.objects.dead().count() == 1


def test_without_a_cap_nobody_counts(tenant_a: Tenant, settings: Settings) -> None:
    settings.RENTROLL = settings.RENTROLL | {"LEDGER_MAX_QUEUED": 0}
    put(tenant_a, 5)


def test_what_was_found_counts_for_a_while(
    tenant_a: Tenant, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = clock.monotonic()
    monkeypatch.setattr(clock, "monotonic", lambda: seconds)
    monkeypatch.setattr(capacity, "LOOK", 1.0)
    settings.RENTROLL = settings.RENTROLL | {"LEDGER_MAX_QUEUED": 1}
    put(tenant_a, 1)
    put(tenant_a, 1)
    seconds += 1.0
    with pytest.raises(Overloaded):
        put(tenant_a)
    run(take(2))
    with pytest.raises(Overloaded):
        put(tenant_a)
    seconds += 1.0
    put(tenant_a)


@ONLY_SQLITE
def test_below_the_floor_nothing_is_accepted_and_what_is_there_goes_on(
    tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tenant_a, 2)
    with monkeypatch.context() as full:
        fill_the_disk(full)
        with pytest.raises(Overloaded, match="nearly full: 63 MiB are free"):
            put(tenant_a)
        (claim,) = take()
        ledger.renew([claim], lease=ledger.LEASE)
        run([claim])
        ledger.cancel([task.pk for task in Task.objects.all()])
    put(tenant_a)


@pytest.mark.skipif(connection.vendor == "sqlite", reason="This is about the others.")
def test_the_disk_of_this_host_is_not_a_database_servers(
    tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_the_disk(monkeypatch)
    put(tenant_a)


@pytest.mark.skipif(connection.vendor == "sqlite", reason="There the file is the ledger.")
def test_a_file_that_is_called_as_the_servers_database_is_not_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(connection.settings_dict["NAME"]).touch()
    assert storage.ledger_file() is None
    assert set(storage.sizes()) == {"free_bytes"}


def test_a_tenant_over_its_own_limit_is_told_so_while_there_is_room(
    tenant_a: Tenant, tenant_b: Tenant, settings: Settings
) -> None:
    settings.RENTROLL = settings.RENTROLL | {"LEDGER_MAX_QUEUED": 10}
    Tenant.objects.filter(pk=tenant_a.pk).update(max_queued=1)
    put(tenant_a)
    with pytest.raises(LimitExceeded):
        ledger.enqueue([new(tenant_a)])
    put(tenant_b)
