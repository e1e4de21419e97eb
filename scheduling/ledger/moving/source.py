"""The SQLite side: what is in it, whether it can be moved, and its seal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Self
from uuid import UUID, uuid4

from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.migrations.recorder import MigrationRecorder

from scheduling import clock
from scheduling.ledger.control import control
from scheduling.ledger.moving import seal
from scheduling.ledger.moving.errors import CannotMove, InFlight
from scheduling.ledger.moving.tables import Row, Table
from scheduling.models import Lease
from scheduling.sqlite.base import DatabaseWrapper

FAULTS = 20
"""As many are told at once."""
READABLE = partial(str, encoding="utf-8", errors="surrogateescape")
"""Bytes that are no UTF-8 are read as lone surrogates, so one such value is found like any that cannot be stored."""


@dataclass(frozen=True, slots=True)
class Sealing:
    """The move that a source is sealed for."""

    identity: UUID
    place: str
    """Where it goes, without the password."""
    is_begun: bool
    """There may be something of it in the target, and if so, it is told by this identity."""
    is_over: bool


class Source:
    """The ledger that this program is set up for. Its rows are read on a connection of their own."""

    def __init__(self) -> None:
        """Raises CannotMove unless it is on SQLite."""
        if connection.vendor != "sqlite":
            raise CannotMove(
                "This ledger is on PostgreSQL already. moveledger goes there from SQLite, and not back."
            )
        self.place = f"sqlite:///{connection.settings_dict['NAME']}"
        settings = connections[DEFAULT_DB_ALIAS].settings_dict
        self._reader = DatabaseWrapper(settings, DEFAULT_DB_ALIAS)

    def __enter__(self) -> Self:
        self._reader.ensure_connection()
        self._reader.connection.text_factory = READABLE
        return self

    def __exit__(self, *error: object) -> None:
        self._reader.close()

    # What is in it

    @property
    def migrations(self) -> set[tuple[str, str]]:
        return set(MigrationRecorder(connections[DEFAULT_DB_ALIAS]).applied_migrations())

    def count(self, table: Table) -> int:
        ((rows,),) = self._run(f"SELECT count(*) FROM {seal.quoted(table.name)}")
        return int(rows)

    def rows(self, table: Table, *, after: Any = None) -> Iterator[Row]:
        """As SQLite has them, in the order of their keys, beginning behind one; read as they are asked for.

        The driver parses what a column declares, and answers None for what it cannot parse; of an expression
        it knows no declaration, hence the plus.
        """
        names = ", ".join(f"+{seal.quoted(column.name)}" for column in table.columns)
        key = seal.quoted(table.key.name)
        behind = f"WHERE {key} > ?" if after is not None else ""
        yield from self._run(
            f"SELECT {names} FROM {seal.quoted(table.name)} {behind} ORDER BY {key}",
            () if after is None else (stored(after),),
        )

    def highest_given(self, table: Table) -> int:
        """The highest number that a row of the table ever had."""
        given = self._run(
            "SELECT seq FROM sqlite_sequence WHERE name = ?", (table.name,)
        ).fetchone()
        return int(given[0]) if given else 0

    def faults(self, table: Table) -> Iterator[str]:
        """Each value that PostgreSQL would not take, or would take for another one."""
        for row in self.rows(table):
            yield from table.faults(row)

    def damage(self) -> Iterator[str]:
        """Rows that refer to nothing, break a constraint, or are missing in an index."""
        for table, row, parent, _ in islice(self._run("PRAGMA foreign_key_check"), FAULTS):
            yield f"{table}, row {row}: refers to a row of {parent} that is not there"
        for (finding,) in self._run(f"PRAGMA integrity_check({FAULTS})"):
            if finding != "ok":
                yield str(finding)

    # Its seal

    def sealing(self) -> Sealing | None:
        (found,) = self._run("SELECT count(*) FROM sqlite_schema WHERE name = ?", (seal.TABLE,))
        if not found[0]:
            return None
        identity, *rest = self._run(
            f"SELECT identity, place, is_begun, is_over FROM {seal.TABLE}"
        ).fetchone()
        return Sealing(UUID(identity), rest[0], bool(rest[1]), bool(rest[2]))

    def seal(self, place: str) -> Sealing:
        """From when this returns nobody writes here, until `unseal`.

        One transaction, which waits for its turn to write. Raises CannotMove unless everything is paused then, and
        InFlight while anything runs: the instant that is copied has neither.
        """
        says = seal.words_of_the_source(place)
        sealing = Sealing(uuid4(), place, is_begun=False, is_over=False)
        with transaction.atomic(), connection.cursor() as cursor:
            require_at_rest()
            cursor.execute(
                f"CREATE TABLE {seal.TABLE} (identity TEXT, place TEXT, says TEXT, sealed_at TEXT, "
                "is_sealed INTEGER, is_begun INTEGER, is_over INTEGER)"
            )
            cursor.execute(
                f"INSERT INTO {seal.TABLE} VALUES (%s, %s, %s, %s, 1, 0, 0)",
                [sealing.identity.hex, place, says, clock.now().isoformat()],
            )
            for statement in seal.on_sqlite(says):
                cursor.execute(statement)
        return sealing

    def note(self, *, is_over: bool) -> None:
        """That there is something in the target from now on; or that everything is."""
        with connection.cursor() as cursor:
            cursor.execute(f"UPDATE {seal.TABLE} SET is_begun = 1, is_over = %s", [is_over])

    def unseal(self) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            for statement in [*seal.off_sqlite(), f"DROP TABLE {seal.TABLE}"]:
                cursor.execute(statement)

    def _run(self, statement: str, values: Sequence[Any] = ()) -> Any:
        with self._reader.wrap_database_errors:
            return self._reader.connection.execute(statement, values)


def require_at_rest() -> None:
    """Raises CannotMove unless everything is paused, InFlight while anything runs."""
    if not control().paused:
        raise CannotMove(
            "This ledger is not paused. Run `manage.py setpaused true`, which keeps the work and lets what runs "
            "finish, and then this again."
        )
    leases = Lease.objects.order_by("expires_at").values_list("task", "tenant__slug", "expires_at")
    if found := list(leases):
        raise InFlight(found)


def stored(key: Any) -> Any:
    """A key of PostgreSQL's as SQLite has it."""
    return key.hex if isinstance(key, UUID) else key
