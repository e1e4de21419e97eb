"""The command line of the workers."""

import os
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.core.management.base import OutputWrapper
from pytest_django import Settings

from scheduling.management.commands import runworkers
from scheduling.workers.events import Event, Tell
from scheduling.workers.options import Options

pytestmark = pytest.mark.django_db(transaction=True)


class Recorder:
    """In the supervisor's place: keeps what it was to run with."""

    given: list[Options] = []

    def __init__(self, options: Options, tell: Tell) -> None:
        self.given.append(options)

    def run(self) -> None:
        """Nothing: the command returns at once."""


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[Options]:
    recorded: list[Options] = []
    monkeypatch.setattr(Recorder, "given", recorded)
    monkeypatch.setattr(runworkers, "Supervisor", Recorder)
    return recorded


def test_without_arguments_every_core_works_on_every_queue(given: list[Options]) -> None:
    call_command("runworkers")

    half_a_minute = timedelta(seconds=30)
    assert given == [
        Options(
            processes=os.cpu_count() or 1,
            threads=8,
            queues=None,
            lease=half_a_minute,
            grace=half_a_minute,
        )
    ]


def test_a_remote_queue_is_refused(given: list[Options], settings: Settings) -> None:
    settings.RENTROLL = settings.RENTROLL | {"REMOTE_QUEUES": ["films"]}
    with pytest.raises(CommandError, match="films: remote workers claim from there"):
        call_command("runworkers", "--queues=mail,films")
    assert given == []


def test_arguments_are_understood(given: list[Options]) -> None:
    call_command(
        "runworkers",
        *("--processes=3", "--threads=2", "--queues=mail, reports"),
        *("--lease-seconds=0.5", "--grace-seconds=90"),
    )

    assert given == [
        Options(
            processes=3,
            threads=2,
            queues=frozenset({"mail", "reports"}),
            lease=timedelta(seconds=0.5),
            grace=timedelta(seconds=90),
        )
    ]


@pytest.mark.parametrize(
    "argument",
    [
        "--processes=0",
        "--threads=-1",
        "--threads=many",
        "--queues= , ",
        "--lease-seconds=0",
        "--lease-seconds=nan",
        "--grace-seconds=inf",
    ],
)
def test_nonsense_is_refused_with_the_argument_named(argument: str, given: list[Options]) -> None:
    with pytest.raises(CommandError, match=argument.partition("=")[0]):
        call_command("runworkers", argument)
    assert given == []


def test_workers_outlive_the_program_that_reads_of_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as out:
        tell = runworkers.JsonLines(OutputWrapper(out))
        for _ in range(2):
            tell(Event.RUNNING, {"done": 1})
    assert caplog.text.count("Nobody reads any more") == 1
