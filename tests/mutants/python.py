"""Small faults in Python. Pure: from a module's source to the places where one slip can be made."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
TWINS = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "floor": "ceil",
    "ceil": "floor",
}
NARROWING = {"filter", "exclude", "order_by", "select_for_update", "distinct"}
"""What queries do without, and are then of too much or in no order."""
NAMING = {"values_list", "only", "order_by", "select_related", "select_for_update", "values"}
"""They are given names of columns, and no query runs with a wrong one."""
LOOKUPS = {"lt": "lte", "lte": "lt", "gt": "gte", "gte": "gt"}
LONG = 90
PASSED_OVER = (ast.Import, ast.ImportFrom, ast.Assert, ast.JoinedStr, ast.Raise, ast.Dict)
"""What has no faults inside of it; sentences for people are not the ledger's promises."""


Change = tuple[str, ast.AST]


@dataclass(frozen=True, slots=True)
class Slip:
    """A place in a module, and what is written there instead."""

    lines: range
    """Of the statement, without those inside of it."""
    label: str
    runs_late: bool
    """Inside a function's body: not when the module is imported."""


@dataclass(slots=True)
class _Spot:
    node: ast.AST
    holder: ast.AST
    field: str
    place: int | None
    lines: range
    runs_late: bool


def slips(source: str) -> list[Slip]:
    return [
        Slip(spot.lines, label, spot.runs_late)
        for spot in _spots(ast.parse(source))
        for label, _ in _changes(spot.node)
    ]


def slip_in(source: str, which: int) -> ast.Module:
    """The module with the slip that stands at that place of the list."""
    tree = ast.parse(source)
    changed = [(spot, node) for spot in _spots(tree) for _, node in _changes(spot.node)]
    spot, node = changed[which]
    ast.copy_location(node, spot.node)
    if spot.place is None:
        setattr(spot.holder, spot.field, node)
    else:
        getattr(spot.holder, spot.field)[spot.place] = node
    return ast.fix_missing_locations(tree)


def _spots(holder: ast.AST, lines: range = range(0), *, late: bool = False) -> Iterator[_Spot]:
    for field, place, node in _children(holder):
        own_lines = _lines(node, lines)
        if isinstance(holder, ast.FunctionDef) and field == "args":  # defaults
            own_lines = range(holder.body[0].lineno, (holder.end_lineno or 0) + 1)
        is_late = late or (isinstance(holder, ast.FunctionDef) and field == "body")
        yield _Spot(node, holder, field, place, own_lines, is_late)
        if isinstance(node, ast.Dict):
            for nth, value in enumerate(node.values):
                yield _Spot(value, node, "values", nth, own_lines, is_late)
                yield from _spots(value, own_lines, late=is_late)
        elif not isinstance(node, PASSED_OVER):
            yield from _spots(node, own_lines, late=is_late)


def _children(holder: ast.AST) -> Iterator[tuple[str, int | None, ast.AST]]:
    for field, value in ast.iter_fields(holder):
        if field in (
            "annotation",
            "returns",
            "decorator_list",
            "bases",
            "type_params",
            "op",
            "ops",
        ):
            continue
        for place, node in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(node, ast.AST) and not _is_apart(holder, node):
                yield field, place if isinstance(value, list) else None, node


def _is_apart(holder: ast.AST, node: ast.AST) -> bool:
    match holder, node:
        case ast.ClassDef(bases=[ast.Name("Protocol")]), _:
            return True
        case ast.ClassDef(), ast.Assign() | ast.AnnAssign():
            return True
        case _, ast.If(ast.Name("TYPE_CHECKING")):
            return True
        case ast.Module(), ast.Assign(targets=[ast.Name("__all__" | "logger")]):
            return True
        case ast.Call(func=ast.Attribute(attr=name)), ast.Constant() if name in NAMING:
            return True
        case ast.keyword(), ast.Constant(bool()):  # as if it were not given
            return True
        case _, ast.Expr(ast.Constant()) | ast.Expr(ast.Call(ast.Attribute(ast.Name("logger")))):
            return True
    return False


def _lines(node: ast.AST, around: range) -> range:
    if not isinstance(node, ast.stmt):
        return around
    body = getattr(node, "body", None)
    end = max(body[0].lineno - 1, node.lineno) if body else node.end_lineno or node.lineno
    return range(node.lineno, end + 1)


@singledispatch
def _changes(node: ast.AST) -> Iterator[Change]:
    """Each with what it is called."""
    yield from ()


