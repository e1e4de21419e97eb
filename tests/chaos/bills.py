"""Rows of somebody's business beside the ledger's own: each is committed together with a settlement, or not at all."""

from django.db import connection

from tests.chaos.effects import Told
from tests.chaos.records import Token

TABLE = "CREATE TABLE chaos_bill (task text NOT NULL, generation integer NOT NULL)"
"""Without a key: a row too many is for the checker to find, not for the database to refuse."""


def install() -> None:
    with connection.cursor() as cursor:
        cursor.execute(TABLE)


def write(told: Told) -> None:
    """In the transaction of the settlement."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO chaos_bill (task, generation) VALUES (%s, %s)",
            [str(told.task_id), told.generation],
        )


def read() -> list[Token]:
    """All there are."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT task, generation FROM chaos_bill")
        return [Token(*row) for row in cursor.fetchall()]
