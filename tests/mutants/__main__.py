"""`python -m tests.mutants [--database=…] [--seconds=…] [--again] [PATH …]`: see the package."""

import argparse
import re
import sys
import time
from collections.abc import Iterable

import pytest

from tests.mutants.comers import tell
from tests.mutants.faults import ROOT
from tests.mutants.run import Run, Wish, notes_of, read_notes

TESTS = [
    "tests/ledger",
    "tests/plans",
    "tests/scheduling/test_retry.py",
    "tests/scheduling/test_states.py",
    "tests/scheduling/test_stride.py",
]
PATHS = ["scheduling/states.py", "scheduling/retry.py", "scheduling/ledger"]
OPTIONS = "-p no:randomly -p no:cacheprovider -q -s --no-header --no-summary --timeout=20"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("paths", nargs="*", default=PATHS, help="what faults are put into")
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--tests", nargs="*", default=TESTS, help="that are to notice them")
    parser.add_argument("--seconds", type=float, default=86400, help="begin no fault after so many")
    parser.add_argument("--patience", type=float, default=300, help="seconds of tests to a fault")
    parser.add_argument("--only", default="", help="faults whose names this expression finds")
    parser.add_argument("--again", action="store_true", help="try those that were left once more")
    options = parser.parse_args()
    wish = Wish(
        paths=list(modules(options.paths, options.database)),
        database=options.database,
        ends_at=time.monotonic() + options.seconds,
        patience=options.patience,
        only=re.compile(options.only),
        again=options.again,
    )
    arguments = [*OPTIONS.split(), f"--database={options.database}", *options.tests]
    status = pytest.main(arguments, plugins=[Run(wish)])
    report(wish)
    return int(status)


def modules(paths: Iterable[str], database: str) -> Iterable[str]:
    other = "postgres" if database == "sqlite" else "sqlite"
    for path in paths:
        whole = ROOT / path
        for file in sorted(whole.rglob("*.py")) if whole.is_dir() else [whole]:
            if f"dialects/{other}" not in str(file):
                yield str(file.relative_to(ROOT))


def report(wish: Wish) -> None:
    notes = read_notes(notes_of(wish.database))
    mine = [note for note in notes.values() if note["path"] in wish.paths]
    left = [note for note in mine if note["left"]]
    tell(f"{len(mine)} faults tried, {len(mine) - len(left)} noticed, {len(left)} left:")
    for note in left:
        tell(f"  {note['found']}: {note['fault']}")


if __name__ == "__main__":
    sys.exit(main())
