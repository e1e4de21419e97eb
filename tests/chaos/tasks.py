"""Handlers of the load. Each writes down that it starts, and how it ends, before the ledger gets to know."""

import asyncio
from datetime import timedelta

from scheduling.compat import task
from scheduling.context import Context
from tests.chaos import bills
from tests.chaos.effects import note
from tests.chaos.records import Event

SNOOZE = timedelta(milliseconds=200)


class Planned(Exception):
    """The attempt was to fail."""


def backoff(attempt: int) -> timedelta:
    """Short, so that a run sees many attempts."""
    return timedelta(milliseconds=100) * attempt


@task(name="chaos.work", max_attempts=5, backoff=backoff)
def work(context: Context, seconds: float, fails: int = 0, snoozes: int = 0) -> int:
    """Take that long, fail in the first `fails` attempts, snooze in the first `snoozes` generations."""
    note(context, Event.START)
    if context.wait(timedelta(seconds=seconds)):
        note(context, Event.STOP)
        return 0
    return finish(context, fails, snoozes)


@task(name="chaos.stroll", max_attempts=5, backoff=backoff)
async def stroll(context: Context, seconds: float, fails: int = 0, snoozes: int = 0) -> int:
    """The same, on the event loop, and deaf to being asked to stop."""
    note(context, Event.START)
    await asyncio.sleep(seconds)
    return finish(context, fails, snoozes)


@task(name="chaos.bill", max_attempts=5, backoff=backoff)
def bill(context: Context, seconds: float, fails: int = 0, snoozes: int = 0) -> int:
    """The same, and what it leaves is a row that is committed together with its success."""
    note(context, Event.START)
    if context.wait(timedelta(seconds=seconds)):
        note(context, Event.STOP)
        return 0
    generation = finish(context, fails, snoozes)
    with context.settle(generation):
        bills.write(context)
    return generation


def finish(context: Context, fails: int, snoozes: int) -> int:
    if context.generation <= snoozes:
        note(context, Event.SNOOZE)
        context.snooze(SNOOZE)
    if context.attempt <= fails:
        note(context, Event.FAIL)
        raise Planned(f"attempt {context.attempt} of {fails} that fail")
    note(context, Event.END)
    return context.generation
