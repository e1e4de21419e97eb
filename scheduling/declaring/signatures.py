"""Whether a task's arguments fit its function: told when it is enqueued, not when it runs."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from inspect import Parameter
from types import UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin, get_type_hints

from scheduling import payload
from scheduling.compat import Task
from scheduling.errors import InvalidTask

POSITIONAL = frozenset({Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD})
BY_NAME = frozenset({Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY})


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def is_object(value: object) -> bool:
    return isinstance(value, Mapping)


@dataclass(frozen=True, slots=True)
class Kind:
    """What values an annotation allows: those that pass the test, if all that they hold is allowed as well."""

    words: str
    types: frozenset[type]
    """What passes the test at a glance."""
    test: Callable[[object], bool]
    within: "AnyKind | None" = None
    """Of the items of a list or the values of an object; None if anything may be there."""

    def allows(self, value: Any) -> bool:
        if type(value) not in self.types and not self.test(value):
            return False
        if self.within is None:
            return True
        return all(map(self.within.allows, value.values() if is_object(value) else value))

    def fault(self, value: Any, field: str) -> tuple[str, str]:
        """The field of the first value that is not allowed, and what is wrong with it."""
        if self.within and self.test(value):
            for key, held in value.items() if is_object(value) else enumerate(value):
                if not self.within.allows(held):
                    return self.within.fault(held, field + payload.step(key))
        return field, f"must be {self.words}"


@dataclass(frozen=True, slots=True)
class Choice:
    """What a union allows: values of any of its kinds."""

    kinds: tuple[Kind, ...]

    @property
    def words(self) -> str:
        return " or ".join(dict.fromkeys(kind.words for kind in self.kinds))

    def allows(self, value: Any) -> bool:
        return any(kind.allows(value) for kind in self.kinds)

    def fault(self, value: Any, field: str) -> tuple[str, str]:
        """As that of the kind that was meant, if the value is a list or an object as one of them says."""
        for kind in self.kinds:
            if kind.test(value):
                return kind.fault(value, field)
        return field, f"must be {self.words}"


AnyKind: TypeAlias = Kind | Choice


JSON_KINDS = {
    bool: Kind("true or false", frozenset({bool}), lambda value: isinstance(value, bool)),
    int: Kind("a whole number", frozenset({int}), is_whole_number),
    float: Kind("a number", frozenset({int, float}), is_number),
    str: Kind("text", frozenset({str, bytes}), lambda value: isinstance(value, str | bytes)),
    list: Kind("a list", frozenset({list, tuple}), is_list),
    dict: Kind("an object", frozenset({dict}), is_object),
    type(None): Kind("null", frozenset({type(None)}), lambda value: value is None),
}
"""The annotations that are held to. What any other promises is between the function and its callers."""


def bind(task: Task, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Return if the function can be called with these arguments, the context aside.

    Raises InvalidTask for missing, unknown, repeated and wrongly typed ones, as `payload.<argument>`.
    """
    signature = signature_of(task.func, takes_context=task.takes_context)
    if not signature.fits(args, kwargs) and (faults := signature.faults(args, kwargs)):
        raise InvalidTask(faults)


@dataclass(frozen=True, slots=True)
class Signature:
    """A function's parameters, prepared once for being compared with many arguments."""

    positional: tuple[str, ...]
    by_name: tuple[str, ...]
    required: frozenset[str]
    kinds: Mapping[str, AnyKind]
    allows: Mapping[str, Callable[[Any], bool]]
    """Of each that can be named, whether it may have that value."""
    takes_more_positional: bool
    takes_more_by_name: bool

    def fits(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Whether a glance tells that nothing is wrong: all are named, or none is, and each is allowed."""
        given = kwargs or dict(zip(self.positional, args, strict=False))
        return (
            len(given) == len(args) + len(kwargs)
            and self.required <= given.keys() <= self.allows.keys()
            and all(self.allows[name](value) for name, value in given.items())
        )

    def faults(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, str]:
        """What is wrong with the arguments, by field."""
        given = dict(zip(self.positional, args, strict=False))
        misplaced = self._misplaced(args, kwargs, given)
        given |= kwargs
        missing = dict.fromkeys(self.required - given.keys(), "is missing")
        mistyped = dict(
            kind.fault(given[name], name)
            for name, kind in self.kinds.items()
            if name in given and not kind.allows(given[name])
        )
        faults = mistyped | missing | misplaced
        return {f"payload.{name}" if name else "payload": fault for name, fault in faults.items()}

    def _misplaced(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], given: Mapping[str, Any]
    ) -> dict[str, str]:
        faults = {}
        if len(args) > len(self.positional) and not self.takes_more_positional:
            faults[""] = f"has {len(args)} unnamed arguments, and {len(self.positional)} are taken"
        for name in kwargs:
            if name in self.by_name:
                if name in given:
                    faults[name] = "is given twice"
            elif not self.takes_more_by_name:
                faults[name] = (
                    f"is not known; the task takes {', '.join(self.by_name) or 'nothing'}"
                )
        return faults


@cache
def signature_of(func: Callable[..., Any], *, takes_context: bool) -> Signature:
    parameters = list(inspect.signature(func).parameters.values())
    if takes_context:
        del parameters[0]
    positional = tuple(p.name for p in parameters if p.kind in POSITIONAL)
    by_name = tuple(p.name for p in parameters if p.kind in BY_NAME)
    named = {*positional, *by_name}
    kinds = {name: kind_of(hint) for name, hint in _hints(func).items() if name in named}
    return Signature(
        positional=positional,
        by_name=by_name,
        required=frozenset(
            p.name for p in parameters if p.name in named and p.default is Parameter.empty
        ),
        kinds={name: kind for name, kind in kinds.items() if kind},
        allows={name: kind.allows if (kind := kinds.get(name)) else _anything for name in by_name},
        takes_more_positional=any(p.kind is Parameter.VAR_POSITIONAL for p in parameters),
        takes_more_by_name=any(p.kind is Parameter.VAR_KEYWORD for p in parameters),
    )


def kind_of(hint: Any) -> AnyKind | None:
    """What the annotation allows; None if it says more than JSON's own types can tell."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _choice([kind_of(choice) for choice in arguments])
    kind = JSON_KINDS.get(origin or hint)
    if kind and arguments:
        return replace(kind, within=kind_of(arguments[-1]))
    return kind


def _anything(value: object) -> bool:
    return True


def _choice(kinds: Sequence[AnyKind | None]) -> Choice | None:
    """Of kinds, of which none is a choice: Python flattens unions."""
    known = tuple(kind for kind in kinds if isinstance(kind, Kind))
    return Choice(known) if len(known) == len(kinds) else None


def _hints(func: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(func)
    except (AttributeError, NameError, TypeError):
        return {}  # they name what exists for the type checker only
