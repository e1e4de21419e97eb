"""Recurring tasks that code declares, and how they come into the ledger: `@recurring("*/5 * * * *")` on a task.

Whenever workers start, the ledger is told. Code has its say about each field once: what an operator has changed
since stays changed until the code says something else about that field. What code no longer declares is disabled.
If that was older code, which does not declare it yet, workers that do enable it again.
"""

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.core.exceptions import ImproperlyConfigured

from scheduling import ledger
from scheduling.compat import InvalidDeclaration
from scheduling.conf import conf
from scheduling.declaring import registry
from scheduling.declaring.ledger_task import LedgerTask
from scheduling.errors import InvalidTask, NameTaken, TooManyRecurring, UnknownRecurring
from scheduling.models import RecurringTask
from scheduling.policies import CATCHUP_WINDOW, Catchup, Overlap
from tenants.models import Tenant

__all__ = ["declared", "keep", "recurring", "sync"]

logger = logging.getLogger(__name__)

DeclaredTask = TypeVar("DeclaredTask")

RULE = frozenset({"cron", "every_seconds", "anchor"})
"""These are one thing to say: when it is due."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """What `@recurring` said about one task."""

    task: LedgerTask
    name: str
    tenants: tuple[str, ...]
    """Slugs. Empty: the tenant of the task, or the DEFAULT_TENANT."""
    values: Mapping[str, Any]
    """By the names of the row's fields."""

    def said(self) -> dict[str, Any]:
        """The values as JSON keeps them, to be compared with what was said before."""
        told: dict[str, Any] = json.loads(json.dumps(self.values, default=datetime.isoformat))
        return told

    def owners(self) -> tuple[str, ...]:
        own = self.task.tenant
        slug = own.slug if isinstance(own, Tenant) else own
        return self.tenants or tuple(filter(None, [slug or conf().DEFAULT_TENANT]))


_declared: dict[tuple[str, tuple[str, ...]], Declaration] = {}


def recurring(
    cron: str | None = None,
    *,
    every: timedelta | None = None,
    anchor: datetime | None = None,
    timezone: str = "UTC",
    name: str = "",
    tenant: str | Iterable[str] = (),
    payload: Mapping[str, Any] | None = None,
    queue: str | None = None,
    priority: int | None = None,
    starts_at: datetime | None = None,
    ends_at: datetime | None = None,
    jitter: timedelta = timedelta(),
    overlap: str = Overlap.SKIP,
    catchup: str = Catchup.ONE,
    catchup_window: timedelta = CATCHUP_WINDOW,
    pause_after_failures: int | None = None,
) -> Callable[[DeclaredTask], DeclaredTask]:
    """Have a task run again and again. Above `@task`, as often as there are names for it.

    `name` is the task's own unless given. `tenant` is a slug or several, each with a recurring task of its own;
    without it the tenant that the task names, or the DEFAULT_TENANT. All other options are those of the task.
    Raises the framework's InvalidTask for a rule, a policy or a payload that cannot be followed, and
    ImproperlyConfigured for a name that is taken.
    """

    def declare(task: DeclaredTask) -> DeclaredTask:
        if not isinstance(task, LedgerTask):
            raise InvalidDeclaration(f"@recurring belongs above @task, and {task!r} is no task.")
        given = {
            "task_name": task.ledger_name,
            "payload": dict(payload or {}),
            "queue": queue or task.queue_name,
            "priority": task.priority if priority is None else priority,
            "max_attempts": task.max_attempts,
            "timeout_seconds": task.timeout_seconds,
            "deadline_seconds": _seconds(task.deadline),
            "cron": cron,
            "every_seconds": None if every is None else _whole(every),
            "anchor": anchor,
            "timezone": timezone,
            "starts_at": starts_at,
            "ends_at": ends_at,
            "jitter_seconds": _whole(jitter),
            "overlap": str(overlap),
            "catchup": str(catchup),
            "catchup_window_seconds": _whole(catchup_window),
            "pause_after_failures": pause_after_failures,
        }
        slugs = (tenant,) if isinstance(tenant, str) else tuple(tenant)
        _add(Declaration(task, name or task.ledger_name, slugs, given))
        return task

    return declare


def _whole(duration: timedelta) -> int | float:
    """In seconds. What is no whole number of them is refused with everything else that is wrong."""
    seconds = duration.total_seconds()
    return int(seconds) if seconds.is_integer() else seconds


def _seconds(deadline: object) -> float | None:
    """Of a deadline that counts from enqueueing; one that is an instant has no meaning for the next tick."""
    return deadline.total_seconds() if isinstance(deadline, timedelta) else None


