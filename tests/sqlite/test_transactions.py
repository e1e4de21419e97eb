"""Transactions pass the write gate and always leave it, however they end."""

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from django.db import (
    DEFAULT_DB_ALIAS,
    DatabaseError,
    OperationalError,
    close_old_connections,
    connection,
    connections,
    transaction,
)
from django.db.backends.signals import connection_created

from scheduling.errors import TaskTimeout
from scheduling.sqlite.gate import WriteGate, gate_for
from scheduling.workers import leftovers
from tenants.models import Tenant
from tests.races.kit import Session, put
from tests.sqlite.keeper import Keeper

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def gate() -> WriteGate:
    return gate_for(connection.settings_dict["NAME"])


@pytest.fixture
def other() -> Iterator[Keeper]:
    """Another process at the ledger's gate."""
    with Keeper(Path(connection.settings_dict["NAME"])) as keeper:
        yield keeper


@pytest.fixture
def writer() -> Iterator[Session]:
    """Another thread, which writes to see whether it can."""
    with Session() as session:
        yield session


def write() -> None:
    Tenant.objects.update_or_create(slug="proof")


def test_a_transaction_is_inside_until_it_has_committed(gate: WriteGate, other: Keeper) -> None:
    with transaction.atomic():
        assert gate.holder
        assert other.ask("enter 0.1") == "timeout"
        with transaction.atomic():
            write()
        assert gate.holder, "the end of a savepoint is not the end of the transaction"
    assert gate.holder is None
    assert other.ask("enter 30") == "inside"


def test_a_writer_without_a_turn_is_told_how_long_it_waited(
    other: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    other.ask("enter 30")
    connection.ensure_connection()
    monkeypatch.setattr(connections[DEFAULT_DB_ALIAS], "patience", 0.1)
    with pytest.raises(OperationalError, match=r"database is locked: no turn .* within 0\.1 s"):
        write()
    other.ask("leave")
    write()


def test_readers_do_not_queue(other: Keeper) -> None:
    other.ask("enter 30")
    assert Tenant.objects.count() == 0


def test_a_reader_sees_the_last_commit_while_somebody_writes(writer: Session) -> None:
    with writer.transaction():
        writer.do(write)
        assert Tenant.objects.count() == 0
    assert Tenant.objects.count() == 1


class Oops(Exception):
    pass


def fail_inside() -> None:
    with suppress(Oops), transaction.atomic():
        write()
        raise Oops


def fail_in_nested() -> None:
    with transaction.atomic(), suppress(Oops), transaction.atomic():
        write()
        raise Oops


def roll_back_the_whole_from_within() -> None:
    with transaction.atomic(), transaction.atomic():
        transaction.set_rollback(True)


def close_inside() -> None:
    with suppress(DatabaseError), transaction.atomic():
        write()
        connection.close()


def break_the_driver_connection() -> None:
    with suppress(DatabaseError), transaction.atomic():
        write()
        connection.connection.close()


def fail_to_begin() -> None:
    connection.ensure_connection()
    connection.connection.execute("BEGIN")
    with suppress(OperationalError), transaction.atomic():
        raise AssertionError("a transaction began within another one")
    connection.connection.execute("ROLLBACK")


def be_durable() -> None:
    with transaction.atomic(durable=True):
        write()


def set_autocommit_by_hand() -> None:
    transaction.set_autocommit(False)
    write()
    transaction.commit()
    transaction.set_autocommit(True)


def fail_after_commit() -> None:
    with suppress(Oops), transaction.atomic():
        transaction.on_commit(raise_oops)


def raise_oops() -> None:
    raise Oops


@pytest.mark.parametrize(
    "end",
    [
        fail_inside,
        fail_in_nested,
        roll_back_the_whole_from_within,
        close_inside,
        break_the_driver_connection,
        fail_to_begin,
        be_durable,
        set_autocommit_by_hand,
        fail_after_commit,
    ],
)
def test_however_it_ends_the_next_one_can_write(
    end: Callable[[], None], gate: WriteGate, writer: Session
) -> None:
    end()
    close_old_connections()
    assert gate.holder is None
    writer.do(write)
    write()


def test_a_durable_transaction_refuses_to_be_part_of_another() -> None:
    with pytest.raises(RuntimeError, match="durable"), transaction.atomic():
        be_durable()


def test_a_full_disk_fails_the_write_and_nothing_after_it(
    gate: WriteGate, writer: Session, other: Keeper
) -> None:
    write()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")  # no page is free
        cursor.execute("PRAGMA max_page_count = 1")  # nor any beyond those there are
        pages = cursor.fetchone()[0]
    with pytest.raises(DatabaseError, match="full"), transaction.atomic():
        Tenant.objects.bulk_create(Tenant(slug=f"t{n}", name="x" * 200) for n in range(1000))
    assert gate.holder is None
    assert Tenant.objects.count() == 1
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA max_page_count = {pages + 100_000}")  # space returns
    assert other.ask("enter 30") == "inside"
    other.ask("leave")
    writer.do(write)
    Tenant.objects.create(slug="afterwards")


def test_a_commit_that_fails_leaves_gate_and_connection_usable(
    gate: WriteGate, writer: Session
) -> None:
    """A deferred constraint is looked at when the transaction commits, and only then."""
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO scheduling_lane (tenant_id, queue, virtual_time, readiness) "
            "VALUES (12345, 'of nobody', 0, 0)"
        )
    assert gate.holder is None
    writer.do(write)
    write()


# Struck by an exception from another thread


STRUCK_IN = (
    *("sqlite/gate.py", "sqlite/base.py", "sqlite/short.py"),
    *("dialects/sqlite/dialect.py", "dialects/sqlite/stored.py"),
    *("db/transaction.py", "backends/base/base.py"),
)


class Strike:
    """Raises TaskTimeout at the n-th point in some files where one from another thread may surface.

    That is where a function begins, and after a call of one that is written in C.
    """

    def __init__(self, point: int) -> None:
        self._left = point

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event in ("call", "c_return") and frame.f_code.co_filename.endswith(STRUCK_IN):
            self._left -= 1
            if self._left == 0:
                raise TaskTimeout


def write_in_a_block() -> None:
    with transaction.atomic():
        write()


def enqueue() -> None:
    put(Tenant.objects.get(slug="proof"))


def write_and_be_struck(how: Callable[[], None], point: int) -> bool:
    """Whether it was struck. Then the thread's connections are cleared, as after any handler."""
    connection.ensure_connection()
    sys.setprofile(Strike(point))
    try:
        how()
    except TaskTimeout:
        return True
    else:
        return False
    finally:
        sys.setprofile(None)
        leftovers.clear()


@pytest.fixture
def watched() -> Iterator[None]:
    """Connections are watched for what handlers leave in them, as in a worker."""
    leftovers.watch_connections()
    yield
    connection_created.disconnect(dispatch_uid="scheduling.workers.leftovers")


@pytest.mark.parametrize("how", [write_in_a_block, enqueue])
def test_a_writer_that_is_struck_anywhere_lets_the_others_write(
    how: Callable[[], None], gate: WriteGate, watched: None
) -> None:
    write()
    enqueue()
    point = 0
    struck = True
    while struck:
        point += 1
        with Session() as victim:
            victim.do(leftovers.tend_this_thread)
            struck = victim.do(partial(write_and_be_struck, how, point))
            assert gate.holder is None, f"struck at point {point}"
        write()
    assert point > 50
