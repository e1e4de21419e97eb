"""The PostgreSQL side: what has got there, its seal, and who is let in."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, OperationalError, connections
from django.db.migrations.recorder import MigrationRecorder
from django.db.utils import load_backend

from scheduling.ledger import lock_wait
from scheduling.ledger.moving import seal
from scheduling.ledger.moving.address import place_of, settings_for
from scheduling.ledger.moving.errors import CannotMove
from scheduling.ledger.moving.seal import literal, quoted
from scheduling.ledger.moving.tables import Row, Table

if TYPE_CHECKING:
    import psycopg

MOVE_LOCK = 0x4D_4F_56_45  # any number that every move agrees on
PATIENCE = "10s"
"""For what others hold. A move that was killed is gone from the server within moments."""
ROWS_AHEAD = 200
"""As many are fetched at once where rows are compared: any of them may be a megabyte."""

Migrations = set[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Copy:
    """What a target says of the ledger in it."""

    identity: UUID
    """Of the move that brought it."""
    state: str
    """`copying`, `moved`, or `undone`: then it is empty."""


class Target:
    """A database that a ledger is moved to, by one move at a time."""

    def __init__(self, url: str) -> None:
        """Raises CannotMove for what is no address of a PostgreSQL database."""
        settings = settings_for(url)
        self.place = place_of(settings)
        self._wrapper = load_backend(settings["ENGINE"]).DatabaseWrapper(settings, DEFAULT_DB_ALIAS)

    def __enter__(self) -> Self:
        """Connected, and the only one to move anything there. Raises CannotMove."""
        try:
            self._wrapper.ensure_connection()
            self._enter()
        except OperationalError as error:
            self._wrapper.close()
            if lock_wait.ran_out(error):
                raise CannotMove(f"Another moveledger is at work on {self.place}.") from error
            raise CannotMove(f"{self.place} does not answer: {str(error).strip()}") from error
        except BaseException:
            self._wrapper.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._wrapper.close()

    def _enter(self) -> None:
        self._run(f"SET lock_timeout TO '{PATIENCE}'")
        self._run(f"SET {seal.MOVING} TO 'on'")
        self._run("SELECT pg_advisory_lock(%s)", [MOVE_LOCK])
        ((encoding,),) = self._run("SHOW server_encoding")
        if encoding != "UTF8":
            raise CannotMove(
                f"{self.place} keeps text in {encoding}, which has no room for all of it. Create a database with "
                "ENCODING 'UTF8'."
            )

    @contextmanager
    def as_the_ledger(self) -> Iterator[None]:
        """In this thread, for the block, what is asked of the ledger is asked of the target."""
        ours = connections[DEFAULT_DB_ALIAS]
        connections[DEFAULT_DB_ALIAS] = self._wrapper
        try:
            yield
        finally:
            connections[DEFAULT_DB_ALIAS] = ours

    @property
    def migrations(self) -> Migrations:
        with self.as_the_ledger():
            return set(MigrationRecorder(self._wrapper).applied_migrations())

    # What is in it

    def copy_in_it(self) -> Copy | None:
        ((table,),) = self._run(f"SELECT to_regclass('{seal.TABLE}')")
        if table is None:
            return None
        ((identity, state),) = self._run(f"SELECT identity, state FROM {seal.TABLE}")
        return Copy(identity, state)

    def is_empty(self, table: Table) -> bool:
        ((exists,),) = self._run(f"SELECT EXISTS (SELECT FROM {quoted(table.name)})")
        return not exists

    def count(self, table: Table) -> int:
        ((rows,),) = self._run(f"SELECT count(*) FROM {quoted(table.name)}")
        return int(rows)

    def last_key(self, table: Table) -> Any:
        """How far it got. None: there is nothing yet."""
        key = quoted(table.key.name)
        order = in_order(table)
        found = self._run(f"SELECT {key} FROM {quoted(table.name)} ORDER BY {order} DESC LIMIT 1")
        return found[0][0] if found else None

    def rows(self, table: Table) -> Generator[Row]:
        """As PostgreSQL has them, in the order in which SQLite has them; read as they are asked for."""
        names = ", ".join(
            column.kind.on_postgresql.format(quoted(column.name)) for column in table.columns
        )
        statement = f"SELECT {names} FROM {quoted(table.name)} ORDER BY {in_order(table)}"
        with self._transaction() as session, session.cursor(name="moving") as cursor:
            cursor.itersize = ROWS_AHEAD
            yield from cursor.execute(statement)

    # Bringing it there

    def begin(self, identity: UUID, tables: Sequence[Table], source: str) -> None:
        """Seal it, empty it of what `migrate` put there, and write down whose copy it is to be: all or nothing.

        Holds every table meanwhile. Changes nothing where that has been done. Raises CannotMove if anything is
        there that would be lost.
        """
        with self._transaction():
            self._hold(tables)
            if self.require_room(identity, tables):
                self._break_seal()
                self._empty(tables)
                self._seal(identity, source, state="copying")

    def require_room(self, identity: UUID | None, tables: Sequence[Table]) -> bool:
        """Whether nothing is there yet; False: a part of this very move is. Raises CannotMove for anything else."""
        copy = self.copy_in_it()
        if copy and copy.identity == identity and copy.state == "copying":
            return False
        if copy and copy.state != "undone":
            raise CannotMove(
                f"{self.place} holds another ledger, or a part of one, that was moved there before."
            )
        for table in tables:
            if not (table.is_filled_by_migrate or self.is_empty(table)):
                raise CannotMove(
                    f"{self.place} is not empty: there are rows in {table.name}. Name a database that has been "
                    "migrated, and no more."
                )
        return True

    def append(self, table: Table, rows: Sequence[Row]) -> None:
        """Durable when it returns: all of them, or on any error none."""
        names = ", ".join(quoted(column.name) for column in table.columns)
        statement = f"COPY {quoted(table.name)} ({names}) FROM STDIN"
        with (
            self._transaction() as session,
            session.cursor() as cursor,
            cursor.copy(statement) as copy,
        ):
            for row in rows:
                copy.write_row(row)

    def go_on_numbering(self, table: Table, highest: int) -> None:
        """From behind the highest number that the source ever gave: none is given twice."""
        key = literal(table.key.name)
        sequence = f"pg_get_serial_sequence({literal(quoted(table.name))}, {key})"
        self._run(f"SELECT setval({sequence}, greatest(%s, 1), %s)", [highest, highest > 0])

    def analyze(self, tables: Sequence[Table]) -> None:
        """So that PostgreSQL plans the first statements by what is there."""
        for table in tables:
            self._run(f"ANALYZE {quoted(table.name)}")

    def finish(self) -> None:
        """From now on it is a ledger like any other."""
        with self._transaction():
            for statement in seal.off_postgresql():
                self._run(statement)
            self._run(f"UPDATE {seal.TABLE} SET state = 'moved', is_sealed = false")

    # And back

    @contextmanager
    def held(self, tables: Sequence[Table]) -> Iterator[None]:
        """One transaction, in which nobody else writes there. What raises in the block leaves everything as it was."""
        with self._transaction():
            self._hold(tables)
            yield

    def empty(self, identity: UUID, tables: Sequence[Table], source: str) -> None:
        """Take back what the move brought, and leave it sealed, and known as undone. Inside of `held`."""
        self._break_seal()
        self._empty(tables)
        self._seal(identity, source, state="undone")

    def forget_what_is_undone(self) -> None:
        """That it ever was sealed for a move, if that was undone: it is empty."""
        with self._transaction():
            copy = self.copy_in_it()
            if copy and copy.state == "undone":
                self._break_seal()

    def _hold(self, tables: Sequence[Table]) -> None:
        names = ", ".join(quoted(table.name) for table in tables)
        self._run(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE")

    def _empty(self, tables: Sequence[Table]) -> None:
        self._run(f"TRUNCATE {', '.join(quoted(table.name) for table in tables)}")

    def _seal(self, identity: UUID, source: str, *, state: str) -> None:
        says = seal.words_of_the_target(source)
        self._run(
            f"CREATE TABLE {seal.TABLE} (identity uuid, source text, says text, begun_at timestamptz, "
            "is_sealed boolean, state text)"
        )
        self._run(
            f"INSERT INTO {seal.TABLE} VALUES (%s, %s, %s, now(), true, %s)",
            [identity, source, says, state],
        )
        for statement in seal.on_postgresql(says):
            self._run(statement)

    def _break_seal(self) -> None:
        for statement in [*seal.off_postgresql(), f"DROP TABLE IF EXISTS {seal.TABLE}"]:
            self._run(statement)

    @contextmanager
    def _transaction(self) -> Iterator["psycopg.Connection[Any]"]:
        session = self._wrapper.connection
        with self._wrapper.wrap_database_errors, session.transaction():
            yield session

    def _run(self, statement: str, values: Sequence[Any] | None = None) -> list[Any]:
        with self._wrapper.wrap_database_errors, self._wrapper.connection.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall() if cursor.description else []


def in_order(table: Table) -> str:
    """SQLite compares text by its bytes."""
    return quoted(table.key.name) + (' COLLATE "C"' if table.is_keyed_by_text else "")
