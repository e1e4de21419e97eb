"""The ledger at the end of a run, when everything has stopped."""

from collections.abc import Iterator

from django.db import connection

from scheduling.ledger import check
from scheduling.models import Attempt, Refusal, Task
from tenants.models import Tenant
from tests.chaos.records import TaskRow, TenantRow, Token


def tenants() -> dict[int, TenantRow]:
    return {row.pk: TenantRow(row.slug, row.max_in_flight) for row in Tenant.objects.all()}


def tasks() -> dict[str, TaskRow]:
    return {
        str(task.pk): TaskRow(
            tenant_id=task.tenant_id,
            name=task.name,
            queue=task.queue,
            state=task.state,
            generation=task.generation,
            attempts=task.attempts,
            max_attempts=task.max_attempts,
        )
        for task in Task.objects.without_blobs()
    }


def attempts() -> dict[Token, str]:
    rows = Attempt.objects.values_list("task_id", "generation", "outcome")
    return {Token(str(task), generation): outcome for task, generation, outcome in rows}


def refusals() -> int:
    return Refusal.objects.count()


def complaints() -> Iterator[str]:
    """What the ledger's own checks say, and the database's."""
    for violation in check.violations():
        yield f"checkledger: {violation}"
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA integrity_check")
            for (row,) in cursor.fetchall():
                if row != "ok":
                    yield f"integrity_check: {row}"
