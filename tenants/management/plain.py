"""What the commands share: how arguments are read, and how errors reach the one who typed."""

import json
from argparse import ArgumentTypeError
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.serializers.json import DjangoJSONEncoder
from django.db import OperationalError

from scheduling import durations, tables
from tenants.models import Scope, Tenant

CLEAR_LINE = "\r\x1b[K"


class PlainCommand(BaseCommand):
    """A command that says in one sentence on stderr what is wrong, and ends with exit code 2.

    It runs only on the tables that this code was written for.
    """

    requires_migrations_checks = True

    def check_migrations(self) -> None:
        """What Django calls before the command, and would only have warn."""
        try:
            tables.require_fit()
        except tables.TablesDiffer as error:
            raise Wrong(str(error)) from error

    def tell(self, what: str) -> None:
        """To people only: on a terminal, where the next one takes its place, and "" the last."""
        if self.stderr.isatty():
            self.stderr.write(f"{CLEAR_LINE}{what}", style_func=str, ending="")
            self.stderr.flush()

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except OperationalError as error:
            raise no_answer(error) from error


class TellingCommand(PlainCommand):
    """A command that tells people in words what it did or found, and programs in JSON, with `--json`.

    JSON is one object on stdout, when all is done; instants in it are RFC 3339, in UTC.
    """

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **options)
        parser.add_argument("--json", action="store_true", help="say it as JSON")
        return parser

    def tell_as_json(self, told: Mapping[str, Any]) -> None:
        self.stdout.write(json.dumps(told, cls=DjangoJSONEncoder))


class Wrong(CommandError):
    """Exit code 2, as for arguments that cannot be read."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, returncode=2)


def no_answer(error: OperationalError) -> Wrong:
    cause = str(error).strip() or type(error).__name__
    return Wrong(f"The ledger does not answer: {cause}")


def tenant_called(slug: str) -> Tenant:
    tenant = Tenant.objects.filter(slug=slug).first()
    if tenant is None:
        raise Wrong(f"There is no tenant {slug!r}.")
    return tenant


def duration(text: str) -> timedelta:
    try:
        return durations.parse(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def truth(text: str) -> bool:
    try:
        return {"true": True, "false": False}[text.lower()]
    except KeyError:
        raise ArgumentTypeError(f"{text!r} is neither true nor false.") from None


def scopes(text: str) -> list[str]:
    named = [name.strip() for name in text.split(",")]
    if unknown := [name for name in named if name not in Scope.values]:
        raise ArgumentTypeError(f"{unknown[0]!r} is no scope. They are: {', '.join(Scope.values)}.")
    return named
