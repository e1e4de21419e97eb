"""The command: `python -m benchmarks NAME… [--quick] [--database sqlite|postgresql] [--rounds N]`."""

import argparse
import signal
import sys
from importlib import import_module
from types import FrameType, ModuleType
from typing import NoReturn

from benchmarks.plan import Plan, Size, say
from benchmarks.stage import Database

NAMES = (
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
)
"""Each is a module with a docstring, the DATABASES it runs on, the default first, and `run(plan)`."""


def main() -> None:
    signal.signal(signal.SIGTERM, _stop)
    asked = _arguments()
    if asked.list:
        _write(_list())
        return
    for name in asked.names or NAMES:
        for database in _databases(name, asked.database, all_of_them=not asked.names):
            _run(name, _plan(asked, database))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure Rentroll.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", type=_known, help="none: all, on every database"
    )
    parser.add_argument(
        "--list", action="store_true", help="say what there is, and measure nothing"
    )
    parser.add_argument("--quick", action="store_true", help="under a minute each, and rougher")
    parser.add_argument("--smoke", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--database", choices=[Database.SQLITE.value, Database.POSTGRESQL.value])
    parser.add_argument("--rounds", type=int, help="default: 3, or 1 with --quick")
    asked = parser.parse_args()
    if asked.rounds is not None and asked.rounds < 1:
        parser.error("argument --rounds: at least one round is needed")
    for name in asked.names:
        if asked.database and asked.database not in _module(name).DATABASES:
            parser.error(f"argument --database: {name} does not run on {asked.database}")
    return asked


def _known(name: str) -> str:
    if name in NAMES:
        return name
    raise argparse.ArgumentTypeError(f"there is no {name!r}; there are {', '.join(NAMES)}")


def _plan(asked: argparse.Namespace, database: Database) -> Plan:
    size = Size.SMOKE if asked.smoke else Size.QUICK if asked.quick else Size.FULL
    return Plan(
        database=database, size=size, rounds=asked.rounds or (3 if size is Size.FULL else 1)
    )


def _databases(name: str, wanted: str | None, *, all_of_them: bool) -> list[Database]:
    known: list[Database] = list(_module(name).DATABASES)
    if wanted:
        return [database for database in known if database == wanted]
    return known if all_of_them else known[:1]


def _run(name: str, plan: Plan) -> None:
    say(f"{name} on {plan.database}: {(_module(name).__doc__ or '').splitlines()[0]}")
    report = _module(name).run(plan)
    _write(f"{report.as_table()}\n{report.as_json()}")


def _list() -> str:
    width = max(map(len, NAMES))
    return "\n".join(
        f"{name:<{width}}  {(_module(name).__doc__ or '').splitlines()[0]}"
        f" ({', '.join(_module(name).DATABASES)})"
        for name in NAMES
    )


def _module(name: str) -> ModuleType:
    return import_module(f"benchmarks.{name}")


def _write(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _stop(signum: int, frame: FrameType | None) -> NoReturn:
    """So that everything that was started is ended on the way out."""
    sys.exit(128 + signum)


if __name__ == "__main__":
    main()
