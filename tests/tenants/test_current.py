"""For whom the code at hand acts."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from tenants.current import acting_for, current
from tenants.models import Tenant

A, B = Tenant(slug="tenant-a"), Tenant(slug="tenant-b")


def test_nobody_is_acted_for_outside() -> None:
    assert current() is None


def test_the_innermost_block_counts_and_the_outer_one_comes_back() -> None:
    with acting_for(A):
        with acting_for(B):
            assert current() is B
        assert current() is A
        with acting_for(None):
            assert current() is None
    assert current() is None


def test_an_error_ends_the_block() -> None:
    with pytest.raises(ZeroDivisionError), acting_for(A):
        raise ZeroDivisionError
    assert current() is None


def test_another_thread_acts_for_nobody() -> None:
    with acting_for(A), ThreadPoolExecutor(1) as pool:
        assert pool.submit(current).result() is None


def test_a_task_of_the_event_loop_keeps_its_own() -> None:
    async def act(tenant: Tenant, others: asyncio.Barrier) -> Tenant | None:
        with acting_for(tenant):
            await others.wait()
            return current()

    async def both() -> tuple[Tenant | None, Tenant | None]:
        barrier = asyncio.Barrier(2)
        of_a, of_b = await asyncio.gather(act(A, barrier), act(B, barrier))
        return of_a, of_b

    assert asyncio.run(both()) == (A, B)
