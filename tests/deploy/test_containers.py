"""The image and compose: whether what they say fits the programs. Nothing here runs a container."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest
import yaml

from scheduling import __version__
from tests.deploy.kit import (
    CONTAINERS,
    GUIDE,
    MARGIN,
    WEB_SECONDS_TO_STOP,
    WORKERS_SECONDS_TO_STOP,
    names_of_settings,
    require_program,
    variables_in,
)
from tests.pages import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
OURS = ["bootstrap", "web", "workers"]


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} (.*)", DOCKERFILE, re.MULTILINE)


IMAGES = [
    *(image.split()[0] for image in instructions("FROM")),
    *(service["image"] for service in COMPOSE["services"].values()),
    *(container["image"] for container in CONTAINERS),
]


@pytest.mark.parametrize("image", sorted(set(IMAGES)))
def test_images_have_a_name_and_a_version_and_come_from_nowhere_in_particular(image: str) -> None:
    assert re.fullmatch(r"[a-z]+:[0-9][\w.-]*", image)


def test_our_image_is_that_of_this_release() -> None:
    ours = {image for image in IMAGES if image.startswith("rentroll:")}
    assert ours == {f"rentroll:{__version__}"}
    assert set(re.findall(r"rentroll:([0-9][\w.]*)", GUIDE)) == {__version__}


class TestDockerfile:
    def test_who_runs_is_not_root_and_has_a_number(self) -> None:
        assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", instructions("USER")[-1])
        owners = [line for line in instructions("COPY") if "--chown" in line]
        assert owners == [], "what runs could change its own code"

    @pytest.mark.parametrize(
        "option", ["--require-hashes", "--no-deps", "--only-binary :all:", "-r requirements.txt"]
    )
    def test_only_what_was_pinned_is_installed(self, option: str) -> None:
        (install,) = (line for line in instructions("RUN") if "pip install" in line)
        assert option in install

    def test_it_names_no_host(self) -> None:
        assert "://" not in DOCKERFILE

    def test_what_is_copied_is_there_and_not_ignored(self) -> None:
        wanted = {
            source
            for line in instructions("COPY")
            if "--from" not in line
            for source in line.split()[:-1]
        }
        taken = {
            line.removeprefix("!/")
            for line in (ROOT / ".dockerignore").read_text().splitlines()
            if line.startswith("!")
        }
        assert wanted == taken
        assert all((ROOT / source).exists() for source in wanted)

    def test_everything_else_is_ignored(self) -> None:
        lines = (ROOT / ".dockerignore").read_text().splitlines()
        rules = [line for line in lines if line and not line.startswith("#")]
        assert rules[0] == "*"

    def test_everything_that_programs_are_made_of_is_copied(self) -> None:
        """A package that is added one day is wanted in the image as well."""
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())
        packages = project["tool"]["importlinter"]["root_packages"]
        copied = {source for line in instructions("COPY") for source in line.split()[:-1]}
        assert {*packages, "templates", "manage.py"} <= copied

    def test_variables_are_those_that_programs_read(self) -> None:
        named = {name for line in instructions("ENV") for name in re.findall(r"\b([A-Z_]+)=", line)}
        assert {"DATA_DIR", "BIND", "PORT"} <= named
        assert named <= names_of_settings() | {"PATH", "PYTHONUNBUFFERED"}

    def test_it_starts_the_web_server(self) -> None:
        command = json.loads(instructions("CMD")[-1])
        assert "gunicorn" in command
        require_program(command)


class TestHealthcheck:
    """The program that the image's HEALTHCHECK runs."""

    class Server(HTTPServer):
        def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
            super().__init__(("127.0.0.1", 0), handler)
            self.status = 200
            self.asked: list[tuple[str, str | None]] = []

    @pytest.fixture
    def server(self) -> Iterator["TestHealthcheck.Server"]:
        class Handler(BaseHTTPRequestHandler):
            server: TestHealthcheck.Server

            def do_GET(self) -> None:
                self.server.asked.append((self.path, self.headers["Host"]))
                self.send_response(self.server.status)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # its name there
                """Nothing."""

        with self.Server(Handler) as server:
            thread = Thread(target=server.serve_forever)
            thread.start()
            yield server
            server.shutdown()
            thread.join()

    def check(self, port: int) -> int:
        program = ROOT / "deploy" / "healthcheck.py"
        environment = {"PORT": str(port)}
        return subprocess.run(
            [sys.executable, program], env=environment, capture_output=True, check=False
        ).returncode

    def test_a_server_that_takes_requests_is_healthy(self, server: Server) -> None:
        assert self.check(server.server_port) == 0
        assert server.asked == [("/healthz", "localhost")]

    def test_one_that_answers_with_an_error_is_not(self, server: Server) -> None:
        server.status = 500
        assert self.check(server.server_port) != 0

    def test_one_that_is_not_there_is_not(self, server: Server) -> None:
        port = server.server_port
        server.server_close()
        assert self.check(port) != 0

    def test_the_image_has_it(self) -> None:
        (line,) = instructions("HEALTHCHECK")
        assert json.loads(line.partition("CMD ")[2]) == ["python", "healthcheck.py"]


