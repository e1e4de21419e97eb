"""`python -m tests.moving.killer WORDS…`: says `moveledger` with these in children that kill themselves on the way.

For each number that it reads, a line each, it starts one that goes so many statements far, and says how it ended.
"""

import os
import signal
import sys
from typing import Any

import django
import psycopg
from django.apps import apps

if not apps.ready:  # it is a program of its own
    django.setup()

from scheduling.ledger.moving import move
from scheduling.ledger.moving.source import Source
from scheduling.sqlite import base
from tests.commands.kit import manage

STATEMENTS: list[tuple[Any, str]] = [
    (Source, "_run"),
    (base.Cursor, "execute"),
    (psycopg.Cursor, "execute"),
    (psycopg.ServerCursor, "execute"),
    (psycopg.Transaction, "__exit__"),
    (psycopg.Copy, "write_row"),
    (psycopg.Copy, "__exit__"),
]


def die_before_statement(number: int) -> None:
    """Of all that this process sends to either side, commits included."""
    left = number

    def counting(send: Any) -> Any:
        def counted(*args: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return send(*args, **options)

        return counted

    for where, verb in STATEMENTS:
        setattr(where, verb, counting(getattr(where, verb)))


def main(words: list[str]) -> None:
    move.CHUNK_ROWS = 4
    for line in sys.stdin:
        child = os.fork()
        if not child:
            die_before_statement(int(line))
            said = manage("moveledger", *words)
            sys.stderr.write(said.err)
            os._exit(said.code)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
