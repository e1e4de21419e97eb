"""Owns the page of all commands, from what their own `--help` is made of."""

from argparse import Action, ArgumentParser
from collections.abc import Iterator
from textwrap import TextWrapper, fill

from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand

from scripts.reference.source import Unsaid, table

HEAD = """\
# Commands

<!-- Made from the commands by `make reference`. -->

All are run as `python manage.py NAME`, and `--help` says what stands here. Exit code 0 is success. What is wrong is one
sentence on stderr, and exit code 2. `--json` is for programs: they find one JSON object on stdout. What goes for every
command of Django, such as `--verbosity`, is left out. `serve` and `bootstrap` are the stand-alone project's alone.
"""
APPS = ("config", "scheduling", "tenants")
WIDEST, WIDEST_CODE = 120, 88
UNBROKEN = "\0"
"""Stands for a blank at which no line may end."""


def page() -> str:
    commands = (name for name, app in sorted(get_commands().items()) if app in APPS)
    return "\n".join([HEAD, *map(entry, commands)])


def entry(name: str) -> str:
    command = load_command_class(get_commands()[name], name)
    parser = command.create_parser("manage.py", name)
    known = options_of(stock_of(command).create_parser("manage.py", name))
    own = [action for action in parser._actions if options_of_one(action).isdisjoint(known)]
    parts = [f"## `{name}`", usage(parser, own), fill(command.help, WIDEST)]
    if own:
        parts.append(table(("option", "means"), map(row, own)).rstrip())
    return "\n\n".join(parts) + "\n"


def stock_of(command: BaseCommand) -> BaseCommand:
    """Whose options are not ours to explain: the command of Django that this one is made from."""
    stock: type[BaseCommand] = next(
        cls for cls in type(command).__mro__ if cls.__module__.startswith("django.")
    )
    return stock()


def options_of(parser: ArgumentParser) -> set[str]:
    return {option for action in parser._actions for option in options_of_one(action)}


def options_of_one(action: Action) -> set[str]:
    return set(action.option_strings or [action.dest])


def usage(parser: ArgumentParser, own: list[Action]) -> str:
    """As an indented block, whose lines end between two arguments."""
    whole = " ".join(one.replace(" ", UNBROKEN) for one in alternatives(parser, own))
    wrapper = TextWrapper(
        WIDEST_CODE, initial_indent=" " * 4, subsequent_indent=" " * 8, break_on_hyphens=False
    )
    return wrapper.fill(f"{parser.prog} {whole}").replace(UNBROKEN, " ")


def alternatives(parser: ArgumentParser, own: list[Action]) -> Iterator[str]:
    """Each argument as it is given. Those that exclude one another stand where the first of them does."""
    groups = {id(group._group_actions[0]): group for group in parser._mutually_exclusive_groups}
    grouped = {id(one) for group in groups.values() for one in group._group_actions}
    for action in sorted(own, key=lambda action: not action.option_strings):
        if group := groups.get(id(action)):
            either = " | ".join(map(called, group._group_actions))
            yield f"({either})" if group.required else f"[{either}]"
        elif id(action) not in grouped:
            yield called(action) if action.required else f"[{called(action)}]"


def called(action: Action) -> str:
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if not action.option_strings:
        return metavar
    return action.option_strings[-1] + (f" {metavar}" if action.nargs != 0 else "")


def row(action: Action) -> tuple[str, str]:
    if not action.help:
        raise Unsaid(f"Say in `add_argument` what {called(action)} is.")
    return f"`{called(action)}`", action.help % vars(action)
