"""Celery on Redis. Late acknowledgements: the nearest it comes to not losing a task with its worker."""

import time
from typing import NoReturn

from celery import Celery

from benchmarks import props
from benchmarks.peers import sending
from benchmarks.peers.command import become

app = Celery("benchmarks", broker=props.address())
app.conf.task_ignore_result = True
app.conf.task_acks_late = True


@app.task  # type: ignore[untyped-decorator]
def noop(number: int, sent_at: float) -> None:
    props.note_start(number, sent_at)


class Sender(sending.Sender):
    def enqueue(self, number: int) -> None:
        noop.delay(number, time.monotonic())


def work(setting: str) -> NoReturn:
    count, kind = setting.split()
    become(
        *("-m", "celery", "-A", "benchmarks.peers.celery", "worker", "-l", "ERROR"),
        *("-c", count, "-P", {"processes": "prefork", "threads": "threads"}[kind]),
        *("--without-gossip", "--without-mingle", "--without-heartbeat"),  # there is one worker
    )
