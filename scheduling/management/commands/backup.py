"""`manage.py backup PATH`: a copy of the ledger, whole and looked through, while everything runs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db import DatabaseError

from scheduling import clock
from scheduling.ledger import check, storage
from scheduling.management import postgres_dump
from scheduling.management.appearing import Unwritable, appearing
from tenants.management.plain import PlainCommand, Wrong


class Command(PlainCommand):
    help = (
        "Copy the ledger, as it is at one instant, while everything runs. The copy is checked, and only "
        "then put under its name. From SQLite a database, from PostgreSQL a dump for pg_restore."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, help="the file to make")
        parser.add_argument("--overwrite", action="store_true", help="replace a file of that name")
        parser.add_argument(
            "--unchecked",
            action="store_true",
            help="keep a copy that violates the ledger's invariants, as the ledger itself then does",
        )
        parser.add_argument("--json", action="store_true", help="say what was done as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        path, began_at = options["path"].absolute(), clock.monotonic()
        try:
            with appearing(path, overwrite=options["overwrite"]) as partial:
                self.make(partial, path, checked=not options["unchecked"])
        except Unwritable as error:
            raise Wrong(str(error)) from error
        except (OSError, DatabaseError) as error:
            raise Wrong(f"No backup was made: {str(error).strip().rstrip('.')}.") from error
        size, seconds = path.stat().st_size, clock.monotonic() - began_at
        if options["json"]:
            told = {"path": str(path), "bytes": size, "seconds": round(seconds, 3)}
            self.stdout.write(json.dumps(told))
        else:
            self.stdout.write(f"{path}: {size} bytes in {seconds:.1f} s")

    def make(self, partial: Path, path: Path, *, checked: bool) -> None:
        ledger = storage.ledger_file()
        if ledger is None:
            postgres_dump.dump_ledger(partial)
            postgres_dump.require_listing(partial)
        else:
            self.copy(ledger, partial, path, checked=checked)

    def copy(self, ledger: Path, partial: Path, path: Path, *, checked: bool) -> None:
        from scheduling.sqlite import copying

        if path.exists() and path.samefile(ledger):
            raise Wrong(f"{path} is the ledger itself.")
        if copying.has_log(path):
            raise Wrong(f"{path}-wal is there, and would be taken for a part of the backup.")
        copying.remove_side_files(partial)
        try:
            copying.copy_ledger(partial, self.tell_progress)
            self.tell("checking")
            copying.require_whole(partial)
            if checked:
                with copying.reading(partial):
                    require_kept_invariants(self.tell)
        finally:
            self.tell("")
            copying.remove_side_files(partial)

    def tell_progress(self, done: int, total: int) -> None:
        """The write-ahead log cannot be cut back meanwhile, so look whether its disk still has room."""
        ledger = storage.ledger_file()
        if ledger and storage.bytes_free_beside(ledger) < storage.least_free_bytes():
            raise OSError("the ledger's disk is nearly full")
        self.tell(f"{done} of {total} pages ({done * 100 // max(total, 1)} %)")


def require_kept_invariants(tell: Callable[[str], None]) -> None:
    if violations := check.violations(tell):
        raise Wrong(
            f"The ledger violates its invariants ({len(violations)} times), and so does the copy: "
            f"{violations[0]}. No backup was kept. Run checkledger; --unchecked keeps it all the same."
        )
