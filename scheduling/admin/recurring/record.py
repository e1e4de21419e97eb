"""What is put on record of what is done to recurring tasks."""

from typing import Any

from django.http import HttpRequest

from scheduling import audit
from scheduling.admin.audit import operator
from scheduling.admin.recurring.access import Act
from scheduling.models import OperatorAction, RecurringTask


def record(
    request: HttpRequest, act: Act, row: RecurringTask, *, done: int = 1, **told: Any
) -> OperatorAction:
    """In the same words as what is done over the API."""
    what = f"recurring task {row.name}"
    return audit.record(operator(request), act, what, tenant=row.tenant, done=done, **told)
