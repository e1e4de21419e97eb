"""Owns that nobody writes to a ledger that moves: how it is sealed, on either side, and how that is seen.

A seal is a trigger on every table, so it costs nothing where there is none, holds whichever program writes, and is
kept where the ledger is kept: no restart, copy or backup of the file loses it. Beside it stands one row of what
move it belongs to, in a table that exists no longer than that.
"""

from django.db import DEFAULT_DB_ALIAS, connections

from scheduling.ledger.moving.errors import CannotMove
from scheduling.ledger.moving.tables import sealed_tables
from scheduling.sqlite.sealed import SEALED

TABLE = "ledger_move"
TRIGGER = "ledger_sealed"
MOVING = "rentroll.moving"
"""A setting of PostgreSQL's sessions: `on` in that of the move, which the seal lets pass."""

TABLE_EXISTS = {
    "sqlite": f"SELECT name FROM sqlite_schema WHERE name = '{TABLE}'",
    "postgresql": f"SELECT to_regclass('{TABLE}')",
}
WHOSE = f"SELECT says FROM {TABLE} WHERE is_sealed"
STATEMENTS = ("INSERT", "UPDATE", "DELETE")


def sealed() -> str | None:
    """What a writer would be told, or None: this ledger takes writes. Two small queries."""
    connection = connections[DEFAULT_DB_ALIAS]
    with connection.cursor() as cursor:
        cursor.execute(TABLE_EXISTS[connection.vendor])
        (name,) = cursor.fetchone() or (None,)
        if name is None:
            return None
        cursor.execute(WHOSE)
        row = cursor.fetchone()
    return str(row[0]) if row else None


def require_unsealed() -> None:
    """For those who would change the tables themselves, and break the seal. Raises CannotMove."""
    if says := sealed():
        raise CannotMove(says)


def words_of_the_source(place: str) -> str:
    return (
        f"{SEALED}: it moves to {place}. Nothing was written. When moveledger has finished, set DATABASE_URL "
        "to that and start again."
    )


def words_of_the_target(place: str) -> str:
    return (
        f"{SEALED} yet: it is being moved here from {place}. Nothing was written. Start again when moveledger "
        "has finished."
    )


def on_sqlite(says: str) -> list[str]:
    """`RAISE` can only say that a constraint is broken; our engine tells a sealed ledger from that by the words."""
    return [
        f"CREATE TRIGGER {quoted(f'{TRIGGER}_{table}_{statement}')} BEFORE {statement} ON {quoted(table)} "
        f"BEGIN SELECT RAISE(ABORT, {literal(says)}); END"
        for table in sealed_tables()
        for statement in STATEMENTS
    ]


def off_sqlite() -> list[str]:
    return [
        f"DROP TRIGGER IF EXISTS {quoted(f'{TRIGGER}_{table}_{statement}')}"
        for table in sealed_tables()
        for statement in STATEMENTS
    ]


def on_postgresql(says: str) -> list[str]:
    """SQLSTATE 57000, operator intervention: trouble that passes, to everybody who writes."""
    return [
        f"""
        CREATE FUNCTION {TRIGGER}() RETURNS trigger LANGUAGE plpgsql AS $seal$
        BEGIN
            IF current_setting('{MOVING}', true) IS DISTINCT FROM 'on' THEN
                RAISE EXCEPTION USING ERRCODE = '57000', MESSAGE = {literal(says)};
            END IF;
            RETURN NULL;
        END
        $seal$
        """,
        *(
            f"CREATE TRIGGER {TRIGGER} BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON {quoted(table)} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {TRIGGER}()"
            for table in sealed_tables()
        ),
    ]


def off_postgresql() -> list[str]:
    return [f"DROP FUNCTION IF EXISTS {TRIGGER}() CASCADE"]  # the triggers go with it


def quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def literal(words: str) -> str:
    doubled = words.replace("'", "''")
    return f"'{doubled}'"
