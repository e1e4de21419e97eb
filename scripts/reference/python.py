"""Owns the page of what Python code may use: a text, in whose places stand signatures and docstrings."""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from scripts.reference.source import Unsaid, body_of, said_beneath, signature, table

TEXT = Path(__file__).with_suffix(".md")
PLACE = re.compile(r"^\{(\w+) ([\w.]+)(?: as (\w+))?(?:: ([\w, ]+))?\}\n", re.MULTILINE)
"""A kind of thing, the module or class they are in, what one calls that, and which: all that are public, unless said."""

Body: TypeAlias = Sequence[ast.stmt]
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def page() -> str:
    return PLACE.sub(filled, TEXT.read_text())


def filled(place: re.Match[str]) -> str:
    kind, source, owner, names = place.groups()
    body = body_of(source)
    return KINDS[kind](chosen(body, names.split(", ")) if names else body, owner)


def chosen(body: Body, names: Sequence[str]) -> Body:
    """In the order of the names. Raises KeyError for one that is no more."""
    found = {one.name: one for one in body if isinstance(one, Function | ast.ClassDef)}
    return [found[name] for name in names]


def functions(body: Body, owner: str | None) -> str:
    """Each under a heading: how it is called, and its docstring."""
    return "\n".join(
        entry(one, f"{owner}.{one.name}" if owner else one.name)
        for one in public(body)
        if not is_a("property", one)
    )


def entry(function: Function, called: str) -> str:
    before, _, answer = (signature(function, called)).rpartition(" -> ")
    call = f"with {before}: ..." if is_a("contextmanager", function) else f"{before} -> {answer}"
    return f"### `{called}`\n\n```python\n{call}\n```\n\n{docstring(function)}\n"


def properties(body: Body, owner: str | None) -> str:
    rows = [
        (f"`{owner}.{one.name}: {ast.unparse(one.returns)}`", docstring(one))
        for one in public(body)
        if one.returns and is_a("property", one)
    ]
    return table(("attribute", "tells"), rows)


def fields(body: Body, owner: str | None) -> str:
    rows = [
        (f"`{ast.unparse(assignment)}`", required(name, said))
        for name, assignment, said in said_beneath(body)
    ]
    return table(("option", "means"), rows)


def variables(body: Body, owner: str | None) -> str:
    return table(
        ("name", "means"),
        [(f"`{name}`", required(name, said)) for name, _, said in said_beneath(body)],
    )


def exceptions(body: Body, owner: str | None) -> str:
    rows = [
        (f"`{one.name}`", ", ".join(f"`{name}`" for name in told_by(one)), docstring(one))
        for one in body
        if isinstance(one, ast.ClassDef)
    ]
    return table(("exception", "has", "means"), rows)


KINDS: dict[str, Callable[[Body, str | None], str]] = {
    one.__name__: one for one in (exceptions, fields, functions, properties, variables)
}


def public(body: Body) -> Iterator[Function]:
    return (one for one in body if isinstance(one, Function) and not one.name.startswith("_"))


def is_a(decorator: str, function: Function) -> bool:
    return any(ast.unparse(one) == decorator for one in function.decorator_list)


def docstring(one: Function | ast.ClassDef) -> str:
    return required(one.name, ast.get_docstring(one))


def required(name: str, said: str | None) -> str:
    if not said:
        raise Unsaid(f"Write beneath {name} what it is.")
    return said


def told_by(exception: ast.ClassDef) -> Iterator[str]:
    """The attributes that it sets."""
    for node in ast.walk(exception):
        match node:
            case ast.Assign([ast.Attribute(ast.Name("self"), name)]):
                yield name
