"""Commands as somebody types them: what is printed where, and what the shell is told."""

from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO

from django.core.management import ManagementUtility


@dataclass(frozen=True)
class Said:
    out: str
    err: str
    code: int


def manage(*argv: str) -> Said:
    """Run `manage.py` with those words."""
    out, err, code = StringIO(), StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            ManagementUtility(["manage.py", *argv]).execute()
        except SystemExit as leaving:
            code = int(leaving.code or 0)
    return Said(out.getvalue(), err.getvalue(), code)


def complaint(*argv: str) -> str:
    """The one sentence that a command refuses with, below the usage if the words were at fault."""
    said = manage(*argv)
    assert said.code == 2, said
    assert said.out == ""
    assert "Traceback" not in said.err
    return said.err.strip().splitlines()[-1]
