"""pgqueuer on PostgreSQL, by asyncpg, its fastest driver."""

import asyncio
import json
import signal
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import asyncpg
from pgqueuer import AsyncpgPoolDriver, PgQueuer, Queries

from benchmarks import props
from benchmarks.peers import sending


async def _pool() -> Any:
    return await asyncpg.create_pool(props.address(), min_size=2, max_size=10)


def _payload(number: int) -> bytes:
    return json.dumps([number, time.monotonic()]).encode()


class Sender(sending.AsyncSender):
    async def open(self) -> None:
        self._pool = await _pool()
        self._queries = Queries(AsyncpgPoolDriver(self._pool))

    async def close(self) -> None:
        await self._pool.close()

    async def aprepare(self) -> None:
        await self._queries.install()

    async def aenqueue(self, number: int) -> None:
        await self._queries.enqueue("noop", _payload(number), 0)

    async def aenqueue_many(self, numbers: Sequence[int]) -> None:
        count = len(numbers)
        await self._queries.enqueue(["noop"] * count, [_payload(n) for n in numbers], [0] * count)


def work(setting: str) -> None:
    asyncio.run(_work(int(setting.split()[1])))


async def _work(batch: int) -> None:
    pool = await _pool()
    pgq = PgQueuer(AsyncpgPoolDriver(pool))

    @pgq.entrypoint("noop")  # type: ignore[untyped-decorator]
    async def noop(job: Any) -> None:
        props.note_start(*json.loads(job.payload))

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, pgq.shutdown.set)
    await pgq.run(batch_size=batch, dequeue_timeout=timedelta(seconds=1))
    await pool.close()
