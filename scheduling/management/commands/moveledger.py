"""`manage.py moveledger --to postgres://…`: everything that is in an SQLite ledger, over to PostgreSQL."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from threading import Event
from typing import Any

from django.core.management.base import CommandParser
from django.db import Error

from scheduling import clock
from scheduling.ledger import LEASE
from scheduling.ledger.moving.both import Both, verify
from scheduling.ledger.moving.compare import Compared
from scheduling.ledger.moving.errors import CannotMove, Differs, InFlight
from scheduling.ledger.moving.move import has_moved, move
from scheduling.ledger.moving.source import Source, require_at_rest
from scheduling.ledger.moving.target import Target
from scheduling.ledger.moving.undo import undo
from scheduling.management.progress import Progress
from scheduling.workers.reaper import Reaper
from tenants.management.plain import TellingCommand, Wrong

GO_ON = "If anything was copied, the same command goes on where it stopped, and --undo goes back."
LOOK_EVERY = 0.5
"""Seconds between two looks at what is in flight."""


class Command(TellingCommand):
    help = (
        "Move the ledger from SQLite, while all of it is paused, to an empty PostgreSQL database with the same "
        "migrations. This ledger is sealed before, so that nothing is accepted that would be lost, and both sides "
        "are compared row by row after it. Killed at any time, the same command goes on."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--to", required=True, metavar="URL", help="where: postgres://user:password@host/name"
        )
        parser.add_argument(
            "--wait", action="store_true", help="wait until what is in flight has ended"
        )
        parser.add_argument(
            "--unchecked",
            action="store_true",
            help="move a ledger that violates its invariants, as it is",
        )
        instead = parser.add_mutually_exclusive_group()
        instead.add_argument(
            "--verify", action="store_true", help="move nothing; compare and recount both sides"
        )
        instead.add_argument(
            "--undo",
            action="store_true",
            help="let this ledger work again and empty the target, if nothing happened there since",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self.began_at = clock.monotonic()
        self.talks = options["verbosity"] > 0 and not options["json"]
        progress = Progress(self.tell, self.write if self.talks else None)
        with ExitStack() as until_the_end:
            try:
                source = until_the_end.enter_context(Source())
                target = until_the_end.enter_context(Target(options["to"]))
                self.act(Both(source, target, progress), options)
            except (CannotMove, Error) as error:
                raise Wrong(str(error).strip()) from error
            except Differs as error:
                self.tell("")
                self.stderr.write(str(error))
                sys.exit(1)
            except KeyboardInterrupt:
                raise Wrong(f"Stopped. {GO_ON}") from None
            finally:
                self.tell("")

    def act(self, both: Both, options: Mapping[str, Any]) -> None:
        if options["undo"]:
            undo(both)
            self.say("Undone. This ledger works again, and the target is empty.", options, "undone")
        elif options["verify"]:
            self.report("The same on both sides", verify(both), options)
        elif has_moved(both):
            before = f"This ledger has moved to {both.target.place} before. Nothing was done."
            self.say(before, options, "moved_before")
        else:
            if options["wait"] and both.source.sealing() is None:
                self.wait_until_at_rest()
            self.report("Moved", move(both, checked=not options["unchecked"]), options)

    def wait_until_at_rest(self) -> None:
        """Also ends the leases of workers that are gone: there may be nobody else who does."""
        reaper = Reaper(LEASE)
        while True:
            try:
                require_at_rest()
            except InFlight as left:
                self.tell(f"waiting until {left.count} in flight have ended")
            else:
                return
            if clock.monotonic() >= reaper.due_at:
                reaper.run()
            Event().wait(LOOK_EVERY)

    def report(self, what: str, same: Sequence[Compared], options: Mapping[str, Any]) -> None:
        self.tell("")
        rows, seconds = sum(one.source_rows for one in same), clock.monotonic() - self.began_at
        if options["json"]:
            tables = {one.table: {"rows": one.source_rows, "digest": one.digest} for one in same}
            self.tell_as_json({"rows": rows, "seconds": round(seconds, 3), "tables": tables})
        else:
            self.stdout.write(f"{what}: {rows} rows of {len(same)} tables, in {seconds:.1f} s.")

    def write(self, line: str) -> None:
        """Below what the terminal showed, not behind it."""
        self.tell("")
        self.stdout.write(line)

    def say(self, sentence: str, options: Mapping[str, Any], member: str) -> None:
        if options["json"]:
            self.tell_as_json({member: True})
        else:
            self.stdout.write(sentence)
