"""django-tasks-db, on SQLite or PostgreSQL."""

import time
from typing import NoReturn

from django.core.management import call_command
from django.tasks import task

from benchmarks import props
from benchmarks.peers import sending
from benchmarks.peers.command import become


@task()
def noop(number: int, sent_at: float) -> None:
    props.note_start(number, sent_at)


class Sender(sending.Sender):
    def prepare(self) -> None:
        call_command("migrate", verbosity=0)

    def enqueue(self, number: int) -> None:
        noop.enqueue(number, time.monotonic())


def work(setting: str) -> NoReturn:
    become("-m", "django", "db_worker", "--interval", "0.05", "--no-startup-delay")
