"""Two releases of the code side by side, and real programs that are started from either."""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from django.db.migrations.loader import MigrationLoader

from config.management.commands.serve import WEB
from scheduling import __version__
from tests.faults.flood import children
from tests.installation import Installation
from tests.pages import ROOT

PARTS = ("config", "scheduling", "templates", "tenants")
PATIENCE = 60
"""Seconds after which what never starts, or never ends, is a failure."""

NEWER_VERSION = f"{__version__}+newer"
COLUMN = """\
    note = models.TextField(null=True)

    class Meta:
"""
MIGRATION = """\
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("scheduling", "{last}")]
    operations = [migrations.AddField("task", "note", models.TextField(null=True))]
"""
HANDLERS = """

from scheduling.models import Task
from scheduling.recurring import recurring


@recurring("0 0 1 1 *", name="newer.yearly", tenant="tenant-a")
@task(name="demo.newer", max_attempts=1)
def newer(context: Context) -> str:
    Task.objects.filter(pk=context.task_id).update(note="of a column that the older release does not know")
    return "newer"
"""


@dataclass(frozen=True)
class Release:
    """The folder that its programs run in, and the installation that they share."""

    folder: Path
    installation: Installation

    def run(self, *command: str, code: int = 0) -> str:
        """`manage.py` with that command, to its end; what it said."""
        done = subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == code, done.stdout
        return done.stdout

    def environment(self) -> dict[str, str]:
        own = {"DATA_DIR": str(self.installation.data_dir), "DEBUG": "1"}
        if self.installation.database_url:
            own["DATABASE_URL"] = self.installation.database_url
        return {**os.environ, **own, **self.installation.environment}


class Program:
    """One that runs until it is told to stop, in a process group of its own."""

    def __init__(self, release: Release, log: Path, command: list[str]) -> None:
        self.log = log
        with log.open("a") as output:
            self.process = subprocess.Popen(
                command,
                cwd=release.folder,
                env=release.environment(),
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def said(self) -> str:
        return self.log.read_text()

    def terminate(self) -> None:
        """SIGTERM, to the one that a service manager knows."""
        self.process.terminate()

    def wait(self) -> None:
        assert self.process.wait(PATIENCE) == 0, self.said()

    def kill_all(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Workers(Program):
    def __init__(self, release: Release, log: Path) -> None:
        options = ["--processes=1", "--threads=4", "--lease-seconds=300", "--json"]
        super().__init__(release, log, [sys.executable, "manage.py", "runworkers", *options])

    def has_started(self) -> bool:
        assert self.process.poll() is None, self.said()
        return "process_started" in self.said()


class WebServer(Program):
    """gunicorn, on a port that the system chooses."""

    def __init__(self, release: Release, log: Path) -> None:
        super().__init__(release, log, WEB)

    @property
    def url(self) -> str:
        """Known once it listens; empty before."""
        assert self.process.poll() is None, self.said()
        _, _, rest = self.said().partition("Listening at: ")
        return rest.split()[0] if " " in rest else ""

    def leave_now(self) -> None:
        """For one that has been told to stop: what it does by itself after WEB_SECONDS_TO_LEAVE."""
        for child in children(self.process.pid):
            os.kill(child, signal.SIGTERM)


def older_release(installation: Installation) -> Release:
    """This code."""
    return Release(ROOT, installation)


def newer_release(folder: Path, installation: Installation) -> Release:
    """This code under another version, and beside it a column, a migration that only expands, and a task that recurs."""
    folder.mkdir()
    half_written = shutil.ignore_patterns("*.pyc.*")  # by tests that run beside this one
    for part in PARTS:
        shutil.copytree(ROOT / part, folder / part, ignore=half_written)
    shutil.copy2(ROOT / "manage.py", folder)

    package = folder / "scheduling" / "__init__.py"
    package.write_text(package.read_text().replace(__version__, NEWER_VERSION))
    ((_, last),) = MigrationLoader(None).graph.leaf_nodes("scheduling")
    name = f"{int(last[:4]) + 1:04}_expand_task_note"
    migration = folder / "scheduling" / "migrations" / f"{name}.py"
    migration.write_text(MIGRATION.format(last=last))
    model = folder / "scheduling" / "models" / "task.py"
    model.write_text(model.read_text().replace("    class Meta:\n", COLUMN, 1))
    demo = folder / "scheduling" / "builtin" / "demo.py"
    echo = '    return {**payload, "by": "newer"}\n'
    demo.write_text(demo.read_text().replace("    return payload\n", echo, 1) + HANDLERS)
    return Release(folder, installation)
