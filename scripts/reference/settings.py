"""Owns the page of all settings, from what stands beneath each of them in `config` and in `scheduling/conf.py`.

That is a text, and after it a line of facts. A number has a `Unit: ….`, and a default that is computed has words,
`Default: ….`. What is no number may say what it is, `Value: ….`.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from scripts.reference.source import ROOT, Unsaid, body_of, said_beneath, text_of, text_within

HEAD = """\
# Settings

<!-- Made from config/*.py and scheduling/conf.py by `make reference`. -->

All are environment variables, read when a program starts. Lists are separated by commas. What is said of a new tenant is
what its row starts with; from then on the row counts, which the console changes.

[A project of yours](../how-to/install-into-a-project.md) reads nothing from the environment. Those of the apps go into its
settings, under the names that stand there: `RENTROLL = {"TENANT_MAX_QUEUED": 500, "RETENTION": timedelta(days=7)}`.
"""
APPS = "scheduling.conf.Settings"
WEB_SERVER = "The web server"
"""The chapter of what is not among Django's settings."""

CHAPTER = re.compile(r"(?<=\n\n)# (\w[\w ]*)\n\n")
"""A comment that stands alone."""
FACTS = re.compile(r"\n\n((?:Unit|Value|Default): .*\.)\Z")
FACT = re.compile(r"(Unit|Value|Default): (.*?)\.(?= Default:|\Z)")
KINDS = {"Sequence[str]": "list", "bool": "bool", "str": "str"}
VALUES = {"bool": "`0` or `1`", "list": "list", "str": "text"}
"""Of those that are no numbers, unless something else is said."""


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    says: str
    facts: Mapping[str, str]
    is_of_the_apps: bool = False

    def __str__(self) -> str:
        facts = " ".join(f"{fact}: {told}." for fact, told in self.facts.items())
        place = f' Also: `RENTROLL["{self.name}"]`.' if self.is_of_the_apps else ""
        return f"### `{self.name}`\n\n{self.says}\n\n{facts}{place}\n"


def page() -> str:
    parts = [HEAD]
    for title, settings in chapters().items():
        parts += [f"## {title}\n", *map(str, settings)]
    return "\n".join(parts)


def chapters() -> dict[str, list[Setting]]:
    """All settings, under the headings of the file that they stand in. Raises Unsaid."""
    of_the_apps = {
        title: list(settings_of_the_apps(body)) for title, body in headed(text_within(APPS))
    }
    found: dict[str, list[Setting]] = {}
    for title, body in headed(text_of("config.settings")):
        found.setdefault(title, []).extend(settings_in(body))
        if title in of_the_apps:  # with theirs that follow, in their order
            for theirs, settings in of_the_apps.items():
                found.setdefault(theirs, []).extend(settings)
            of_the_apps = {}
    for file in sorted((ROOT / "config").glob("*.py")):
        if file.name != "settings.py":
            found.setdefault(WEB_SERVER, []).extend(settings_in(body_of(f"config.{file.stem}")))
    return {title: settings for title, settings in found.items() if settings}


def headed(text: str) -> Iterator[tuple[str, list[ast.stmt]]]:
    """What stands under each heading."""
    _, *parts = CHAPTER.split(f"\n{text}")
    for title, under in zip(parts[::2], parts[1::2], strict=True):
        yield title, ast.parse(under).body


def settings_of_the_apps(body: list[ast.stmt]) -> Iterator[Setting]:
    """Each is a field: its type and its default are those of the environment."""
    for name, field, said in said_beneath(body):
        match field:
            case ast.AnnAssign(annotation=annotation, value=ast.expr() as default):
                kind = KINDS.get(ast.unparse(annotation), "")
                yield replace(setting(name, kind, default, said), is_of_the_apps=True)


def settings_in(body: list[ast.stmt]) -> Iterator[Setting]:
    for _, assignment, said in said_beneath(body):
        for call in ast.walk(assignment):
            match call:
                case ast.Call(
                    ast.Attribute(ast.Name("env") | ast.Attribute(attr="env"), kind),
                    [ast.Constant(str(name))],
                    [ast.keyword("default", default), *_],
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
        case list() | tuple():
            value = ",".join(value)
    return f"`{value}`" if value != "" else "none"
