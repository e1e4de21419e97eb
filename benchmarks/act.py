"""A process of a benchmark: `python -m benchmarks.act MODULE:FUNCTION JSON` plays it, then answers in JSON.

The answer is the only thing written to the real stdout; whatever else prints there lands in stderr.
"""

import json
import os
import sys
from importlib import import_module
from typing import TextIO

from benchmarks.programs import READY

_stage: TextIO = sys.stdout


def cue() -> None:
    """Say that the preparations are over, and wait until the others have said so as well."""
    _stage.write(f"{READY}\n")
    _stage.flush()
    sys.stdin.readline()


def play(act: str, given: str) -> None:
    if os.environ.get("DJANGO_SETTINGS_MODULE"):
        import django

        django.setup()
    module, _, function = act.partition(":")
    answer = getattr(import_module(module), function)(**json.loads(given))
    _stage.write(json.dumps(answer) + "\n")
    _stage.flush()


def main() -> None:
    global _stage
    _stage = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.modules["benchmarks.act"] = sys.modules[__name__]  # acts import `cue` from there
    play(*sys.argv[1:3])


if __name__ == "__main__":
    main()
