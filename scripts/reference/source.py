"""Owns how a module's text is read: what stands in it, and what is said of each, without importing it."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from inspect import cleandoc
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import TypeAlias

Assignment: TypeAlias = ast.Assign | ast.AnnAssign
ROOT = Path(__file__).resolve().parents[2]
WIDEST = 88
"""Columns of a signature on one line."""


class Unsaid(Exception):
    """Something has no text beside it in the code."""


def text_of(module: str) -> str:
    return (ROOT / module.replace(".", "/")).with_suffix(".py").read_text()


def body_of(source: str) -> list[ast.stmt]:
    """Of a module, or of a class in one."""
    module, _, name = source.rpartition(".")
    if not name[0].isupper():
        return ast.parse(text_of(source)).body
    for statement in body_of(module):
        if isinstance(statement, ast.ClassDef) and statement.name == name:
            return statement.body
    raise LookupError(f"There is no {source} any more.")


def text_within(source: str) -> str:
    """What stands in a class after its docstring, as it would outside of it."""
    docstring, *_, last = body_of(source)
    lines = text_of(source.rpartition(".")[0]).splitlines(keepends=True)
    return dedent("".join(lines[docstring.end_lineno : last.end_lineno]))


def said_beneath(body: Iterable[ast.stmt]) -> Iterator[tuple[str, Assignment, str]]:
    """The assignments: the name, how it comes about, and the text beneath; "" where there is none."""
    for statement, following in pairwise([*body, ast.Pass()]):
        match statement:
            case ast.Assign([ast.Name(name)]) | ast.AnnAssign(ast.Name(name)):
                yield name, statement, text_in(following)


def text_in(statement: ast.stmt) -> str:
    match statement:
        case ast.Expr(ast.Constant(str(text))):
            return cleandoc(text)
    return ""


def signature(function: ast.FunctionDef | ast.AsyncFunctionDef, called: str) -> str:
    """How it is called, in as many lines as it takes."""
    arguments = function.args
    if arguments.args and arguments.args[0].arg == "self":
        del arguments.args[0]
    answer = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    begin = "await " if isinstance(function, ast.AsyncFunctionDef) else ""
    given = list(each(arguments))
    whole = f"{begin}{called}({', '.join(given)}){answer}"
    if len(whole) <= WIDEST:
        return whole
    lines = "".join(f"    {one},\n" for one in given)
    return f"{begin}{called}(\n{lines}){answer}"


def each(arguments: ast.arguments) -> Iterator[str]:
    """One by one, as a call takes them."""
    missing = [None] * (len(arguments.args) - len(arguments.defaults))
    yield from map(written, arguments.args, [*missing, *arguments.defaults])
    if arguments.vararg:
        yield f"*{ast.unparse(arguments.vararg)}"
    elif arguments.kwonlyargs:
        yield "*"
    yield from map(written, arguments.kwonlyargs, arguments.kw_defaults)
    if arguments.kwarg:
        yield f"**{ast.unparse(arguments.kwarg)}"


def written(argument: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(argument) + (f" = {ast.unparse(default)}" if default else "")


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """In Markdown: a cell is one line, in which a bar would end it."""
    lines = [f"| {' | '.join(map(as_cell, cells))} |" for cells in [heading, *rows]]
    lines.insert(1, "|---" * len(heading) + "|")
    return "\n".join(lines) + "\n"


def as_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
