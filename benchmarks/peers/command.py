"""Becoming a peer's own worker command, so that it is ended as its operator would end it."""

import os
import sys
from typing import NoReturn


def become(*arguments: str) -> NoReturn:
    """`python ARGUMENTS`, in this process."""
    os.execv(sys.executable, [sys.executable, *arguments])
