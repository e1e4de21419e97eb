"""What `@task` makes of a function when the ledger is the backend: Django's task with durable options."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Self

from django.utils.inspect import get_func_args

from scheduling import clock, options
from scheduling.compat import InvalidDeclaration, Task
from scheduling.declaring import registry
from scheduling.errors import InvalidTask
from tenants.models import Tenant

STOCK = frozenset({"priority", "queue_name", "run_after", "backend"})
"""The options that the framework looks at when a task is declared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerTask(Task):
    """A task as it was declared, or a copy that `using()` gave other options for the next `enqueue()`.

    Whether the function wants the context is told from its first parameter, when that is named `context`.
    Raises the framework's InvalidTask for options no attempt could be made with.
    """

    name: str = ""
    """What the API calls it. A task without one cannot be reached from outside."""
    max_attempts: int = 3
    """How many attempts are charged before it is a dead letter."""
    timeout: timedelta | None = None
    """How long one attempt may take."""
    deadline: datetime | timedelta | None = None
    """After when no attempt may start any more; a timedelta counts from enqueueing."""
    backoff: Callable[[int], timedelta] | None = None
    """The delay after each failed attempt (1, 2, …). None: exponential with full jitter."""
    tenant: Tenant | str | None = None
    """Whose it is, as a row or a slug. None: the tenant acted for, or the DEFAULT_TENANT."""
    idempotency_key: str | None = None
    """Enqueueing again under the same key gives the first task back, if it asks for the same."""
    label: str | None = None
    """By which a person finds it again, such as `order 4711`. Several tasks may have the same."""

    def __post_init__(self) -> None:
        if get_func_args(self.func)[:1] == ["context"]:
            object.__setattr__(self, "takes_context", True)
        Task.__post_init__(self)  # slots make dataclass() build a second class, unknown to super()
        self._hold_to_rules(
            name=self.name or None,
            queue_name=self.queue_name,
            max_attempts=self.max_attempts,
            timeout=self.timeout,
            deadline=self.deadline,
            backoff=self.backoff,
            idempotency_key=self.idempotency_key,
            label=self.label,
        )
        registry.add(self)

    def _hold_to_rules(self, **given: object) -> None:
        if faults := options.faults(**given):
            raise InvalidDeclaration(
                f"{self.module_path} cannot be enqueued: {InvalidTask(faults)}"
            )

    def using(
        self,
        *,
        priority: int | None = None,
        queue_name: str | None = None,
        run_after: datetime | timedelta | None = None,
        backend: str | None = None,
        max_attempts: int | None = None,
        timeout: timedelta | None = None,
        deadline: datetime | timedelta | None = None,
        tenant: Tenant | str | None = None,
        idempotency_key: str | None = None,
        label: str | None = None,
    ) -> Self:
        """A copy with the options given; None leaves one as it is. A timedelta of `run_after` counts from now."""
        if isinstance(run_after, timedelta):
            run_after = clock.now() + run_after
        asked = {
            "priority": priority,
            "queue_name": queue_name,
            "run_after": run_after,
            "backend": backend,
            "max_attempts": max_attempts,
            "timeout": timeout,
            "deadline": deadline,
            "tenant": tenant,
            "idempotency_key": idempotency_key,
            "label": label,
        }
        changed: dict[str, Any] = {name: one for name, one in asked.items() if one is not None}
        if not STOCK.isdisjoint(changed):
            return replace(self, **changed)
        self._hold_to_rules(
            max_attempts=max_attempts,
            timeout=timeout,
            deadline=deadline,
            idempotency_key=idempotency_key,
            label=label,
        )
        return self._copy_with(changed)

    def called(self, name: str) -> Self:
        """A copy under another name, which the registry does not learn."""
        return self._copy_with({"name": name})

    def _copy_with(self, changed: Mapping[str, object]) -> Self:
        """Without declaring it anew: the framework looks at function and queue again, and those are the same."""
        copy = object.__new__(type(self))
        put = object.__setattr__
        for name in self.__dataclass_fields__:
            put(copy, name, getattr(self, name))
        for name, value in changed.items():
            put(copy, name, value)
        return copy

    @property
    def ledger_name(self) -> str:
        """What the ledger calls it: its API name, or else where its function lives."""
        return self.name or self.module_path

    @property
    def timeout_seconds(self) -> float | None:
        return None if self.timeout is None else self.timeout.total_seconds()
