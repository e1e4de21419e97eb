"""Owns a run: one fault after the other, each held against the tests that come by its line. A plugin of pytest."""

import json
import os
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from django.db import OperationalError, ProgrammingError, connections

from tests import emptying
from tests.mutants import forks
from tests.mutants.comers import NOTES, Comers, digest, tell
from tests.mutants.faults import ROOT, Fault, Imported, faults_of

SURVIVED, NO_TEST, TOOK_TOO_LONG = "survived", "no test", "took too long"
CANNOT_BE_IMPORTED = "cannot be imported"
REFUSED_BY_THE_DATABASE = "refused by the database"
"""Whatever comes by it notices such a fault, so it tells nothing about the tests."""
REFUSALS = (ProgrammingError, OperationalError)
CONTROLS = 40
"""So many tests have to pass in a fork with no fault, before it is worth looking at one with a fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a run is to do."""

    paths: Sequence[str]
    database: str
    ends_at: float
    """By the monotonic clock: no fault is begun later."""
    patience: float
    """Seconds of tests to a fault."""
    only: re.Pattern[str]
    share: float
    """Of the faults: 1 for all of them."""
    again: bool
    """Those that were left, too, although they had as many seconds."""

    def is_time_left(self) -> bool:
        return time.monotonic() < self.ends_at


class Run:
    """In place of pytest's own loop over the tests."""

    def __init__(self, wish: Wish) -> None:
        self.wish = wish
        self.notes = notes_of(wish.database)
        self.noticed: dict[str, Counter[str]] = defaultdict(Counter)
        """By line and by module: how many of its faults each test has noticed."""

        self.is_refused = False

    def pytest_exception_interact(self, call: pytest.CallInfo[None]) -> None:
        """In the fork, which ends with the first."""
        self.is_refused = call.excinfo is not None and call.excinfo.errisinstance(REFUSALS)

    def pytest_configure(self) -> None:
        from hypothesis import settings  # later than pytest, which has to be the first to see it

        settings.register_profile("mutants", database=None, derandomize=True)
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        from pytest_django.plugin import blocking_manager_key

        self.blocker = session.config.stash[blocking_manager_key]
        self.comers = Comers(self.wish.database, {item.nodeid: item for item in session.items})
        first = next(item for item in session.items if "db" in getattr(item, "fixturenames", ()))
        forks.fails(first, session.items[-1])  # it makes the database
        connections.close_all()  # what is open in two processes is of no use in either
        self.comers.get_to_know(self.wish.is_time_left)
        if self.wish.is_time_left():
            self.try_faults()
        return True

    def try_faults(self) -> None:
        imported = Imported()
        if (found := self.look(lambda: None, self.comers.some(CONTROLS))) != SURVIVED:
            raise pytest.UsageError(f"A test fails in a fork although there is no fault: {found}")
        before = read_notes(self.notes)
        for note in before.values():
            self.count(note)
        for path in self.wish.paths:
            stamp = digest(ROOT / path)
            for fault in faults_of(path):
                if not self.is_wanted(fault, before.get(fault.name), stamp):
                    continue
                if not self.wish.is_time_left():
                    tell("The time is up.")
                    return
                self.try_one(fault, stamp, imported)

    def is_wanted(self, fault: Fault, note: dict[str, Any] | None, stamp: str) -> bool:
        if not self.wish.only.search(fault.name):
            return False
        if crc32(fault.name.encode()) % 1000 >= 1000 * self.wish.share:
            return False
        if note is None or note["stamp"] != stamp:
            return True
        return note["left"] and (self.wish.again or note["patience"] < self.wish.patience)

    def try_one(self, fault: Fault, stamp: str, imported: Imported) -> None:
        items = self.comers.of(
            fault.seen_by,
            fault.name,
            [self.noticed[fault.place], self.noticed[fault.path]],
            self.wish.patience,
        )
        began_at = time.monotonic()
        found = self.look(lambda: imported.put_in(fault), items) if items else NO_TEST
        note = {
            "fault": fault.name,
            "path": fault.path,
            "place": fault.place,
            "found": found,
            "left": found in (SURVIVED, NO_TEST),
            "tests": len(items),
            "patience": self.wish.patience,
            "seconds": round(time.monotonic() - began_at, 2),
            "stamp": stamp,
        }
        with self.notes.open("a") as file:
            file.write(json.dumps(note) + "\n")
        self.count(note)
        if note["left"]:
            tell(f"{found} ({len(items)} tests, {note['seconds']} s): {fault.name}")

    def count(self, note: dict[str, Any]) -> None:
        for place in (note["place"], note["path"]):
            self.noticed[place][note["found"]] += 1

    def look(self, prepare: Callable[[], None], items: Sequence[pytest.Item]) -> str:
        """The test that fails in a process of its own, SURVIVED, or TOOK_TOO_LONG."""
        said = NOTES / f"said-{os.getpid()}"

        def work() -> int:
            with self.blocker.unblock():
                emptying.empty_now()  # the last fork may have been ended in the midst of a test
            try:
                prepare()
            except Exception:  # noqa: BLE001  # whatever a module raises that has a fault
                said.write_text(CANNOT_BE_IMPORTED)
                return forks.FAILED
            failed = forks.first_failure(items)
            if failed:
                said.write_text(REFUSED_BY_THE_DATABASE if self.is_refused else failed.nodeid)
            return forks.FAILED if failed else forks.PASSED

        limit = 60 + 4 * sum(self.comers.seconds(item.nodeid) for item in items)
        match forks.in_fork(work, seconds=limit):
            case forks.PASSED:
                return SURVIVED
            case forks.FAILED:
                return said.read_text()
            case forks.TOO_LONG:
                return TOOK_TOO_LONG
            case status:
                raise pytest.UsageError(f"A fork ended with {status}; MUTANTS_LOUD=1 tells why.")


def notes_of(database: str) -> Path:
    NOTES.mkdir(exist_ok=True)
    return NOTES / f"faults-{database}.jsonl"


def read_notes(file: Path) -> dict[str, dict[str, Any]]:
    """The latest of each fault."""
    notes = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return {note["fault"]: note for note in notes}
