"""oban-py on PostgreSQL."""

import asyncio
import signal
import time
from collections.abc import Sequence

from oban import Oban, job
from oban.schema import install
from psycopg_pool import AsyncConnectionPool

from benchmarks import props
from benchmarks.peers import sending


@job(queue="default")  # type: ignore[untyped-decorator]
async def noop(number: int, sent_at: float) -> None:
    props.note_start(number, sent_at)


def _pool() -> AsyncConnectionPool:
    return AsyncConnectionPool(props.address(), min_size=2, max_size=10, open=False)


class Sender(sending.AsyncSender):
    async def open(self) -> None:
        self._pool = _pool()
        await self._pool.open()
        self._oban = Oban(pool=self._pool, name="Oban")

    async def close(self) -> None:
        await self._pool.close()

    async def aprepare(self) -> None:
        await install(self._pool)

    async def aenqueue(self, number: int) -> None:
        await self._oban.enqueue(noop.new(number=number, sent_at=time.monotonic()))

    async def aenqueue_many(self, numbers: Sequence[int]) -> None:
        now = time.monotonic()
        await self._oban.enqueue_many(*[noop.new(number=number, sent_at=now) for number in numbers])


def work(setting: str) -> None:
    asyncio.run(_work(int(setting.split()[0])))


async def _work(slots: int) -> None:
    asked_to_stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asked_to_stop.set)
    async with _pool() as pool:
        oban = Oban(pool=pool, name="Oban", queues={"default": slots})
        await oban.start()
        await asked_to_stop.wait()
        await oban.stop()
