"""The wheel works in somebody else's project, with what `docs/how-to/install-into-a-project.md` has its reader write."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from scheduling import __version__
from tests.packaging.project import COMMANDS, PAGE, SNIPPETS, Project

pytestmark = pytest.mark.timeout(180)  # some ten processes, each of which loads Django

ROOT = Path(__file__).resolve().parents[2]
VISITOR = ROOT / "tests" / "packaging" / "visitor.py"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run([*build, "--directory", str(folder)], cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def project(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("project")
    with ZipFile(wheel) as packed:
        packed.extractall(folder / "installed")
    ours = Project(folder / "shop", folder / "installed", database_of_its_own())
    ours.folder.mkdir()
    ours.write()
    return ours


def database_of_its_own() -> Mapping[str, str]:
    """Where libpq looks for the database that is called as on the page; nothing on SQLite."""
    server = os.environ.get("DATABASE_URL")
    if not server:
        return {}
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE shop")
    found = conninfo_to_dict(server)
    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD"}
    return {variable: str(found[name]) for name, variable in names.items() if found.get(name)}


@pytest.fixture(scope="module")
def seen(project: Project) -> Mapping[str, Any]:
    """By a program of theirs, while one worker runs: the commands, and then the snippet, of the page."""
    checking, *preparing, issuing, working = COMMANDS
    assert "no issues" in project.manage(*checking.split())
    for command in preparing:
        project.manage(*command.split())
    token = project.manage(*issuing.split()).strip()
    workers = project.start("manage.py", *working.split(), "--processes=1", "--threads=1")
    try:
        return dict(json.loads(project.run(str(VISITOR), SNIPPETS[-1], token)))
    finally:
        workers.send_signal(signal.SIGTERM)
        workers.communicate(timeout=60)
        assert workers.returncode == 0


def test_what_runs_is_what_was_installed(seen: Mapping[str, Any], project: Project) -> None:
    assert Path(seen["where"]).is_relative_to(project.installed)
    assert set(seen["versions"]) == {__version__}


def test_their_task_is_done_and_told_over_the_api(seen: Mapping[str, Any]) -> None:
    task = seen["task"]
    assert (task["state"], task["name"]) == ("succeeded", "orders.confirm")
    assert task["result"] == "order 4711 is confirmed"
    assert seen["tasks"] == [task["id"]]


def test_the_api_is_no_part_of_theirs(seen: Mapping[str, Any]) -> None:
    assert [(status, kind) for status, kind, _ in seen["refused"]] == [
        (401, "application/problem+json"),
        (400, "application/problem+json"),
        (404, "application/problem+json"),
    ]
    *_, (_, _, wrong), _ = seen["refused"]
    assert "greater than or equal to 1" in json.dumps(wrong)


def test_the_document_says_where_they_have_put_the_api(seen: Mapping[str, Any]) -> None:
    assert seen["servers"] == [{"url": "/rentroll"}]
    assert "POST</b> /rentroll/v1/tasks<" in seen["pages"]["/rentroll/v1/docs"][1]


def test_every_page_is_there(seen: Mapping[str, Any]) -> None:
    assert {page: status for page, (status, _) in seen["pages"].items()} == dict.fromkeys(
        seen["pages"], 200
    )


def test_neither_admin_shows_anything_of_the_other(seen: Mapping[str, Any]) -> None:
    for page, (_, text) in seen["pages"].items():
        if page.startswith(("/admin/", "/console/")):
            is_theirs = page.startswith("/admin/")
            assert ("The shop" in text) is is_theirs, page
            assert ("rentroll/console.css" in text) is not is_theirs, page
            assert ('href="/admin/' in text) is is_theirs, page
            assert ('href="/console/' in text) is not is_theirs, page


def test_the_console_speaks_english_wherever_it_is(seen: Mapping[str, Any]) -> None:
    for page, (_, text) in seen["pages"].items():
        if page.startswith(("/admin/", "/console/")):
            is_theirs = page.startswith("/admin/")
            assert ('<html lang="de"' in text) is is_theirs, page
            assert ("Abmelden" in text) is is_theirs, page


def test_what_the_ledger_cannot_do_with_is_refused_with_what_to_write(project: Project) -> None:
    checking = project.start("manage.py", "check", "--settings=shop.wrong", stderr=subprocess.PIPE)
    _, said = checking.communicate(timeout=60)
    assert checking.returncode == 1
    assert set(re.findall(r"\(scheduling\.(E\d+)\)", said)) == {"E002", "E006", "E007", "E008"}
    for what_to_write in (
        "Did you mean RETENTION?",
        'Set ENGINE to "scheduling.sqlite"',
        "Set USE_TZ = True",
        'Set TASKS = {"default": {"BACKEND": "scheduling.backend.LedgerBackend"}}',
    ):
        assert what_to_write in said


def test_the_page_lists_every_check() -> None:
    code = "".join(
        path.read_text()
        for path in (ROOT / "scheduling").rglob("*.py")
        if "checks" in path.name or path.name == "backend.py"
    )
    listed = re.findall(r"^\| `(scheduling\.[EW]\d+)`", PAGE, re.MULTILINE)
    assert listed == sorted(set(re.findall(r'"(scheduling\.[EW]\d+)"', code)))


def test_the_wheel_holds_the_apps_and_nothing_else(wheel: Path) -> None:
    with ZipFile(wheel) as packed:
        names = packed.namelist()
    folders = {name.split("/")[0] for name in names}
    assert folders == {"scheduling", "tenants", f"rentroll-{__version__}.dist-info"}
    for needed in (
        "scheduling/py.typed",
        "tenants/py.typed",
        "scheduling/admin/templates/admin/base_site.html",
        "scheduling/templates/rentroll/docs.html",
        "scheduling/static/rentroll/console.css",
        "scheduling/api/v1/openapi/examples.json",
    ):
        assert needed in names
    assert not [name for name in names if "__pycache__" in name]


def test_the_backport_of_tasks_comes_on_every_python(wheel: Path) -> None:
    """Django 5.2 runs on all of them, and has none."""
    with ZipFile(wheel) as packed:
        told = packed.read(f"rentroll-{__version__}.dist-info/METADATA").decode()
    (required,) = re.findall(r"^Requires-Dist: (django-tasks\b.*)$", told, re.MULTILINE)
    assert ";" not in required


def test_the_changelog_begins_with_what_is_built() -> None:
    (latest, *_) = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert latest == __version__
