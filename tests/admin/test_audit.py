"""Who did what stays on record, and nobody edits the record."""

import pytest
from django.test import Client

from scheduling import audit
from scheduling.models import OperatorAction
from tenants.models import Tenant
from tests.admin.conftest import SignIn
from tests.admin.kit import TASKS, bury, page, put, text_of

pytestmark = pytest.mark.ledger

AUDIT = "/admin/scheduling/operatoraction/"


def test_it_tells_who_did_what_to_which_latest_first(operator: Client, tenant_a: Tenant) -> None:
    (gone,), kept = bury(tenant_a), put(tenant_a, 2)
    operator.post(f"{TASKS}cancel/", {"task": kept, "confirmed": "1"})
    operator.post(f"{TASKS}discard/", {"task": [gone], "confirmed": "1"})
    told = text_of(operator.get(AUDIT))
    discarded = f"ana discard demo.echo {gone}"
    assert told.index(discarded) < told.index("ana cancel 2 tasks, picked by hand")


def test_an_entry_leads_to_the_tasks_that_were_picked(operator: Client, tenant_a: Tenant) -> None:
    ids = put(tenant_a, 2)
    operator.post(f"{TASKS}cancel/", {"task": ids, "confirmed": "1"})
    html = operator.get(f"{AUDIT}{OperatorAction.objects.get().pk}/change/").content.decode()
    assert all(f'href="{page(task_id)}"' in html for task_id in ids)
    assert operator.get(f"{AUDIT}4711/change/").status_code == 404


def test_it_says_how_many_were_refused_and_why(operator: Client, tenant_a: Tenant) -> None:
    dead = bury(tenant_a)
    operator.post(f"{TASKS}redrive/", {"task": dead + put(tenant_a, 2), "confirmed": "1"})
    action = OperatorAction.objects.get()
    assert (action.done, action.refused, action.tenant) == (1, 2, tenant_a)
    assert "1 2 refused 1 dead letter redriven. 2 tasks left: not dead." in text_of(
        operator.get(AUDIT)
    )


def test_what_a_token_did_is_told_apart(operator: Client, tenant_a: Tenant) -> None:
    audit.record(audit.Actor("0a1b2c", audit.Via.API), "redrive", "x" * 1000, tenant=tenant_a)
    told = text_of(operator.get(f"{AUDIT}?verb=redrive&tenant=tenant-a&by=0a1b2c"))
    assert "0a1b2c API redrive xxx" in told


def test_changes_by_form_are_on_record_too(operator: Client, tenant_a: Tenant) -> None:
    address = f"/admin/tenants/tenant/{tenant_a.pk}/"
    limits = {"weight": 2, "rate_burst": 5, "name": "Tenant A"}
    assert operator.post(f"{address}change/", limits).status_code == 302
    operator.post(f"{address}delete/", {"post": "yes"})
    changed, deleted = OperatorAction.objects.order_by("pk")
    assert (changed.verb, changed.what, changed.done) == ("change", "tenant tenant-a", 1)
    assert "Weight" in changed.note
    assert (deleted.verb, deleted.what) == ("delete", "tenant tenant-a")


def test_an_entry_can_be_neither_added_nor_changed_nor_deleted(
    operator: Client, tenant_a: Tenant
) -> None:
    operator.post(f"{TASKS}cancel/", {"task": put(tenant_a), "confirmed": "1"})
    action = OperatorAction.objects.get()
    assert operator.get(f"{AUDIT}add/").status_code == 403
    assert operator.post(f"{AUDIT}{action.pk}/delete/", {"post": "yes"}).status_code == 403
    operator.post(f"{AUDIT}{action.pk}/change/", {"note": "nothing happened"})
    assert OperatorAction.objects.get().note == "1 task cancelled."


@pytest.mark.parametrize("cursor", ["0", "-1", "x", "%00", "999999999999999999999999"])
def test_a_page_that_cannot_be_is_no_error(operator: Client, cursor: str) -> None:
    assert operator.get(f"{AUDIT}?p={cursor}").status_code == 200


def test_pages_lead_on_and_to_the_beginning(operator: Client) -> None:
    for number in range(52):
        audit.record(audit.Actor("ana", audit.Via.CONSOLE), "cancel", f"task {number}")
    first = operator.get(AUDIT).context["cl"]
    assert [action.what for action in first.result_list][:2] == ["task 51", "task 50"]
    second = operator.get(f"{AUDIT}{first.older}").context["cl"]
    assert [action.what for action in second.result_list] == ["task 1", "task 0"]
    assert (second.newest, second.older) == ("?", None)


def test_who_may_not_see_it_is_refused(sign_in: SignIn) -> None:
    assert sign_in("view_task").get(AUDIT).status_code == 403
