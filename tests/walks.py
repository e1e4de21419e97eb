"""Walks a page of the documentation as its reader would, from the first block to the last.

What a block is fenced as says what becomes of it:

- `python`, whose first line is `# path/to/file.py`: the file is written.
- `sh`: the commands are typed into one shell, which remembers variables and the folder it is in. One that
  serves until it is stopped is started in a terminal of its own; typed again, it is stopped first, as by Ctrl-C.
- `text`: what the commands before it answer, line by line. `…` stands for whatever else there is in a
  line, and alone for any number of lines. Workers take a moment: a command that only looks is typed again until then.

Any other block is an error, so none is left out.
"""

import os
import re
import shutil
import signal
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.installation import PATIENT
from tests.pages import DOCS
from tests.terminals import Server, Shell
from tests.waiting import until

ROOT = DOCS.parent
CLONED = (
    "Makefile",
    "config",
    "manage.py",
    "requirements.txt",
    "scheduling",
    "templates",
    "tenants",
)
FENCE = "```"
BLOCK = re.compile(rf"^( *){FENCE}(\w*)\n(.*?)^ *{FENCE}$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"# (\S+\.py)\n")
SERVES = re.compile(r"\b(?:make (run)|manage\.py (runserver|runworkers)\b.*)\Z")
ONLY_LOOKS = re.compile(r"(?!.* -[Xd] )(?:curl .*|.*manage\.py stats)")
IS_READY = {
    "run": ["Listening at: http", "Workers start"],
    "runserver": ["development server at http"],
    "runworkers": ["Workers start"],
}
SERVED_AT = re.compile(r"(?:Listening|server) at:? (http://[\d.:]+)")
WRITTEN = "http://127.0.0.1:8000"
"""Where all pages have it serve. Tests serve where there is room."""
ANYWHERE = re.compile(r"http://127\.0\.0\.1:\d+")
IT_MOVED = """
for NAME in $(compgen -v); do
    if [[ ${{!NAME}} == {old}* ]]; then declare "$NAME={new}${{!NAME#{old}}}"; fi
done
"""
"""What the reader keeps in variables would still be right, if a server came back where it was."""
OF_THE_TESTS_MAKE = {"MAKEFLAGS", "MFLAGS", "PYTHON", "VENV"}
ONLY_FOR_TESTS = frozenset(
    {"DATABASE_URL", "DATA_DIR", "DEBUG", "DJANGO_SETTINGS_MODULE", "LEDGER_MAX_QUEUED"}
    | OF_THE_TESTS_MAKE
)


@dataclass(frozen=True)
class Block:
    kind: str
    text: str


def blocks_of(page: Path, *, without: Iterable[str] = ()) -> list[Block]:
    """In the order of the page; chapters may be left out, by their headings."""
    text = page.read_text()
    for heading in without:
        before, chapter = text.split(f"\n## {heading}\n")
        text = before + "\n## ".join(["", *chapter.split("\n## ")[1:]])
    blocks = [Block(found[2], textwrap.dedent(found[3])) for found in BLOCK.finditer(text)]
    assert text.count(FENCE) == 2 * len(blocks), f"{page.name}: a block does not end"
    return blocks


def files_of(page: Path) -> Iterator[tuple[str, str]]:
    """What the page has its reader write: path and content."""
    for block in blocks_of(page):
        if block.kind == "python":
            yield file_of(block)


def file_of(block: Block) -> tuple[str, str]:
    named = FILE.match(block.text)
    assert named, f"A block of Python begins with the path of its file:\n{block.text}"
    return named[1], block.text[named.end() :]


def cloned_into(folder: Path) -> Path:
    """What `make run` needs of a clone, with the environment that the tests run in for its own."""
    half_written = shutil.ignore_patterns("*.pyc.*")  # by tests that run beside this one
    for name in CLONED:
        if (original := ROOT / name).is_dir():
            shutil.copytree(original, folder / name, ignore=half_written)
        else:
            shutil.copy2(original, folder)
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


class Walk:
    """A reader with a terminal or two, in a folder of their own."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.address = WRITTEN
        self.typed, self.answer = "", ""
        """The last commands, and what they said."""
        self.heard = ""
        """All that was ever said."""
        kept = {name: one for name, one in os.environ.items() if name not in ONLY_FOR_TESTS}
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        own = {"PATH": programs, "PYTHONUNBUFFERED": "1"}
        self._environment = {**kept, **own, **PATIENT, **environment}
        self._shell = Shell(folder, self._environment)
        self._servers: dict[str, Server] = {}

    def follow(self, page: Path) -> None:
        for block in blocks_of(page):
            self.take(block)

    def take(self, block: Block) -> None:
        match block.kind:
            case "python":
                self.write(*file_of(block))
            case "sh":
                self.type(block.text.strip())
            case "text":
                self._compare(block.text)
            case other:
                raise AssertionError(f"Nobody runs a block of {other!r}:\n{block.text}")

    def write(self, path: str, content: str) -> None:
        file = self._place() / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)

    def type(self, commands: str) -> None:
        self.typed = commands
        if served := SERVES.search(commands):
            self.answer = self._serve(commands, served[1] or served[2])
        else:
            self.answer = self._shell.type(commands.replace(WRITTEN, self.address))
        self.heard += self.answer

    @contextmanager
    def anew(self) -> Iterator["Walk"]:
        """In a terminal of their own, beside what serves already."""
        with walking(self.folder, **self._environment) as walk:
            walk.address = self.address
            yield walk

    def end(self) -> None:
        self._shell.end()
        for server in self._servers.values():
            server.stop(signal.SIGKILL)  # nobody needs what it does any more

    def _serve(self, command: str, program: str) -> str:
        if program in self._servers:
            self._servers.pop(program).stop()
        command = re.sub(r"runserver$", "runserver --noreload 0", command)
        server = self._servers[program] = Server(command, self._place(), self._environment)
        server.wait_for(IS_READY[program])
        if served := SERVED_AT.search(server.said):
            self._moved_to(served[1])
        return server.said

    def _moved_to(self, address: str) -> None:
        if self.address != WRITTEN:
            self._shell.type(IT_MOVED.format(old=self.address, new=address))
        self.address = address

    def _place(self) -> Path:
        """The folder that the shell is in."""
        return Path(self._shell.type("pwd").strip())

    def _compare(self, shown: str) -> None:
        pattern = pattern_of(shown)
        if ONLY_LOOKS.fullmatch(self.typed):
            with suppress(AssertionError):  # told below, with what came instead
                until(lambda: self._fits(pattern) or self._fits_now(pattern))
        assert self._fits(pattern), f"The page shows\n{shown}\nand this came:\n{self.answer}"

    def _fits(self, pattern: re.Pattern[str]) -> bool:
        return bool(pattern.fullmatch(ANYWHERE.sub(WRITTEN, self.answer.strip()) + "\n"))

    def _fits_now(self, pattern: re.Pattern[str]) -> bool:
        self.type(self.typed)
        return self._fits(pattern)


@contextmanager
def walking(folder: Path, **environment: str) -> Iterator[Walk]:
    walk = Walk(folder, environment)
    try:
        yield walk
    finally:
        walk.end()


def pattern_of(shown: str) -> re.Pattern[str]:
    """What fits a block of output."""
    return re.compile(
        "".join(
            r"(?:.*\n)*?"
            if line.strip() == "…"
            else ".*".join(map(re.escape, line.split("…"))) + "\n"
            for line in shown.splitlines()
        )
    )
