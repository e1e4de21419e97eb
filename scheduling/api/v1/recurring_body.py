"""Owns how bodies become recurring tasks, and changes of them. What is wrong is told field by field, all of it at once.

`null` stands for what a field is when nothing is said: that of the task, or of recurring tasks in general.
"""

from collections.abc import Mapping, Set
from copy import copy
from dataclasses import MISSING, fields
from datetime import datetime
from typing import Any

from scheduling import clock
from scheduling.errors import InvalidTask
from scheduling.instants import parse_instant
from scheduling.ledger.recurring.form import EDITABLE, RULE, faults_of_its_end, fill
from scheduling.ledger.recurring.values import NewRecurring
from scheduling.making import OF_THE_TASK, what_is_made
from scheduling.models import RecurringTask
from scheduling.recurrence import Recurrence
from tenants.models import Tenant

WHAT_IS_MADE = frozenset({"task_name", "payload", "deadline_seconds", *OF_THE_TASK})
INSTANTS = ("anchor", "starts_at", "ends_at")
USUAL: Mapping[str, Any] = {
    field.name: {} if field.default is MISSING else field.default
    for field in fields(NewRecurring)
    if field.default is not MISSING or field.default_factory is not MISSING
}
"""What a field is when nothing is said."""


def new_recurring(body: Mapping[str, Any], owner: Tenant) -> NewRecurring:
    """The recurring task that the body asks for. Raises InvalidTask."""
    values, faults = read(body, EDITABLE | {"tenant", "paused"})
    given = {field: value for field, value in values.items() if value is not None}
    given.pop("tenant", None)
    paused = given.pop("paused", False)
    if not isinstance(paused, bool):
        faults["paused"] = "must be true or false"
    made, more = what_is_made(given)
    whole = {"name": None, "task_name": None, **USUAL, **given, **made}
    row = RecurringTask()
    faults |= more | faults_of(row, keeping(whole))
    if not faults:
        faults |= faults_of_its_end(row, clock.now())
    if faults:
        raise InvalidTask(faults)
    return NewRecurring(tenant_id=owner.pk, **keeping(whole), paused=paused)


def changes_of(body: Mapping[str, Any], row: RecurringTask) -> dict[str, Any]:
    """What the body changes of a recurring task. Raises InvalidTask."""
    changes, faults = read(body, EDITABLE)
    changes = {
        field: USUAL.get(field) if value is None else value for field, value in changes.items()
    }
    if not WHAT_IS_MADE.isdisjoint(changes):
        now = {field: getattr(row, field) for field in WHAT_IS_MADE}
        given = {field: value for field, value in {**now, **body}.items() if value is not None}
        made, more = what_is_made(given)
        changes |= {field: made[field] for field in made.keys() & changes.keys()}
        faults |= more
    faults |= faults_of(copy(row), changes)
    if faults:
        raise InvalidTask(faults)
    return changes


def rule_in(body: Mapping[str, Any]) -> Recurrence:
    """The rule alone. Raises InvalidTask."""
    values, faults = read(body, RULE)
    row = RecurringTask()
    faults |= faults_of(row, {field: one for field, one in values.items() if one is not None})
    if faults:
        raise InvalidTask(faults)
    return row.recurrence


def read(body: Mapping[str, Any], known: Set[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The fields of a body, instants parsed, and what is wrong with them so far."""
    faults = dict.fromkeys(sorted(body.keys() - known), "is not a field of a recurring task")
    if "paused" in faults:
        faults["paused"] = "is changed by `/pause` and `/resume`"
    values = {field: value for field, value in body.items() if field in known}
    for field in values.keys() & set(INSTANTS):
        try:
            values[field] = instant_in(values[field], field)
        except InvalidTask as error:
            faults |= error.errors
            values[field] = None
    return values, faults


def instant_in(value: object, field: str) -> datetime | None:
    if value is None:
        return None
    return parse_instant(value if isinstance(value, str) else "", field)


def faults_of(row: RecurringTask, values: Mapping[str, Any]) -> dict[str, str]:
    """What the ledger would refuse. The row is filled for that, and not to be saved."""
    try:
        fill(row, values)
    except InvalidTask as error:
        return error.errors
    return {}


def keeping(values: Mapping[str, Any]) -> dict[str, Any]:
    """Those that can be edited later on."""
    return {field: value for field, value in values.items() if field in EDITABLE}