@_changes.register
def _(node: ast.Compare) -> Iterator[Change]:
    if len(node.ops) == 1 and type(node.ops[0]) in OPERATORS:
        yield _instead(node, _with(node, ops=[OPERATORS[type(node.ops[0])]()]))


@_changes.register
def _(node: ast.BinOp | ast.AugAssign) -> Iterator[Change]:
    if type(node.op) in OPERATORS:
        yield _instead(node, _with(node, op=OPERATORS[type(node.op)]()))


@_changes.register
def _(node: ast.BoolOp) -> Iterator[Change]:
    for nth, value in enumerate(node.values):
        rest = [*node.values[:nth], *node.values[nth + 1 :]]
        yield (
            f"{_said(node)} without {ast.unparse(value)}",
            _with(node, values=rest) if len(rest) > 1 else rest[0],
        )


@_changes.register
def _(node: ast.UnaryOp) -> Iterator[Change]:
    if isinstance(node.op, ast.Not):
        yield _instead(node, node.operand)


@_changes.register
def _(node: ast.Constant) -> Iterator[Change]:
    if (other := _other(node.value)) is not None:
        yield _instead(node, ast.Constant(other))


@_changes.register
def _(node: ast.IfExp) -> Iterator[Change]:
    yield _instead(node, node.body)
    yield _instead(node, node.orelse)


@_changes.register
def _(node: ast.If) -> Iterator[Change]:
    if not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp):
        said = ast.unparse(node.test)
        yield f"if {said} → if not {said}", _with(node, test=ast.UnaryOp(ast.Not(), node.test))


@_changes.register
def _(node: ast.With) -> Iterator[Change]:
    """The block remains."""
    if all(item.optional_vars is None for item in node.items):
        yield f"without {_said(node)}", ast.If(ast.Constant(value=True), node.body, [])


@_changes.register
def _(node: ast.Return) -> Iterator[Change]:
    if node.value and not isinstance(node.value, ast.Constant):
        yield _instead(node, ast.Return(ast.Constant(None)))


@_changes.register
def _(node: ast.Expr | ast.Raise | ast.Continue) -> Iterator[Change]:
    yield f"without {_said(node)}", ast.Pass()


@_changes.register
def _(node: ast.comprehension) -> Iterator[Change]:
    if node.ifs:
        yield f"without if {ast.unparse(node.ifs[0])}", _with(node, ifs=[])


@_changes.register
def _(node: ast.Set) -> Iterator[Change]:
    for nth, element in enumerate(node.elts):
        rest = [*node.elts[:nth], *node.elts[nth + 1 :]]
        yield f"{_said(node)} without {ast.unparse(element)}", _with(node, elts=rest)


@_changes.register
def _(node: ast.Slice) -> Iterator[Change]:
    if node.upper:
        yield _instead(node, _with(node, upper=None))


@_changes.register
def _(node: ast.Call) -> Iterator[Change]:
    func = node.func
    if isinstance(func, ast.Name) and func.id in TWINS:
        yield _instead(node, _with(node, func=ast.Name(TWINS[func.id], ast.Load())))
    if isinstance(func, ast.Name) and func.id == "sorted":
        yield _instead(node, _with(node, func=ast.Name("list", ast.Load()), keywords=[]))
    if isinstance(func, ast.Attribute) and func.attr in NARROWING:
        yield f"{_said(node)} without .{func.attr}", func.value
    yield from _other_keywords(node)


def _other_keywords(call: ast.Call) -> Iterator[Change]:
    for nth, keyword in enumerate(call.keywords):
        before, after = call.keywords[:nth], call.keywords[nth + 1 :]
        if keyword.arg and (before or after or call.args):
            yield (
                f"{_said(call)} without {_said(keyword)}",
                _with(call, keywords=[*before, *after]),
            )
        field, _, lookup = (keyword.arg or "").rpartition("__")
        if lookup in LOOKUPS:
            other = _with(keyword, arg=f"{field}__{LOOKUPS[lookup]}")
            yield (
                f"{_said(call)} with {ast.unparse(other)}",
                _with(call, keywords=[*before, other, *after]),
            )


def _instead(node: ast.AST, other: ast.AST) -> Change:
    return f"{_said(node)} → {_said(other)}", other


def _said(node: ast.AST) -> str:
    first = ast.unparse(node).splitlines()[0]
    return first if len(first) <= LONG else f"{first[:LONG]}…"


def _other(value: object) -> str | int | float | None:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str() if not any(letter.isspace() for letter in value):
            return f"{value}X"
    return None


def _with(node: Any, **fields: Any) -> Any:
    return type(node)(**{**dict(ast.iter_fields(node)), **fields})
