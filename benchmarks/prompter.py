"""What an act and whoever runs it say to each other: a cue over stdin and stdout, and the answer at the end.

Nothing else is written to the real stdout; whatever prints there lands in stderr.
"""

import json
import os
import sys
from typing import Any, TextIO

READY = "ready"

_stage: TextIO = sys.stdout


def take_stdout() -> None:
    """To be called before anything prints. Programs that replace this one inherit stderr in its place."""
    global _stage
    _stage = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)


def cue() -> None:
    """Say that the preparations are over, and wait until the others have said so as well."""
    _say(READY)
    sys.stdin.readline()


def answer(value: Any) -> None:
    _say(json.dumps(value))


def _say(line: str) -> None:
    _stage.write(f"{line}\n")
    _stage.flush()
