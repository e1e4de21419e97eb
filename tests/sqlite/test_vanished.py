"""A ledger whose file is taken away takes nothing more in."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import OperationalError, close_old_connections, connection, transaction

from tenants.models import Tenant

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def vanished() -> Iterator[Path]:
    """Where the ledger was while a connection had it open. It is put back after the test."""
    Tenant.objects.create(slug="before")
    file = Path(connection.settings_dict["NAME"])
    kept = file.rename(file.with_suffix(".kept"))
    yield file
    connection.close()
    kept.rename(file)


def write() -> None:
    with transaction.atomic():
        Tenant.objects.create(slug="after")


def test_a_file_that_was_deleted_is_not_written_to(vanished: Path) -> None:
    with pytest.raises(OperationalError, match="was deleted or replaced"):
        write()
    assert connection.connection is None


def test_a_file_that_another_took_the_place_of_is_not_written_to(vanished: Path) -> None:
    shutil.copy(vanished.with_suffix(".kept"), vanished)
    with pytest.raises(OperationalError, match="was deleted or replaced"):
        write()


def test_a_connection_to_a_file_that_is_gone_is_of_no_use(vanished: Path) -> None:
    assert not connection.is_usable()


def test_a_ledger_that_is_back_is_written_to_again(vanished: Path) -> None:
    with pytest.raises(OperationalError):
        write()
    kept = vanished.with_suffix(".kept")
    kept.rename(vanished)
    close_old_connections()
    write()
    vanished.rename(kept)
