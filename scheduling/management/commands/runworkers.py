"""`manage.py runworkers`: claim tasks and run them, until told to stop."""

import json
import logging
import os
from argparse import ArgumentTypeError
from collections.abc import Callable
from datetime import timedelta
from threading import Event
from typing import Any

from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandParser
from django.core.serializers.json import DjangoJSONEncoder
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections

from scheduling import checks, clock, recurring, tables
from scheduling.conf import conf
from scheduling.workers import events
from scheduling.workers.options import Options
from scheduling.workers.outage import Outage
from scheduling.workers.supervisor import Supervisor
from tenants.management.plain import Wrong

STANDARD = Options()

logger = logging.getLogger(__name__)


class Command(BaseCommand):
    help = (
        "Run tasks. SIGTERM or Ctrl-C: claim nothing more, finish what runs within the grace period, hand "
        "the rest back uncharged. A second time: now."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--processes",
            type=count,
            default=os.cpu_count() or 1,
            help="worker processes; default: one for each core",
        )
        parser.add_argument(
            "--threads",
            type=count,
            default=STANDARD.threads,
            help="slots in each process: handlers that run at once; default: %(default)s",
        )
        parser.add_argument(
            "--queues",
            type=names,
            default=STANDARD.queues,
            metavar="A,B",
            help="claim from these queues only; default: from every queue but those in REMOTE_QUEUES",
        )
        parser.add_argument(
            "--lease-seconds",
            type=seconds,
            default=STANDARD.lease,
            metavar="S",
            help="how long a claim lasts unless renewed, which happens every third of it; default: 30",
        )
        parser.add_argument(
            "--grace-seconds",
            type=seconds,
            default=STANDARD.grace,
            metavar="S",
            help="how long handlers may go on after a stop was asked for; default: 30",
        )
        parser.add_argument(
            "--json",
            action="store_true",
            help="tell programs what befalls the workers: on stdout, a JSON object to a line",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        require_local(options["queues"])
        self.check(tags=[Tags.database, checks.LEDGER], databases=[DEFAULT_DB_ALIAS])
        require_tables()
        until_the_ledger_answers(recurring.sync)
        require_own_sessions()
        connections.close_all()  # whatever was asked so far, the supervisor forks
        Supervisor(
            Options(
                processes=options["processes"],
                threads=options["threads"],
                queues=options["queues"],
                lease=options["lease_seconds"],
                grace=options["grace_seconds"],
            ),
            JsonLines(self.stdout) if options["json"] else events.nobody,
        ).run()


class JsonLines:
    """Tells each event as soon as it happens, and stops when nobody reads any more: the workers go on."""

    def __init__(self, out: Any) -> None:
        self._out = out

    def __call__(self, event: events.Event, told: dict[str, Any]) -> None:
        line = {"event": event, "at": clock.now(), **told}
        try:
            self._out.write(json.dumps(line, cls=DjangoJSONEncoder))
            self._out.flush()  # a fork would take along what is still to be written
        except OSError as error:
            logger.error("Nobody reads any more what is told as JSON: %s", error)
            self._tell_nobody()

    def _tell_nobody(self) -> None:
        """Also what is left in the buffer, over which Python would stumble at its exit."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._out.fileno())
        os.close(nowhere)


def require_local(queues: frozenset[str] | None) -> None:
    remote = sorted((queues or frozenset()).intersection(conf().REMOTE_QUEUES))
    if remote:
        raise Wrong(
            f"{', '.join(remote)}: remote workers claim from there, as REMOTE_QUEUES says, and nobody else."
        )


def require_tables() -> None:
    """Wait for a ledger that does not answer yet; refuse one whose tables are not this code's."""
    try:
        until_the_ledger_answers(tables.require_fit)
    except tables.TablesDiffer as error:
        raise Wrong(str(error)) from error


def until_the_ledger_answers(step: Callable[[], None]) -> None:
    """Do a step that may be done again."""
    outage = Outage()
    while True:
        try:
            step()
        except OperationalError as error:
            outage.go_on(error)
            Event().wait(max(outage.try_again_at - clock.monotonic(), 0.0))
        else:
            break
    if outage.is_on():
        outage.end()


def count(text: str) -> int:
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise ArgumentTypeError(f"{text!r} is not a whole number above 0")


def seconds(text: str) -> timedelta:
    try:
        length = timedelta(seconds=float(text))
    except (ValueError, OverflowError):
        length = timedelta()
    if length > timedelta():
        return length
    raise ArgumentTypeError(f"{text!r} is not a number of seconds above 0")


def names(text: str) -> frozenset[str]:
    queues = frozenset(name.strip() for name in text.split(",") if name.strip())
    if queues:
        return queues
    raise ArgumentTypeError("names no queue; leave it out for every queue")


def require_own_sessions() -> None:
    """Once more than the other checks: a ledger that did not answer then could not be asked."""
    for problem in checks.sessions_are_our_own([DEFAULT_DB_ALIAS]):
        raise Wrong(f"{problem.msg} {problem.hint}")
