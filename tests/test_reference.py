"""The pages that are made from the code are those of this code, and leave nothing out."""

import ast
import re
from dataclasses import fields
from types import FunctionType

import pytest
from django.core.management import get_commands

from scheduling import errors, signals, testing
from scheduling.compat import Task
from scheduling.conf import DEFAULTS
from scheduling.context import Context
from scheduling.declaring.ledger_task import LedgerTask
from scripts.reference import FOLDER, PAGES, settings
from scripts.reference.commands import APPS
from scripts.reference.source import ROOT, Unsaid

SETTING = re.compile(r'(?:\benv\.\w+|\bos\.environ\.get|\bgetenv)\(\s*"([A-Z_]+)"')


def headings(page: str) -> set[str]:
    return set(re.findall(r"^##+ `(.+)`$", (FOLDER / page).read_text(), re.MULTILINE))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_as_the_code_says_now(name: str) -> None:
    assert (FOLDER / name).read_text() == PAGES[name](), "`make reference` mends that."


def test_every_setting_has_an_entry() -> None:
    code = "".join(file.read_text() for file in ROOT.glob("config/*.py"))
    found = set(SETTING.findall(code))
    assert {"DEBUG", "DATABASE_URL", "WEB_THREADS", "WEB_SECONDS_TO_SEND"} <= found
    assert headings("settings.md") == found | set(DEFAULTS)


@pytest.mark.parametrize(
    ("line", "lacks"),
    [
        ('ROOM = env.int("ROOM", default=3)', "beneath ROOM what it means"),
        ('ROOM = env.int("ROOM", default=3)\n"""Rooms in all."""', "`Unit: "),
        ('ROOM = env.str("ROOM", default=HALL)\n"""Where it is."""', "`Default: "),
    ],
    ids=["text", "unit", "default"],
)
def test_a_setting_that_says_too_little_of_itself_is_refused(line: str, lacks: str) -> None:
    with pytest.raises(Unsaid, match=lacks):
        list(settings.settings_in(ast.parse(line).body))


def test_every_command_has_an_entry() -> None:
    ours = {name for name, app in get_commands().items() if app in APPS}
    assert {"runworkers", "createtenant", "serve"} <= ours
    assert headings("commands.md") == ours


def test_everything_that_tasks_and_their_tests_may_use_has_an_entry() -> None:
    page = (FOLDER / "python.md").read_text()
    context = {
        f"context.{name}"
        for name, one in vars(Context).items()
        if isinstance(one, property | FunctionType) and not name.startswith("_")
    }
    options = {one.name for one in fields(LedgerTask)} - {one.name for one in fields(Task)}
    raised = {
        name
        for name, one in vars(errors).items()
        if isinstance(one, type) and issubclass(one, BaseException)
    }
    sent = {name for name in vars(signals) if name.startswith("worker_")}
    public = {*context, *options, *raised, *sent, *testing.__all__}
    assert {"context.settle", "max_attempts", "StaleLease", "run_due_tasks"} <= public
    assert {name for name in public if not re.search(rf"`{re.escape(name)}\b", page)} == set()
