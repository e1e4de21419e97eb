"""Processes on the ledger of a test: forked from a server that knows Django and has no connection open."""

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.context import ForkServerContext
from typing import Any, TypeVar

import django
from django.apps import apps

if not apps.ready:  # this module is what the server loads
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()

from django.db import DEFAULT_DB_ALIAS, connection, connections

T = TypeVar("T")
LONGEST = 45.0

_start: Any = None


def processes_at_once(count: int, step: Callable[[], T]) -> list[T]:
    """Do a step (a function of a module) at the same instant in so many processes; their answers."""
    context = _server()
    start = context.Barrier(count)
    name = connection.settings_dict["NAME"]
    with ProcessPoolExecutor(count, context, _enter, (name, start)) as processes:
        answers = [processes.submit(_do, step) for _ in range(count)]
        return [answer.result(LONGEST) for answer in answers]


def _server() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def _enter(name: str, start: Any) -> None:
    global _start
    _start = start
    connections[DEFAULT_DB_ALIAS].settings_dict["NAME"] = name


def _do(step: Callable[[], T]) -> T:
    _start.wait(LONGEST)
    try:
        return step()
    finally:
        connections.close_all()