def _add(declaration: Declaration) -> None:
    _require_sound(declaration)
    key = (declaration.name, declaration.tenants)
    known = _declared.get(key)
    if known is not None and not _is_anew(declaration.task, known.task):
        raise ImproperlyConfigured(
            f"Two recurring tasks are called {declaration.name!r}: of {known.task.module_path} and "
            f"{declaration.task.module_path}. Give one of them a `name`."
        )
    _declared[key] = declaration


def _is_anew(task: LedgerTask, known: LedgerTask) -> bool:
    """Whether the same function was declared again, because its module was imported again."""
    return task.module_path == known.module_path and task.func is not known.func


def _require_sound(declaration: Declaration) -> None:
    values = {**declaration.values, "name": declaration.name}
    try:
        ledger.check_recurring(values)
        registry.bind(declaration.task, (), values["payload"])
    except InvalidTask as error:
        where = declaration.task.module_path
        raise InvalidDeclaration(f"{where} cannot recur: {error}") from error


def declared() -> list[Declaration]:
    """What the code that was imported so far declares."""
    return list(_declared.values())


def sync() -> None:
    """Tell the ledger what code declares. By any number of processes at once; whoever is first does it.

    A declaration whose tenant does not exist is logged, and made good at the next start. So is one whose name
    somebody has taken for a recurring task of their own, which is left alone, and one that does not go with what
    an operator has changed.
    """
    kept = set()
    for declaration in declared():
        owners = declaration.owners()
        if not owners:
            logger.error(
                "%s recurs for no tenant: name one, or set DEFAULT_TENANT.", declaration.name
            )
        for slug in owners:
            kept.add((slug, declaration.name))
            _sync(declaration, slug)
    if registry.failures():
        logger.error("Some tasks cannot be imported, so nothing that recurs is taken for gone.")
        return
    for row in RecurringTask.objects.filter(declared_in_code=True).select_related("tenant"):
        if (row.tenant.slug, row.name) not in kept:
            logger.warning("%s of %s is declared no longer; disabling it.", row.name, row.tenant)
            ledger.retire_recurring(row.pk)


def keep() -> None:
    """Enable again what others have disabled because their code does not declare it. For as long as ours runs."""
    ours = {(slug, one.name): one for one in declared() for slug in one.owners()}
    if not ours:
        return
    disabled = ledger.retired_recurring(name for _, name in ours)
    for row in disabled:
        declaration = ours.get((row.tenant.slug, row.name))
        if declaration is not None:
            logger.warning("%s of %s is declared here; enabling it again.", row.name, row.tenant)
            _enable(declaration, row)


def _enable(declaration: Declaration, row: RecurringTask) -> None:
    try:
        _update(declaration, row)
    except (UnknownRecurring, InvalidTask) as error:
        logger.error("%s of %s stays disabled: %s", row.name, row.tenant, error)


def _sync(declaration: Declaration, slug: str) -> None:
    tenant = Tenant.objects.filter(slug=slug).first()
    if tenant is None:
        logger.error("%s recurs for %r, and there is no such tenant.", declaration.name, slug)
        return
    row = RecurringTask.objects.filter(tenant=tenant, name=declaration.name).first()
    if row is None:
        _create(declaration, tenant)
    elif row.declaration is None:
        logger.error("%s of %s is not from code, and left alone.", row.name, tenant)
    else:
        _bring_up_to_date(declaration, row)


def _bring_up_to_date(declaration: Declaration, row: RecurringTask) -> None:
    try:
        _update(declaration, row)
    except InvalidTask as error:
        logger.error(
            "%s of %s stays as it is, because an operator has changed it and code says now: %s",
            row.name, row.tenant, error,
        )  # fmt: skip


def _create(declaration: Declaration, tenant: Tenant) -> None:
    new = ledger.NewRecurring(tenant_id=tenant.pk, name=declaration.name, **declaration.values)
    try:
        ledger.create_recurring(new, declaration=declaration.said())
    except NameTaken:
        logger.debug("%s was created by another process.", declaration.name)
    except TooManyRecurring as full:
        logger.error("%s does not recur for %s: %s", declaration.name, tenant, full)


def _update(declaration: Declaration, row: RecurringTask) -> None:
    said, before = declaration.said(), row.declaration
    news = {field for field, value in said.items() if value != before.get(field)}
    if news & RULE:
        news |= RULE
    if news or not row.declared_in_code:
        changes = {field: declaration.values[field] for field in news}
        ledger.edit_recurring(row.pk, changes, declaration=said)
