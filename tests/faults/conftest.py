"""Fixtures of the tests in which processes die."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.kit import Effects, Workers

Start = Callable[..., Workers]


@pytest.fixture
def effects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Effects:
    effects = Effects(tmp_path)
    monkeypatch.setenv("EFFECTS", str(effects.path))
    return effects


@pytest.fixture
def start_workers(
    transactional_db: None, ledger: None, effects: Effects, tmp_path: Path
) -> Iterator[Start]:
    """Starts `runworkers` with the arguments given. All of them are gone before the ledger is recounted."""
    started: list[Workers] = []

    def start(*arguments: str, **options: Any) -> Workers:
        log = tmp_path / f"workers-{len(started)}.log"
        started.append(Workers(effects, log, *arguments, **options))
        return started[-1]

    yield start
    for workers in started:
        workers.kill_all()
        print(f"---- {workers.log.name}\n{workers.said()}")  # noqa: T201  # pytest shows it on failure
