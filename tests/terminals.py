"""Terminals as a reader of the documentation has them open: one to type in, others in which something serves."""

import os
import signal
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import Thread

PREPARED = """
set -o errtrace -o pipefail
trap 'FAILED=1' ERR
curl() { command curl -sS "$@"; }
make() { command make -o .venv/.ready-to-run "$@"; }
exec 2>&1
"""
"""`curl` draws no progress where there is no terminal. To `make`, the environment that the tests run in is the clone's."""


class Shell:
    """One bash for all the commands of a page."""

    END = "-- that was all --"

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._bash = subprocess.Popen(
            ["/bin/bash", "--norc"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._say(PREPARED)

    def type(self, commands: str) -> str:
        """What they said, once they have ended. AssertionError if one of them failed."""
        self._say(f"FAILED=0\n{{\n{commands}\n}} </dev/null\necho; echo {self.END} $FAILED\n")
        said = ""
        assert self._bash.stdout
        for line in self._bash.stdout:
            if line.startswith(self.END):
                assert line.split()[-1] == "0", f"{commands}\nfailed:\n{said}"
                return said
            said += line
        raise AssertionError(f"{commands}\nended the shell:\n{said}")

    def end(self) -> None:
        self._bash.communicate("exit\n")

    def _say(self, words: str) -> None:
        assert self._bash.stdin
        self._bash.stdin.write(words)
        self._bash.stdin.flush()


class Server:
    """A command that goes on until it is stopped, in a terminal of its own."""

    def __init__(self, command: str, folder: Path, environment: Mapping[str, str]) -> None:
        self.said = ""
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", PREPARED + command],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._listener = Thread(target=self._listen)

    def wait_for(self, signs: Iterable[str]) -> None:
        """Until it has said all of them."""
        assert self._process.stdout
        while any(sign not in self.said for sign in signs):
            line = self._process.stdout.readline()
            assert line, f"It ended before it was ready:\n{self.said}"
            self.said += line
        self._listener.start()

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """As Ctrl-C does: everything that runs in that terminal is asked to."""
        os.killpg(self._process.pid, how)
        if self._listener.is_alive():
            self._listener.join()
        self._process.communicate()

    def _listen(self) -> None:
        """To its end, or it would wait for a reader."""
        assert self._process.stdout
        for line in self._process.stdout:
            self.said += line
