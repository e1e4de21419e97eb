"""Handlers that end in every way Python knows, and with more to say than anybody keeps."""

import asyncio
import sys
from collections.abc import Callable
from typing import NoReturn

from scheduling.compat import task

WILD = "NUL \0, half a pair \ud83d"
MEGABYTES = 50_000_000


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise SystemExit("nothing to say")


def raising(error: BaseException) -> Callable[[], NoReturn]:
    def end() -> NoReturn:
        raise error

    return end


def descend() -> None:
    descend()


ENDINGS: dict[str, Callable[[], object]] = {
    "builtins.SystemExit": lambda: sys.exit(0),
    "builtins.SystemExit with text": lambda: sys.exit("text"),
    "builtins.KeyboardInterrupt": raising(KeyboardInterrupt()),
    "builtins.GeneratorExit": raising(GeneratorExit()),
    "builtins.MemoryError": raising(MemoryError()),
    "builtins.RecursionError": descend,
    "builtins.ExceptionGroup": raising(ExceptionGroup("many", [ValueError(), KeyError()])),
    "asyncio.exceptions.CancelledError": raising(asyncio.CancelledError()),
    "tests.app.endings.Unspeakable": raising(Unspeakable()),
}
"""By the class of the error that they end with."""


@task()
def end_with(ending: str) -> None:
    ENDINGS[ending]()


@task()
async def end_with_on_the_loop(ending: str) -> None:
    ENDINGS[ending]()


@task()
def fail_wildly() -> NoReturn:
    raise ValueError(WILD)


@task()
def fail_at_length() -> NoReturn:
    raise ValueError("x" * MEGABYTES)


@task()
def return_text(length: int) -> str:
    return "x" * length
