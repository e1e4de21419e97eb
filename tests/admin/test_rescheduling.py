"""Changing when a waiting task is due, and its priority."""

from datetime import datetime, timedelta

import pytest
from django.test import Client

from scheduling import clock
from scheduling.models import OperatorAction, Schedule, Task
from tenants.models import Tenant
from tests.admin.kit import TASKS, bury, page, put, text_of
from tests.ledger.kit import take

pytestmark = pytest.mark.ledger

LATER = timedelta(hours=1)


def spelled(instant: datetime) -> str:
    return f"{instant:%Y-%m-%dT%H:%M:%S}"


def test_both_are_changed_and_put_on_record(operator: Client, tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, due_at=clock.now() + LATER)
    due_at = (clock.now() + 2 * LATER).replace(microsecond=0)
    asked = {"due_at": spelled(due_at), "priority": "7", "reason": "month end"}
    answer = operator.post(f"{TASKS}{task_id}/reschedule/", asked, follow=True)
    assert "1 task rescheduled." in text_of(answer)
    assert Schedule.objects.get().due_at == due_at
    assert Task.objects.get().priority == 7
    action = OperatorAction.objects.get()
    assert (action.verb, action.done, action.reason) == ("reschedule", 1, "month end")


def test_what_was_not_changed_in_the_form_stays_to_the_microsecond(
    operator: Client, tenant_a: Tenant
) -> None:
    (task_id,) = put(tenant_a, due_at=clock.now() + LATER)
    due_at = Schedule.objects.get().due_at
    form = operator.get(f"{TASKS}{task_id}/reschedule/").context["form"]
    asked = {"due_at": spelled(form.initial["due_at"]), "priority": "-3"}
    operator.post(f"{TASKS}{task_id}/reschedule/", asked)
    assert (Schedule.objects.get().due_at, Task.objects.get().priority) == (due_at, -3)


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"due_at": "soon"}, "Enter a valid date/time."),
        ({"due_at": "2200-01-01T00:00"}, "more than five years ahead"),
        ({"priority": "101"}, "less than or equal to 100"),
    ],
)
def test_what_makes_no_sense_is_refused(
    operator: Client, tenant_a: Tenant, asked: dict[str, str], complaint: str
) -> None:
    (task_id,) = put(tenant_a)
    posted = {"due_at": spelled(clock.now()), "priority": "0"} | asked
    assert complaint in text_of(operator.post(f"{TASKS}{task_id}/reschedule/", posted))
    assert not OperatorAction.objects.exists()


def test_what_waits_no_more_has_nothing_to_reschedule(operator: Client, tenant_a: Tenant) -> None:
    (dead,) = bury(tenant_a)
    (running,) = put(tenant_a)
    take(1)
    for task_id in (dead, running):
        answer = operator.get(f"{TASKS}{task_id}/reschedule/", follow=True)
        assert "It does not wait any more" in text_of(answer)
        assert "Reschedule…" not in text_of(operator.get(page(task_id)))


def test_the_page_says_why_a_task_is_not_running(operator: Client, tenant_a: Tenant) -> None:
    (waiting,) = put(tenant_a, due_at=clock.now() + LATER)
    said = text_of(operator.get(page(waiting)))
    assert "Why it is not running: It is not due until" in said
    (running,) = put(tenant_a)
    take(1)
    assert "It is running, attempt 1 of 3." in text_of(operator.get(page(running)))
    (dead,) = bury(tenant_a)
    assert "Why it is not running" not in text_of(operator.get(page(dead)))
