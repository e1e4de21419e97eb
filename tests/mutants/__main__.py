"""`python -m tests.mutants [--database=…] [--seconds=…] [--again] [PATH …]`: see the package."""

import argparse
import re
import sys
import time
from collections.abc import Iterable

import pytest

from tests.mutants.comers import digest, tell
from tests.mutants.faults import ROOT, faults_of
from tests.mutants.run import REFUSED_BY_THE_DATABASE, Run, Wish, notes_of, read_notes

TESTS = [
    "tests/ledger",
    "tests/plans",
    "tests/races",
    "tests/api/test_lease_renewing.py",
    "tests/api/test_lease_settling.py",
    "tests/scheduling/test_retry.py",
    "tests/scheduling/test_states.py",
    "tests/scheduling/test_stride.py",
    "tests/workers/test_settling.py",
]
PATHS = ["scheduling/states.py", "scheduling/retry.py", "scheduling/ledger"]
OPTIONS = "-p no:randomly -p no:cacheprovider -q -s --no-header --no-summary --timeout=20"
NOT_FIT = [
    "tests/races/test_busy_database.py",
    "tests/races/test_cap.py",
    "tests/races/test_draining.py",
    "tests/races/test_forking.py",
    "tests/races/test_ticks.py",
]
"""They start processes of their own, which a fork in the midst of tests cannot."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("paths", nargs="*", default=PATHS, help="what faults are put into")
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--tests", nargs="*", default=TESTS, help="that are to notice them")
    parser.add_argument("--seconds", type=float, default=86400, help="begin no fault after so many")
    parser.add_argument("--patience", type=float, default=300, help="seconds of tests to a fault")
    parser.add_argument("--only", default="", help="faults whose names this expression finds")
    parser.add_argument(
        "--share", type=float, default=1, help="of the faults: a sample, the same each time"
    )
    parser.add_argument("--again", action="store_true", help="those that were left once more, too")
    options = parser.parse_args()
    wish = Wish(
        paths=list(modules(options.paths, options.database)),
        database=options.database,
        ends_at=time.monotonic() + options.seconds,
        patience=options.patience,
        only=re.compile(options.only),
        share=options.share,
        again=options.again,
    )
    arguments = [*OPTIONS.split(), f"--database={options.database}", *options.tests]
    arguments += [f"--deselect={path}" for path in NOT_FIT]
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
    """As a table of what was tried so far, and then those that were left."""
    notes = read_notes(notes_of(wish.database))
    tell("| module | faults | tried | noticed | refused by the database | left |")
    tell("|---|---|---|---|---|---|")
    left = []
    for path in wish.paths:
        faults = faults_of(path)
        stamp = digest(ROOT / path)
        mine = [notes[fault.name] for fault in faults if fault.name in notes]
        tried = [note for note in mine if note["stamp"] == stamp]
        refused = [note for note in tried if note["found"] == REFUSED_BY_THE_DATABASE]
        still = [note for note in tried if note["left"]]
        noticed = len(tried) - len(refused) - len(still)
        if tried:
            figures = (len(faults), len(tried), noticed, len(refused), len(still))
            tell(f"| `{path}` | {' | '.join(map(str, figures))} |")
        left += still
    for note in left:
        tell(f"{note['found']}: {note['fault']}")


if __name__ == "__main__":
    sys.exit(main())