class TestCompose:
    def service(self, name: str) -> Any:
        return COMPOSE["services"][name]

    @pytest.mark.parametrize("name", OURS)
    def test_commands_are_ours(self, name: str) -> None:
        if name != "web":  # which has the image's own
            require_program(self.service(name)["command"])

    @pytest.mark.parametrize(
        ("name", "seconds"), [("web", WEB_SECONDS_TO_STOP), ("workers", WORKERS_SECONDS_TO_STOP)]
    )
    def test_what_runs_is_given_the_time_to_end(self, name: str, seconds: float) -> None:
        assert int(self.service(name)["stop_grace_period"].removesuffix("s")) >= seconds + MARGIN

    def test_secrets_come_from_files_alone(self) -> None:
        for service in COMPOSE["services"].values():
            for name in service.get("environment", {}):
                assert not re.search("PASSWORD|SECRET|KEY|URL|TOKEN", name)
        files = {service.get("env_file") for service in COMPOSE["services"].values()} - {None}
        assert files == {"deploy/rentroll.env", "deploy/postgres.env"}
        for file in files:
            assert (ROOT / f"{file}.example").exists()
            assert f"{file}.example" in GUIDE

    def test_files_with_secrets_are_not_for_git(self) -> None:
        assert "/deploy/*.env" in (ROOT / ".gitignore").read_text().splitlines()

    def test_examples_name_what_is_read(self) -> None:
        postgres = variables_in((ROOT / "deploy" / "postgres.env.example").read_text())
        assert set(postgres) == {"POSTGRES_PASSWORD"}

    def test_only_the_web_server_is_reached_and_from_this_host(self) -> None:
        ports = {name: one["ports"] for name, one in COMPOSE["services"].items() if "ports" in one}
        assert ports == {"web": ["127.0.0.1:8000:8000"]}

    @pytest.mark.parametrize("name", OURS)
    def test_containers_may_do_little(self, name: str) -> None:
        service = self.service(name)
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]

    def test_ledger_and_files_outlive_their_containers(self) -> None:
        mounted = {
            volume.split(":")[0]
            for service in COMPOSE["services"].values()
            for volume in service["volumes"]
        }
        assert mounted == set(COMPOSE["volumes"]) == {"ledger", "files"}

    def test_who_is_asked_how_it_is(self) -> None:
        assert "healthcheck" not in self.service("web"), "it has the image's"
        assert self.service("workers")["healthcheck"] == {"disable": True}
        assert "pg_isready" in self.service("postgres")["healthcheck"]["test"]


def test_commands_that_the_guide_shows_are_taken() -> None:
    shown = re.findall(r"manage\.py ([a-z][^`\n|]*)", GUIDE)
    assert len(shown) >= 5
    for command in shown:
        require_program(["python", "manage.py", *shlex.split(command, comments=True)])


def test_a_shell_can_read_what_the_guide_shows() -> None:
    shown = re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
    assert len(shown) >= 5
    for commands in shown:
        subprocess.run(["/bin/sh", "-n"], input=commands, text=True, check=True)


def test_services_that_the_guide_names_are_those_of_compose() -> None:
    named: set[str] = set()
    for shown in re.findall(r"docker\s+compose ([^`\n|]+)", GUIDE):
        command, *words = [word for word in shown.split() if not word.startswith("-")]
        assert command in {"build", "exec", "run", "stop", "up"}
        named |= set(words if command in {"stop", "up"} else words[:1])
    assert named == set(COMPOSE["services"])


def test_variables_that_the_guide_names_are_those_that_programs_read() -> None:
    named = set(re.findall(r"`([A-Z]+_[A-Z_]+)(?:=[^`]*)?`", GUIDE))
    assert {"DATABASE_URL", "WEB_THREADS"} <= named
    elsewhere = {"INSTALLED_APPS", "DJANGO_SETTINGS_MODULE", "RUNWORKERS_OPTIONS"}
    assert named <= names_of_settings() | elsewhere
