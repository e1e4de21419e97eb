"""huey on SQLite, with fsync on."""

import time
from typing import NoReturn

from huey import SqliteHuey

from benchmarks import props
from benchmarks.peers import sending
from benchmarks.peers.command import become

huey = SqliteHuey(filename=str(props.folder() / "huey.db"), fsync=True)


@huey.task()  # type: ignore[untyped-decorator]
def noop(number: int, sent_at: float) -> None:
    props.note_start(number, sent_at)


class Sender(sending.Sender):
    def enqueue(self, number: int) -> None:
        noop(number, time.monotonic())


def work(setting: str) -> NoReturn:
    count, kind = setting.split()
    become(
        *("-m", "huey.bin.huey_consumer", "benchmarks.peers.huey.huey"),
        *("-w", count, "-k", {"processes": "process", "threads": "thread"}[kind]),
        *("-d", "0.01", "-m", "0.05"),  # it polls: the shortest waits that it still idles with
    )
