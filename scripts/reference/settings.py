"""Owns the page of all settings, from what stands beneath each of them in `config`.

That is a text, and after it a line of facts. A number has a `Unit: ….`, and a default that is computed has words,
`Default: ….`. What is no number may say what it is, `Value: ….`.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from scripts.reference.source import ROOT, Unsaid, body_of, said_beneath, text_of

HEAD = """\
# Settings

<!-- Made from config/*.py by `make reference`. -->

All are environment variables, read when a program starts. Lists are separated by commas. What is said of a new tenant is
what its row starts with; from then on the row counts, which the console changes.
"""
WEB_SERVER = "The web server"
"""The chapter of what is not among Django's settings."""

CHAPTER = re.compile(r"(?<=\n\n)# (\w[\w ]*)\n\n")
"""A comment that stands alone."""
FACTS = re.compile(r"\n\n((?:Unit|Value|Default): .*\.)\Z")
FACT = re.compile(r"(Unit|Value|Default): (.*?)\.(?= Default:|\Z)")
VALUES = {"bool": "`0` or `1`", "list": "list", "str": "text"}
"""Of those that are no numbers, unless something else is said."""


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    says: str
    facts: Mapping[str, str]

    def __str__(self) -> str:
        facts = " ".join(f"{fact}: {told}." for fact, told in self.facts.items())
        return f"### `{self.name}`\n\n{self.says}\n\n{facts}\n"


def page() -> str:
    parts = [HEAD]
    for title, settings in chapters().items():
        parts += [f"## {title}\n", *map(str, settings)]
    return "\n".join(parts)


def chapters() -> dict[str, list[Setting]]:
    """All settings, under the headings of the file that they stand in. Raises Unsaid."""
    found: dict[str, list[Setting]] = {}
    _, *parts = CHAPTER.split(text_of("config.settings"))
    for title, text in zip(parts[::2], parts[1::2], strict=True):
        found[title] = list(settings_in(ast.parse(text).body))
    for file in sorted((ROOT / "config").glob("*.py")):
        if file.name != "settings.py":
            found.setdefault(WEB_SERVER, []).extend(settings_in(body_of(f"config.{file.stem}")))
    return {title: settings for title, settings in found.items() if settings}


def settings_in(body: list[ast.stmt]) -> Iterator[Setting]:
    for _, assignment, said in said_beneath(body):
        for call in ast.walk(assignment):
            match call:
                case ast.Call(
                    ast.Attribute(ast.Name("env") | ast.Attribute(attr="env"), kind),
                    [ast.Constant(str(name))],
                    [ast.keyword("default", default)],
                ):
                    yield setting(name, kind, default, said)


def setting(name: str, kind: str, default: ast.expr, said: str) -> Setting:
    says, facts = taken_apart(said)
    if not says:
        raise Unsaid(f"Write beneath {name} what it means.")
    if "Unit" not in facts and "Value" not in facts:
        if kind not in VALUES:
            raise Unsaid(f"Write a line `Unit: ….` beneath {name}.")
        facts = {"Value": VALUES[kind]} | facts
    if "Default" not in facts:
        facts["Default"] = value_of(name, default)
    return Setting(name, says, facts)


def taken_apart(said: str) -> tuple[str, dict[str, str]]:
    """The text, and the facts after it."""
    found = FACTS.search(said)
    return (said[: found.start()], dict(FACT.findall(found[1]))) if found else (said, {})


def value_of(name: str, default: ast.expr) -> str:
    """As it would be written in the environment."""
    try:
        value = ast.literal_eval(default)
    except ValueError:
        raise Unsaid(f"Write a line `Default: ….` beneath {name}: it is computed.") from None
    match value:
        case bool():
            return f"`{value:d}`"
        case int() if value >= 10_000:
            return f"{value:,}"
        case list():
            value = ",".join(value)
    return f"`{value}`" if value != "" else "none"
