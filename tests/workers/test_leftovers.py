"""Which statements outlive their transaction, so that the connection must not be used again."""

import pytest

from scheduling.workers.leftovers import CHANGES_SESSION


@pytest.mark.parametrize(
    "sql",
    [
        "SET statement_timeout = 1",
        "  set role other",
        "PRAGMA foreign_keys = OFF",
        "ATTACH DATABASE 'x' AS y",
        "BEGIN",
        "LISTEN something",
        "CREATE TEMP TABLE t (x int)",
        "SELECT set_config('a.b', 'c', false)",
        "SELECT pg_advisory_lock(1)",
        "SELECT pg_try_advisory_lock_shared(1)",
    ],
)
def test_statement_spoils_the_session(sql: str) -> None:
    assert CHANGES_SESSION.search(sql)


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT "settings"."id" FROM "settings"',
        "INSERT INTO t VALUES (1)",
        "UPDATE t SET a = 1",
        "\n DELETE FROM t",
        "WITH x AS (SELECT 1) SELECT * FROM x",
        "SAVEPOINT s1",
        "RELEASE SAVEPOINT s1",
        "ROLLBACK TO SAVEPOINT s1",
        "SELECT pg_advisory_xact_lock(1)",
        "SELECT pg_try_advisory_xact_lock(1)",
    ],
)
def test_statement_leaves_the_session_as_it_is(sql: str) -> None:
    assert not CHANGES_SESSION.search(sql)
