"""Owns which tests come by which lines, and how long they take: looked at once, and kept until they or the code change."""

import json
import os
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import accumulate, zip_longest
from pathlib import Path
from typing import Any

import coverage
import pytest

from tests.mutants.faults import ROOT
from tests.mutants.forks import PASSED, fails, in_fork

NOTES = ROOT / ".mutants"
SLOW_SECONDS = 2.0
"""Tests that take longer come after all others."""
LONGEST = 3600.0

Line = tuple[str, int]


class Comers:
    """The tests of this run."""

    def __init__(self, database: str, items: Mapping[str, pytest.Item]) -> None:
        self._file = NOTES / f"tests-{database}.json"
        self._items = items
        self._tests: dict[str, dict[str, Any]] = _read(self._file)
        self._by_line: dict[Line, set[str]] = {}

    def get_to_know(self, is_time_left: Callable[[], bool]) -> None:
        """Run those that are new, or that were run with other code, and see where they come by."""
        code = digest(*sorted((ROOT / "scheduling").rglob("*.py")))
        stamps = {nodeid: code + digest(item.path) for nodeid, item in self._items.items()}
        self._tests = {
            nodeid: test
            for nodeid, test in self._tests.items()
            if test["stamp"] == stamps.get(nodeid, test["stamp"]) and test["stamp"].startswith(code)
        }
        new = [item for nodeid, item in self._items.items() if nodeid not in self._tests]
        if new:
            tell(f"{len(new)} of {len(self._items)} tests to get to know")
            part = NOTES / f"part-{os.getpid()}"
            in_fork(lambda: _follow(new, stamps, part, is_time_left), seconds=LONGEST)
            self._tests |= _read(part)
            part.unlink(missing_ok=True)
            self._file.write_text(json.dumps(self._tests))
        self._by_line = self._sort_by_line()

    def _sort_by_line(self) -> dict[Line, set[str]]:
        by_line: dict[Line, set[str]] = defaultdict(set)
        for nodeid, test in self._tests.items():
            if nodeid not in self._items:
                continue
            if not test["passes"]:
                tell(f"It fails without any fault: {nodeid}")
                continue
            for path, lines in test["lines"].items():
                for line in lines:
                    by_line[path, line].add(nodeid)
        return by_line

    def of(
        self, lines: Sequence[Line], said: str, noticed: Sequence[Counter[str]], patience: float
    ) -> list[pytest.Item]:
        """Those that come by one of the lines, until so many seconds of them are together.

        What runs when a module is imported no test comes by; then those count that come by anything in it.
        Those first that noticed most faults, and in turn with them those with the rarest words in common with what
        is said of this one; among equals the fastest of each file, the second of each, and so on, because what
        differs finds most.
        """
        nodeids = self._coming_by(lines)
        if not nodeids:
            paths = {path for path, _ in lines}
            nodeids = self._coming_by([line for line in self._by_line if line[0] in paths])
        files: dict[str, list[str]] = defaultdict(list)
        for nodeid in sorted(nodeids, key=lambda nodeid: (self.seconds(nodeid), nodeid)):
            files[file_of(nodeid)].append(nodeid)
        in_turn = [nodeid for turn in zip_longest(*files.values()) for nodeid in turn if nodeid]
        in_common = self._in_common(said)
        likely = sorted(in_turn, key=lambda nodeid: [-counts[nodeid] for counts in noticed])
        akin = sorted(in_turn, key=lambda nodeid: -in_common.get(nodeid, 0))
        first = dict.fromkeys(one for pair in zip(likely, akin, strict=True) for one in pair)
        in_turn = sorted(first, key=lambda nodeid: self.seconds(nodeid) > SLOW_SECONDS)
        so_far = accumulate(self.seconds(nodeid) for nodeid in in_turn)
        return [
            self._items[nodeid]
            for nodeid, seconds in zip(in_turn, so_far, strict=True)
            if seconds <= patience
        ]

    def _coming_by(self, lines: Iterable[Line]) -> set[str]:
        return set[str]().union(*(self._by_line.get(line, ()) for line in lines))

    def _in_common(self, said: str) -> dict[str, float]:
        """A word weighs the more, the fewer tests have it in their names."""
        weights: dict[str, float] = defaultdict(float)
        for word in set(re.findall(r"[a-z]{4,}?(?=s?(?![a-z]))", said.lower())):
            having = [nodeid for nodeid in self._items if word in nodeid.lower()]
            for nodeid in having:
                weights[nodeid] = max(weights[nodeid], 1 / len(having))
        return weights

    def some(self, count: int) -> list[pytest.Item]:
        return self.of(list(self._by_line), "", [], LONGEST)[:count]

    def seconds(self, nodeid: str) -> float:
        return float(self._tests[nodeid]["seconds"])


def _follow(
    items: Sequence[pytest.Item],
    stamps: Mapping[str, str],
    part: Path,
    is_time_left: Callable[[], bool],
) -> int:
    trace = coverage.Coverage(data_file=None, include=["scheduling/*"], config_file=False)
    trace.start()
    tests: dict[str, dict[str, Any]] = {}
    for item, following in zip(items, [*items[1:], None], strict=True):
        trace.switch_context(item.nodeid)
        began_at = time.monotonic()
        tests[item.nodeid] = {
            "passes": not fails(item, following),
            "seconds": round(time.monotonic() - began_at, 4),
            "stamp": stamps[item.nodeid],
            "lines": defaultdict(list),
        }
        if not is_time_left():
            break
    trace.stop()
    data = trace.get_data()
    for file in data.measured_files():
        path = str(Path(file).relative_to(ROOT))
        for line, nodeids in data.contexts_by_lineno(file).items():
            for nodeid in filter(None, nodeids):
                tests[nodeid]["lines"][path].append(line)
    part.write_text(json.dumps(tests))
    return PASSED


def file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def digest(*files: Path) -> str:
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _read(file: Path) -> dict[str, Any]:
    return dict(json.loads(file.read_text())) if file.exists() else {}
