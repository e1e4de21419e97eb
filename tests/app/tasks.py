"""Handlers that work, wait, break and die as tests tell them to."""

import asyncio
import ctypes
import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import NoReturn

from asgiref.sync import sync_to_async
from django.db import IntegrityError, connection, transaction

from scheduling import clock
from scheduling.compat import task
from scheduling.context import Context
from scheduling.ledger.dialects import dialect
from tenants.models import Tenant
from tests.app import endings as endings  # a worker knows what is declared or imported here
from tests.app import settling as settling
from tests.app.effects import append, wait_for_gate


@task()
def noop() -> None:
    """The least a task can do."""


@task()
def effect(word: str) -> None:
    append(word)


@task()
def hold(context: Context, word: str) -> None:
    """Start, wait until the gate of that name is open, finish."""
    append(f"{word} started {context.generation}")
    wait_for_gate(word)
    append(f"{word} finished {context.generation}")


@task()
def hold_until_told(context: Context, word: str) -> None:
    """Start, and end when asked to."""
    append(f"{word} started {context.generation}")
    while not context.cancelled:
        threading.Event().wait(0.01)
    append(f"{word} stopped {context.generation}")


@task()
def hold_and_tell(context: Context, word: str) -> None:
    """Say how far it has come, and wait there until the gate is open."""
    context.progress((1, 4), "pages")
    wait_for_gate(word)


# Endings

WAYS_TO_DIE: dict[str, Callable[[], object]] = {
    "exit 1": lambda: os._exit(1),
    "exit 0": lambda: os._exit(0),
    "abort": os.abort,
    "segfault": lambda: ctypes.string_at(0),
    "kill itself": lambda: os.kill(os.getpid(), signal.SIGKILL),
}


@task()
def die(context: Context, way: str, after: str = "") -> None:
    """End the whole process, once the gate is open if there is one."""
    append(f"{way} started {context.generation}")
    if after:
        wait_for_gate(after)
    WAYS_TO_DIE[way]()


@task()
async def die_on_the_loop(context: Context, way: str) -> None:
    append(f"{way} started {context.generation}")
    WAYS_TO_DIE[way]()


@task()
def fail() -> NoReturn:
    raise ValueError("no luck")


@task(backoff=lambda attempt: timedelta(minutes=30))
def fail_at_first(context: Context, word: str) -> None:
    """Succeed the second time, which is half an hour later."""
    append(f"{word} started {context.generation}")
    if context.attempt == 1:
        raise ValueError("no luck yet")


# Overtime


@task()
def loop_for_ever() -> NoReturn:
    while True:
        pass


@task()
def catch_everything() -> NoReturn:
    while True:
        with suppress(BaseException):
            threading.Event().wait(0.01)


@task()
def read_a_silent_socket() -> None:
    ours, _theirs = socket.socketpair()
    ours.recv(1)


@task()
def wait_for_a_lock() -> None:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


@task()
async def sleep_for_ever() -> None:
    await asyncio.Event().wait()


@task()
def hold_the_interpreter(seconds: float) -> None:
    """In C, with the interpreter's lock: no other thread of the process runs meanwhile."""
    ctypes.PyDLL(None).usleep(int(seconds * 1_000_000))


@task()
def compute(seconds: float) -> None:
    until = clock.monotonic() + seconds
    while clock.monotonic() < until:
        pass


# What is left behind in the database


@task()
def hold_the_turn(word: str) -> None:
    """Keep every claim waiting, in a transaction that does not end by itself."""
    with transaction.atomic():
        dialect().take_turn(None)
        append(f"{word} has the turn")
        wait_for_gate(word)


@task()
def leave_transaction_open() -> None:
    transaction.atomic().__enter__()
    Tenant.objects.create(slug="left-behind")


@task()
def leave_raw_transaction_open() -> None:
    connection.ensure_connection()
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
    Tenant.objects.create(slug="left-behind")


@task()
def leave_hidden_transaction_open() -> None:
    connection.ensure_connection()
    connection.connection.execute(BEGINS_TO_WRITE[connection.vendor])
    Tenant.objects.create(slug="left-behind")


@task()
async def leave_transaction_open_elsewhere() -> None:
    """In the thread that coroutines take the ORM to."""
    await sync_to_async(leave_transaction_open.func)()


@task()
def swallow_an_integrity_error() -> None:
    """Inside a transaction, which is broken from then on, and leave it so."""
    transaction.atomic().__enter__()
    Tenant.objects.create(slug="left-behind")
    with suppress(IntegrityError):
        Tenant.objects.create(slug="left-behind")


@task()
def change_session() -> None:
    with connection.cursor() as cursor:
        cursor.execute(SESSION_CHANGES[connection.vendor])


@task()
def break_connection() -> None:
    connection.ensure_connection()
    connection.connection.close()


@task()
def query_in_a_thread() -> None:
    thread = threading.Thread(target=Tenant.objects.count)
    thread.start()
    thread.join()


@task()
def count_tenants(word: str) -> None:
    append(f"{word}: {Tenant.objects.count()} tenants, {session()}")


BEGINS_TO_WRITE = {"sqlite": "BEGIN IMMEDIATE", "postgresql": "BEGIN"}
SESSION_CHANGES = {
    "sqlite": "PRAGMA foreign_keys = OFF",
    "postgresql": "SET statement_timeout = 12345",
}
SESSION_LOOKS = {"sqlite": "PRAGMA foreign_keys", "postgresql": "SHOW statement_timeout"}


def session() -> str:
    with connection.cursor() as cursor:
        cursor.execute(SESSION_LOOKS[connection.vendor])
        return f"session {cursor.fetchone()[0]}"
