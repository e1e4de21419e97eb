"""Owns the faults that are tried, and how one is put into modules that are imported already."""

import gc
import importlib
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import _lru_cache_wrapper, cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tests.mutants import python, statements

ROOT = Path(__file__).parents[2]
PLAIN = (str, int, float, timedelta, tuple, frozenset)
"""Constants that are replaced wherever they were imported to; functions are changed in place."""
STATEMENT = re.compile(r"\s*(WITH|SELECT|INSERT|UPDATE|DELETE)\b")


@dataclass(frozen=True, slots=True)
class Fault:
    path: str
    """Of the module, from the root of the project."""
    line: int
    label: str
    which: int
    """Its place among the faults of its module."""
    seen_by: tuple[tuple[str, int], ...]
    """The lines that a test must come by, one of them, to notice it."""

    @property
    def name(self) -> str:
        return f"{self.place} {self.label}"

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


def faults_of(path: str) -> list[Fault]:
    """Those that are called the same are told apart by a number."""
    faults = _of_statements(path) if path.endswith("statements.py") else _of_python(path)
    names: Counter[str] = Counter()
    told_apart = []
    for fault in faults:
        names[fault.name] += 1
        nth = names[fault.name]
        told_apart.append(replace(fault, label=f"{fault.label} #{nth}") if nth > 1 else fault)
    return told_apart


def _of_python(path: str) -> Iterator[Fault]:
    source = (ROOT / path).read_text()
    for which, slip in enumerate(python.slips(source)):
        seen_by = [(path, line) for line in slip.lines]
        constant = re.match(r"\w+(?=:| =)", source.splitlines()[slip.lines[0] - 1])
        if constant:
            seen_by = [at for at in _mentions(constant[0]) if at != (path, slip.lines[0])]
        yield Fault(path, slip.lines[0], slip.label, which, tuple(seen_by))


def _of_statements(path: str) -> Iterator[Fault]:
    source = (ROOT / path).read_text()
    which = 0
    for name, statement in _statements(path):
        line = next(
            nth for nth, text in enumerate(source.splitlines(), 1) if text.startswith(f"{name} =")
        )
        seen_by = tuple(_mentions(f"sql.{name}", beside=path))
        for label, _ in statements.slips(statement):
            yield Fault(path, line, f"{name}: {label}", which, seen_by)
            which += 1


def _statements(path: str) -> list[tuple[str, str]]:
    """Without those that others are made from."""
    return [
        (name, value)
        for name, value in vars(_module(path)).items()
        if isinstance(value, str) and STATEMENT.match(value) and "{" not in value
    ]


def _mentions(name: str, beside: str = "") -> list[tuple[str, int]]:
    """Lines of the ledger that speak of something by its name."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    folder = (ROOT / beside).parent if beside else ROOT / "scheduling"
    return [
        (str(file.relative_to(ROOT)), nth)
        for file in sorted(folder.rglob("*.py"))
        for nth, text in enumerate(_lines(file), 1)
        if word.search(text)
    ]


@cache
def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines()


def _module(path: str) -> ModuleType:
    return importlib.import_module(
        path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    )


class Imported:
    """The functions that are there, by where they were written."""

    def __init__(self) -> None:
        self._functions: dict[tuple[str, str, int], list[FunctionType]] = {}
        self._caches: list[Any] = []
        gc.unfreeze()  # what was frozen when the tests had been collected is not among the objects
        for one in gc.get_objects():
            if isinstance(one, FunctionType):
                self._functions.setdefault(_key(one.__code__), []).append(one)
            elif isinstance(one, _lru_cache_wrapper) and one.__module__.startswith("scheduling."):
                self._caches.append(one)

    def put_in(self, fault: Fault) -> None:
        """For good, so in a process that is of no other use."""
        module = _module(fault.path)
        if fault.path.endswith("statements.py"):
            slips = [
                (name, faulty)
                for name, statement in _statements(fault.path)
                for _, faulty in statements.slips(statement)
            ]
            setattr(module, *slips[fault.which])
            return
        source = (ROOT / fault.path).read_text()
        tree = python.slip_in(source, fault.which)
        code = compile(tree, str(module.__file__), "exec")
        for cached in self._caches:
            cached.cache_clear()
        for new in _codes(code):
            for function in self._functions.get(_key(new), ()):
                if _differs(function.__code__, new):
                    function.__code__ = new
        if not python.slips(source)[fault.which].runs_late:
            self._put_in_constants(module, code)

    def _put_in_constants(self, module: ModuleType, code: CodeType) -> None:
        namespace: dict[str, Any] = {"__name__": module.__name__, "__file__": module.__file__}
        exec(code, namespace)  # noqa: S102  # our own module, with a fault
        for name, new in namespace.items():
            old = vars(module).get(name)
            if isinstance(new, PLAIN) and old != new:
                for other in list(sys.modules.values()):
                    if getattr(other, "__dict__", {}).get(name) is old:
                        setattr(other, name, new)
        for made in gc.get_objects():
            if isinstance(made, FunctionType) and made.__globals__ is namespace:
                for function in self._functions.get(_key(made.__code__), ()):
                    _put_in_defaults(function, made)


def _differs(code: CodeType, new: CodeType) -> bool:
    return code != new and len(code.co_freevars) == len(new.co_freevars)


def _put_in_defaults(function: FunctionType, new: FunctionType) -> None:
    if _plain(new.__defaults__) != _plain(function.__defaults__):
        function.__defaults__ = new.__defaults__
    if _plain(new.__kwdefaults__) != _plain(function.__kwdefaults__):
        function.__kwdefaults__ = new.__kwdefaults__


def _plain(defaults: Any) -> str:
    values = defaults.values() if isinstance(defaults, dict) else defaults or ()
    return repr([value for value in values if isinstance(value, PLAIN)])


def _codes(code: CodeType) -> Iterator[CodeType]:
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield const
            yield from _codes(const)


def _key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno
