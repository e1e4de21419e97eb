"""``python -m tests.chaos --database=sqlite --seconds=60 [--seed=N]``: one run. Exit code 1: a rule was violated."""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from tests.chaos import stage
from tests.chaos.plan import Kind

INTERRUPTED = 128 + signal.SIGINT
SHOWN = 40
"""Violations that are printed; the first few tell what is wrong."""


def main(argv: Sequence[str] | None = None) -> int:
    options = parsed(argv)
    signal.signal(signal.SIGTERM, end)
    seed = options.seed or str(random.randrange(10**6))
    say(f"chaos on {options.database} for {options.seconds:g} s, SEED={seed}")
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    folder.chmod(0o755)
    wrong = True
    try:
        with stage.set_up(folder, options.database, options.supervisors) as scene:
            wrong = perform(scene, seed, options.seconds)
            if wrong:
                keep_the_ledger(folder)
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    finally:
        if wrong:
            say(f"logs and the ledger are kept in {folder}")
        else:
            shutil.rmtree(folder)
        say(f"SEED={seed}")
    return int(wrong)


def parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--seconds", type=float, default=60.0, help="of faults and load")
    parser.add_argument("--seed", default="", help="replays the faults and the load of another run")
    parser.add_argument("--supervisors", type=int, choices=[2, 3], default=3)
    return parser.parse_args(argv)


def perform(scene: stage.Stage, seed: str, seconds: float) -> bool:
    """Whether anything was wrong. Django is set up here: on the ledger of this run."""
    for kind in sorted(set(Kind) - scene.possible()):
        say(f"left out: {kind} needs {stage.NEEDS[kind]}")
    os.environ |= scene.files()
    import django

    django.setup()
    from tests.chaos import report, rules, run

    records = run.play(scene, seed, seconds, say)
    say(report.table(records))
    wrong = [*records.complaints, *rules.violations(records)]
    for violation in wrong[:SHOWN]:
        say(f"VIOLATION {violation}")
    say(f"{len(wrong)} violations" if wrong else "no violation")
    return bool(wrong)


def keep_the_ledger(folder: Path) -> None:
    """What lies on a disk of its own goes with it otherwise."""
    if (folder / "ledger").is_dir():
        shutil.copytree(
            folder / "ledger", folder / "kept", ignore=shutil.ignore_patterns("*.wake*")
        )


def end(signum: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + signum)


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201  # a program's output


if __name__ == "__main__":
    sys.exit(main())
