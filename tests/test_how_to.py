"""docs/how-to: every command is typed, every file written, and every answer that is shown comes.

In a clone that serves, as at the end of the first task of the tutorial, with the tasks of all pages.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scheduling import retry
from scheduling.states import DeadReason
from tests.faults.servers import programs
from tests.installation import empty_postgres
from tests.pages import DOCS
from tests.walks import Walk, blocks_of, cloned_into, files_of, walking

pytestmark = pytest.mark.timeout(180)

HOW_TO = DOCS / "how-to"
INDEX = HOW_TO / "index.md"
BACK_UP = HOW_TO / "back-up-and-restore.md"
ELSEWHERE = {"install-into-a-project.md", "move-to-postgresql.md"}
"""Tested with what they are about."""
WALKED = sorted(
    page
    for page in HOW_TO.glob("*.md")
    if page not in (INDEX, BACK_UP) and page.name not in ELSEWHERE
)
SETTINGS = """\
from config.settings import *
from config.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, {}]
"""


def database() -> dict[str, str]:
    """What the reader's environment says of it: an empty one of the kind that the other tests run on."""
    url = os.environ.get("DATABASE_URL")
    if not url:
        return {}
    path = f"{programs()}{os.pathsep}{os.environ['PATH']}"
    return {"DATABASE_URL": empty_postgres(url), "PATH": path}


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    folder = cloned_into(tmp_path_factory.mktemp("clone"))
    with walking(folder, PORT="0", WEB_CONCURRENCY="1", **database()) as walk:
        files = dict(file for page in WALKED for file in files_of(page))
        for path, content in files.items():
            walk.write(path, content)
        apps = sorted({f'"{Path(path).parts[0]}"' for path in files})
        walk.write("mysettings.py", SETTINGS.format(", ".join(apps)))
        walk.type("DJANGO_SETTINGS_MODULE=mysettings make run")
        yield walk


@pytest.mark.parametrize("page", WALKED, ids=lambda page: page.stem)
def test_page(serving: Walk, page: Path) -> None:
    with serving.anew() as walk:
        walk.follow(INDEX)
        walk.follow(page)


def test_backing_up_and_restoring(tmp_path: Path) -> None:
    other = "On SQLite" if os.environ.get("DATABASE_URL") else "On PostgreSQL"
    with walking(cloned_into(tmp_path), **database()) as walk:
        walk.write("mysettings.py", SETTINGS.format(""))
        walk.follow(INDEX)
        walk.type("python manage.py bootstrap")
        for block in blocks_of(BACK_UP, without=[other]):
            walk.take(block)
            if block.kind == "sh" and "manage.py backup" in block.text:
                backed_up = walk.answer
                walk.type("python manage.py createtenant late")
                walk.answer = backed_up
        walk.type("python manage.py stats")
        assert "tenant-b" in walk.answer
        assert "late" not in walk.answer


def test_other_pages_are_tried_elsewhere() -> None:
    tests = (file for file in Path(__file__).parent.rglob("*.py") if file != Path(__file__))
    named = "".join(file.read_text() for file in tests)
    pages = {name for name in ELSEWHERE if (HOW_TO / name).exists()}
    assert {name for name in pages if f'"{name}"' not in named} == set()


def test_every_reason_is_named() -> None:
    page = (HOW_TO / "dead-letters.md").read_text()
    assert {reason for reason in DeadReason if f"`{reason}`" not in page} == set()


def test_the_backoff_is_the_one_that_is_told() -> None:
    page = (HOW_TO / "retries.md").read_text()
    assert f"0 and {retry.FAILED_BASE.seconds} seconds" in page
    assert f"begins at {retry.LOST_BASE.total_seconds():g} seconds" in page
    assert retry.CAP.total_seconds() == 3600  # "never more than an hour"
