"""The command line of the benchmarks."""

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
NAMES = [
    "throughput",
    "enqueue",
    "pickup",
    "noisy_neighbour",
    "scale",
    "http",
    "writers",
    "fairness",
    "contention",
    "console",
]


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_list_names_every_benchmark_with_what_it_measures() -> None:
    done = run("--list")
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert done.returncode == 0
    assert list(lines) == NAMES
    assert "SQLite file" in lines["writers"]
    assert lines["contention"].endswith("(postgresql)")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["throughputs"], "there is no 'throughputs'; there are throughput, enqueue"),
        (["writers", "--database", "postgresql"], "writers does not run on postgresql"),
        (["fairness", "--rounds", "0"], "at least one round"),
    ],
)
def test_what_cannot_be_run_is_refused_in_words(arguments: list[str], complaint: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert complaint in done.stderr
