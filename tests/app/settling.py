"""Handlers that settle for themselves, together with a row of their own: a tenant, named for the attempt."""

import os
import signal

from scheduling.compat import task
from scheduling.context import Context
from tenants.models import Tenant
from tests.app.effects import append, wait_for_gate


def write(word: str, context: Context) -> Tenant:
    return Tenant.objects.create(slug=f"{word}-{context.generation}")


@task()
def settle_after_the_gate(context: Context, word: str) -> None:
    """Wait until the gate is open, then commit row and success together."""
    append(f"{word} started {context.generation}")
    wait_for_gate(word)
    try:
        with context.settle(word):
            write(word, context)
    finally:
        append(f"{word} ended {context.generation}")


@task()
def settle_and_linger(context: Context, word: str) -> None:
    """Commit row and success, and then be at something else for as long as the gate is closed."""
    with context.settle(word):
        write(word, context)
    append(f"{word} settled {context.generation}")
    wait_for_gate(word)
    append(f"{word} ended {context.generation}, lost: {context.lease_lost}")


@task()
def die_in_the_block(context: Context, word: str) -> None:
    """The first time, with the row written and nothing committed."""
    with context.settle(word):
        write(word, context)
        if context.generation == 1:
            os.kill(os.getpid(), signal.SIGKILL)
