"""Django's task interface on the ledger: what `TASKS["default"]["BACKEND"]` names."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver

from scheduling import clock, ledger, tracing
from scheduling import models as rows
from scheduling.compat import (
    BaseTaskBackend,
    InvalidDeclaration,
    Task,
    TaskResult,
    TaskResultDoesNotExist,
    normalize_json,
    task_enqueued,
)
from scheduling.conf import conf
from scheduling.declaring.ledger_task import LedgerTask
from scheduling.enqueueing import new_task
from scheduling.errors import InvalidTask, TenantRequired
from scheduling.results import enqueued, result_of
from tenants import current
from tenants.models import Tenant

__all__ = ["InvalidCall", "LedgerBackend", "LedgerTask", "UnserializableCall"]

Call = tuple[LedgerTask, Sequence[Any], Mapping[str, Any]]
"""A task and the arguments it is to be called with, named or not."""


class InvalidCall(InvalidTask, InvalidDeclaration):
    """A call that cannot be enqueued, in the framework's own terms as well as in ours."""


class UnserializableCall(InvalidCall, TypeError):
    """One with an argument that JSON cannot say, which the framework takes for an error of its type."""


class LedgerBackend(BaseTaskBackend):
    """Enqueues into the ledger, as part of the caller's transaction if one is open, and reads from it.

    Whose tasks: the tenant in `using(tenant=…)`, else the one acted for, else DEFAULT_TENANT. While a tenant
    is acted for, results of others do not exist.
    """

    task_class = LedgerTask
    supports_async_task = True
    supports_defer = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: Mapping[str, Any]) -> None:
        """A project need not list its queues: without `QUEUES` a task may name any."""
        super().__init__(alias, {"QUEUES": [], **params})

    def enqueue(  # type: ignore[override]  # generic in the stubs, and not on Django 6.1
        self, task: Task, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> TaskResult:
        """Store one task; see `bulk_enqueue`."""
        return self.bulk_enqueue([(cast("LedgerTask", task), args, kwargs)])[0]

    def bulk_enqueue(self, calls: Iterable[Call]) -> list[TaskResult]:
        """Store tasks in one transaction, all or none, and send `task_enqueued` for each.

        Raises TenantRequired, InvalidTask, LimitExceeded, Overloaded, IdempotencyMismatch.
        """
        tasks, new = [], []
        trace_context = tracing.current()
        for task, args, kwargs in calls:
            tasks.append(task)
            try:
                new.append(
                    new_task(
                        task,
                        args,
                        kwargs,
                        tenant_id=owner_of(task),
                        trace_context=trace_context,
                    )
                )
            except InvalidTask as error:
                raise invalid_call(args, kwargs)(error.errors) from None
        results = [
            self._read(answer.task_id)
            if answer.replayed
            else enqueued(answer, task, one, self.alias)
            for answer, task, one in zip(ledger.enqueue(new), tasks, new, strict=True)
        ]
        if task_enqueued.receivers:
            for result in results:
                task_enqueued.send(type(self), task_result=result)
        return results

    async def abulk_enqueue(self, calls: Iterable[Call]) -> list[TaskResult]:
        """See `bulk_enqueue`."""
        return await sync_to_async(self.bulk_enqueue, thread_sensitive=True)(calls)

    def get_result(self, result_id: str) -> TaskResult:
        """What became of a task so far. Raises TaskResultDoesNotExist, also for another tenant's."""
        try:
            return self._read(UUID(result_id), tenant=current.current())
        except (ValueError, rows.Task.DoesNotExist):
            raise TaskResultDoesNotExist(result_id) from None

    def _read(self, task_id: UUID, tenant: Tenant | None = None) -> TaskResult:
        found = rows.Task.objects.of(tenant).select_related("lease").prefetch_related("history")
        return result_of(found.get(pk=task_id), self.alias)


def invalid_call(args: Sequence[Any], kwargs: Mapping[str, Any]) -> type[InvalidCall]:
    """Which of the two it is: the framework's own way of putting arguments into JSON decides."""
    try:
        normalize_json([args, kwargs])
    except TypeError:
        return UnserializableCall
    except (ValueError, RecursionError):
        return InvalidCall
    return InvalidCall


def owner_of(task: LedgerTask) -> int:
    """The id of the tenant a task is enqueued for. Raises TenantRequired, or InvalidTask for an unknown slug."""
    tenant = task.tenant or current.current() or conf().DEFAULT_TENANT
    if isinstance(tenant, Tenant):
        return tenant.pk
    if not tenant:
        raise TenantRequired
    return tenant_id(tenant, int(clock.monotonic() // SLUGS_TRUSTED_FOR_SECONDS))


SLUGS_TRUSTED_FOR_SECONDS = 30
"""A slug seldom changes hands; when it does in another process, this one follows within that time."""


@lru_cache(maxsize=1024)
def tenant_id(slug: str, period: int) -> int:
    """The tenant's id, asked of the database once a period."""
    found = Tenant.objects.filter(slug=slug).values_list("pk", flat=True).first()
    if found is None:
        raise InvalidTask({"tenant": f"There is no tenant {slug!r}."})
    return found


@receiver([post_save, post_delete], sender=Tenant)
def forget_slugs(**kwargs: Any) -> None:
    tenant_id.cache_clear()
