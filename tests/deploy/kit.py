"""What files for deployment have in common: programs, times to stop, and settings."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from django.core.management import get_commands, load_command_class

from config import gunicorn
from config.management.commands.serve import WEB
from scheduling.workers.options import Options
from scheduling.workers.supervisor import PAST_GRACE
from scripts.reference import settings
from tests.pages import DOCS

WEB_SECONDS_TO_STOP = gunicorn.graceful_timeout
"""Of one that stands alone; with others beside it, WEB_SECONDS_TO_LEAVE more."""
WORKERS_SECONDS_TO_STOP = Options().grace.total_seconds() + PAST_GRACE
MARGIN = 5
"""Seconds beside those, for what a loaded machine takes in addition."""


def names_of_settings() -> set[str]:
    """Every variable of the environment that the programs read."""
    return {one.name for chapter in settings.chapters().values() for one in chapter}


def require_program(command: list[str]) -> None:
    """CommandError, KeyError or AssertionError unless it is one of ours, with options that it takes."""
    python, *program = command
    assert Path(python).name == "python"
    if program[0] == "manage.py":
        name, *options = program[1:]
        command_class = load_command_class(get_commands()[name], name)
        command_class.create_parser("manage.py", name).parse_args(options)
    else:
        assert program == WEB[1:]


def variables_in(env_file: str) -> dict[str, str]:
    """Also those that are commented out."""
    lines = [line.removeprefix("#") for line in env_file.splitlines()]
    pairs = [line.partition("=") for line in lines if line[:1].isupper() and "=" in line]
    return {name: value for name, _, value in pairs if name.replace("_", "").isalpha()}


def all_containers(value: Any) -> Iterator[dict[str, Any]]:
    """Wherever they are in it."""
    if isinstance(value, dict):
        for key, inside in value.items():
            if key in {"containers", "initContainers"}:
                yield from inside
            else:
                yield from all_containers(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from all_containers(inside)


GUIDE = (DOCS / "deployment.md").read_text()
MANIFESTS = list(
    yaml.safe_load_all("---\n".join(re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)))
)
CONTAINERS = [container for spec in MANIFESTS for container in all_containers(spec)]
