"""The units for systemd: what it makes of them, and whether they fit the programs that they start."""

import re
import shlex
import shutil
import subprocess
import sys
from configparser import RawConfigParser
from pathlib import Path

import pytest

from config import gunicorn
from tests.deploy.kit import (
    MARGIN,
    WEB_SECONDS_TO_STOP,
    WORKERS_SECONDS_TO_STOP,
    names_of_settings,
    require_program,
    variables_in,
)
from tests.pages import DOCS, ROOT

FOLDER = ROOT / "deploy" / "systemd"
COMMON = FOLDER / "rentroll-.service.d" / "common.conf"
UNITS = sorted(path.name for path in FOLDER.glob("rentroll*.*") if path.is_file())
SERVICES = [name for name in UNITS if name.endswith(".service")]
WEB, WORKERS = "rentroll-web@.service", "rentroll-workers@.service"
INSTALLED_AT = "/opt/rentroll/current"
OF_THE_UNITS = "RUNWORKERS_OPTIONS"
MOST_EXPOSED = 20
"""Of a hundred, by what `systemd-analyze security` adds up: what a service could do that it was not forbidden."""

ANALYZE = shutil.which("systemd-analyze")
needs_systemd = pytest.mark.skipif(
    ANALYZE is None,
    reason="needs systemd-analyze, of systemd 252 or newer (Debian: apt-get install systemd)",
)


class Unit(RawConfigParser):
    """One file, whose names have capitals."""

    def __init__(self, path: Path) -> None:
        super().__init__(delimiters="=", comment_prefixes="#", strict=True)
        self.read_string(path.read_text())

    def optionxform(self, optionstr: str) -> str:
        return optionstr

    @property
    def program(self) -> list[str]:
        """Without where Python is, what sets variables, and options that are others' to give."""
        words = shlex.split(self["Service"]["ExecStart"].replace(f"${OF_THE_UNITS}", ""))
        return words[next(at for at, word in enumerate(words) if word.endswith("/python")) :]


def unit(name: str) -> Unit:
    return Unit(FOLDER / name)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The units as for a release that is installed where these tests run."""
    folder = tmp_path / "system"
    shutil.copytree(FOLDER, folder)
    for path in folder.rglob("*.*"):
        if path.is_file():
            text = path.read_text().replace(f"{INSTALLED_AT}/.venv", sys.prefix)
            path.write_text(text.replace(INSTALLED_AT, str(ROOT)))
    return folder


def analyze(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ANALYZE or "", "--no-pager", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@needs_systemd
def test_systemd_has_nothing_to_say_against_them(installed: Path) -> None:
    done = analyze(installed, "verify", *(f"./{name}" for name in UNITS))
    assert (done.stdout, done.returncode) == ("", 0)


@needs_systemd
def test_systemd_reads_what_they_have_in_common(installed: Path) -> None:
    with (installed / COMMON.relative_to(FOLDER)).open("a") as common:
        common.write("NobodyKnowsThis=1\n")
    for name in SERVICES:
        assert "NobodyKnowsThis" in analyze(installed, "verify", f"./{name}").stdout, name


@needs_systemd
@pytest.mark.parametrize("name", SERVICES)
def test_services_may_do_little(name: str, installed: Path) -> None:
    done = analyze(
        installed, "security", "--offline=true", f"--threshold={MOST_EXPOSED}", f"./{name}"
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", SERVICES)
def test_they_start_programs_that_there_are(name: str) -> None:
    require_program(unit(name).program)


@pytest.mark.parametrize(
    ("name", "seconds"), [(WEB, WEB_SECONDS_TO_STOP), (WORKERS, WORKERS_SECONDS_TO_STOP)]
)
def test_what_runs_is_given_the_time_to_end(name: str, seconds: float) -> None:
    service = unit(name)["Service"]
    assert int(service["TimeoutStopSec"]) >= seconds + MARGIN
    assert service["KillMode"] == "mixed"
    assert service["Restart"] == "always"


def test_web_server_is_given_the_time_to_leave() -> None:
    service = unit(WEB)["Service"]
    name, _, seconds = service["Environment"].partition("=")
    assert name == "WEB_SECONDS_TO_LEAVE"
    assert int(service["TimeoutStopSec"]) >= int(seconds) + WEB_SECONDS_TO_STOP + MARGIN


def test_workers_outlive_one_of_them_that_had_too_much_memory() -> None:
    assert unit(WORKERS)["Service"]["OOMPolicy"] == "continue"


def test_boot_id_stays_in_sight() -> None:
    assert "ProcSubset" not in Unit(COMMON)["Service"]


def test_web_server_may_open_as_many_files_as_it_takes_connections() -> None:
    assert int(unit(WEB)["Service"]["LimitNOFILE"]) > 2 * gunicorn.worker_connections


def test_nothing_changes_tables_by_itself() -> None:
    pulls = re.compile(r"^(Wants|Requires|BindsTo|Upholds|WantedBy|RequiredBy)=(.*)", re.MULTILINE)
    pulled = [found[2] for name in UNITS for found in pulls.finditer((FOLDER / name).read_text())]
    assert not [units for units in pulled if "bootstrap" in units]
    assert "Install" not in unit("rentroll-bootstrap.service")


def test_variables_are_those_that_programs_read() -> None:
    texts = [(FOLDER / name).read_text() for name in SERVICES] + [COMMON.read_text()]
    named = {
        name
        for text in texts
        for line in re.findall(r"^(?:Environment|ExecStart)=(.*)", text, re.MULTILINE)
        for name in re.findall(r"\b([A-Z_]+)=", line)
    }
    assert {"PORT", "DATA_DIR"} <= named
    assert named <= names_of_settings() | {"PYTHONUNBUFFERED"}


def test_settings_to_fill_in_are_those_that_programs_read() -> None:
    example = variables_in((ROOT / "deploy" / "rentroll.env.example").read_text())
    assert {"SECRET_KEY", "DATABASE_URL", "WEBHOOK_SECRET"} <= set(example)
    assert set(example) <= names_of_settings()
    assert not set(example) & {"DATA_DIR", "BIND", "PORT", "DEBUG"}
    assert "localhost" in example["ALLOWED_HOSTS"].split(",")


def test_the_guide_names_units_that_there_are() -> None:
    guide = (DOCS / "deployment.md").read_text()
    named = {
        name
        for line in re.findall(r"systemctl ([^`\n]+)", guide)
        for name in re.findall(r"rentroll[-.][a-z.]+@?", line)
    }
    assert {"rentroll.target", "rentroll-bootstrap", "rentroll-workers@"} <= named
    units = {name.removesuffix(".service") for name in UNITS}
    assert named <= units
