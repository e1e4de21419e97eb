"""Owns which tenant the code at hand acts for: a request, a command, a handler."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tenants.models import Tenant

_current: ContextVar[Tenant | None] = ContextVar("current_tenant", default=None)


def current() -> Tenant | None:
    """The tenant acted for, or None outside of any `acting_for`."""
    return _current.get()


@contextmanager
def acting_for(tenant: Tenant | None) -> Iterator[None]:
    """What is enqueued inside belongs to that tenant. None acts for nobody, also inside another tenant's block.

    Holds for this thread or asyncio task, and for the asyncio tasks it starts meanwhile.
    """
    before = _current.set(tenant)
    try:
        yield
    finally:
        _current.reset(before)
