"""Owns the recount after each test of the ledger: what `check.violations` finds, in a fraction of the time.

Nearly all of that went into putting the same statements together again. Here those that look for wrong rows are put
together once, and asked as one: is there any such row? Only if there is, everything is recounted, for the words.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any
from unittest.mock import patch

from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext

from scheduling.ledger import check
from scheduling.ledger.recurring import invariants
from scheduling.ledger.violations import Check


def violations() -> list[str]:
    """As `check.violations`."""
    statement, values, other_checks = _prepared(connection.vendor)
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        (is_any_row_wrong,) = cursor.fetchone()
    if not is_any_row_wrong and not any(list(other()) for other in other_checks):
        return []
    found = check.violations()
    assert found, "A row is wrong by the one statement, and by none of the checks."
    return found


@cache
def _prepared(vendor: str) -> tuple[str, list[Any], list[Check]]:
    """The one statement with its values, and the checks that read for themselves besides, or instead."""
    statements: list[str] = []
    values: list[Any] = []
    other_checks: list[Check] = []
    for one in check.CHECKS:
        wrong, reads_for_itself = _wrong_rows(one)
        if reads_for_itself:
            other_checks.append(one)
            continue
        for rows in wrong:
            sql, params = rows.only("pk").query.sql_with_params()
            statements.append(f"EXISTS ({sql})")
            values += params
    return f"SELECT {' OR '.join(statements)}", values, other_checks


def _wrong_rows(one: Check) -> tuple[list[QuerySet[Any]], bool]:
    """What a check has named row by row, and whether it reads anything but that."""
    wrong: list[QuerySet[Any]] = []

    def keep(rows: QuerySet[Any], say: str) -> Iterator[str]:
        wrong.append(rows)
        return iter(())

    with (
        patch.object(check, "each", keep),
        patch.object(invariants, "each", keep),
        CaptureQueriesContext(connection) as read,
    ):
        list(one())
    return wrong, bool(read.captured_queries)
