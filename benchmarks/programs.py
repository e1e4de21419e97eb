"""Programs that a benchmark starts and ends: each one by its own process id, none left behind."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.prompter import READY

PATIENCE = 30.0
"""Seconds a program gets to end after it was asked to."""
LONGEST = 1800.0
"""Seconds any act may take. The longest ones load millions of rows."""
REPOSITORY = Path(__file__).resolve().parent.parent


class ProgramFailed(Exception):
    """A program of the benchmark did not do its part. The message holds the end of what it said."""


class Program:
    """An act, see `benchmarks.act`, in a process of its own.

    It leads a process group, so that nothing that it started survives its refusal to end.
    """

    def __init__(
        self, act: str, given: Mapping[str, Any], env: Mapping[str, str], said: Path
    ) -> None:
        self.act = act
        self._said = said
        with said.open("ab") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.act", act, json.dumps(given)],
                cwd=REPOSITORY,
                env={**os.environ, **env},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until_ready(self) -> None:
        """Until it says that it waits for its cue. Raises ProgramFailed when it ends instead."""
        assert self._process.stdout
        if self._process.stdout.readline().strip() != READY:
            self._process.wait(PATIENCE)
            raise self._failure()

    def go(self) -> None:
        """Give it its cue."""
        assert self._process.stdin
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        """Wait for its end, and return what it answered. Raises ProgramFailed."""
        try:
            output, _ = self._process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            raise ProgramFailed(f"{self.act} did not end within {LONGEST:g} s.") from None
        if self._process.returncode:
            raise self._failure()
        return json.loads(output.splitlines()[-1])

    def check(self) -> None:
        """Raises ProgramFailed when a program that was to go on has ended."""
        if self._process.poll() is not None:
            raise self._failure()

    def end(self) -> None:
        """Ask it to end; after a while, make it and its group end."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                stream.close()

    def _failure(self) -> ProgramFailed:
        lines = self._said.read_text(errors="replace").splitlines()[-20:]
        return ProgramFailed(
            f"{self.act} ended with exit code {self._process.returncode}. Its last words:\n"
            + "\n".join(lines)
        )


@contextmanager
def running(
    act: str, given: Mapping[str, Any], env: Mapping[str, str], said: Path
) -> Iterator[Program]:
    """A program that runs for as long as the block does."""
    program = Program(act, given, env, said)
    try:
        yield program
    finally:
        program.end()
