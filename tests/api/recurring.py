"""Recurring tasks as tests of the API keep them."""

from datetime import datetime
from typing import Any

from scheduling import ledger
from scheduling.ledger import NewRecurring
from scheduling.models import RecurringTask
from tenants.models import Tenant
from tests.api.kit import Api

PATH = "/v1/recurring-tasks"
NIGHTLY = {
    "name": "report",
    "task_name": "demo.echo",
    "payload": {"message": "hello"},
    "cron": "30 2 * * *",
    "timezone": "Europe/Berlin",
}


def create(api: Api, **changed: Any) -> Any:
    answer = api.post(PATH, NIGHTLY | changed)
    assert answer.status_code == 201, answer.content
    return answer.json()


def kept_since(tenant: Tenant, since: datetime, **options: Any) -> RecurringTask:
    """A recurring task that is due every hour, and was created long ago."""
    whole: dict[str, Any] = {"name": "hourly", "task_name": "demo.echo", "cron": "0 * * * *"}
    new = NewRecurring(tenant_id=tenant.pk, **whole | {"payload": {"message": "hi"}} | options)
    return ledger.create_recurring(new, now=since)
