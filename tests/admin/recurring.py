"""The console's pages of recurring tasks, as tests open them and fill them in."""

from django.test import Client

from scheduling.models import RecurringTask
from tests.admin.kit import RECURRING, Page

TYPED = {
    "tenant": "tenant-a",
    "name": "nightly",
    "task_name": "demo.echo",
    "payload": '{"number": 7}',
    "cron": "30 2 * * *",
    "timezone": "europe/berlin",
    "overlap": "skip",
    "catchup": "one",
}


def of(row: RecurringTask, what: str = "change") -> str:
    return f"{RECURRING}{row.pk}/{what}/"


def typed_into(row: RecurringTask, client: Client, **changes: str) -> dict[str, str]:
    """What the form of a row sends, after somebody typed into it."""
    form = client.get(of(row, "edit")).context["form"]
    fields = {name: form[name].value() for name in form.fields}
    return {name: str(value) for name, value in fields.items() if value is not None} | changes


def errors_of(answer: Page) -> dict[str, str]:
    """By field, as the page shows them."""
    return {name: " ".join(errors) for name, errors in answer.context["form"].errors.items()}
