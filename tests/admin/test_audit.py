"""Who did what stays on record, and nobody edits the record."""

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from tenants.models import Tenant
from tests.admin.conftest import SignIn
from tests.admin.kit import TASKS, bury, page, put, text_of

pytestmark = pytest.mark.ledger

AUDIT = "/admin/admin/logentry/"


def test_it_tells_who_did_what_to_which_latest_first(operator: Client, tenant_a: Tenant) -> None:
    (gone,), (kept,) = bury(tenant_a), put(tenant_a)
    operator.post(f"{TASKS}cancel/", {"task": [kept], "confirmed": "1"})
    operator.post(f"{TASKS}discard/", {"task": [gone], "confirmed": "1"})
    response = operator.get(AUDIT)
    told = text_of(response)
    assert told.index("ana Discarded") < told.index("ana Cancelled")
    assert f'href="{page(kept)}"' in response.content.decode()
    assert f'href="{page(gone)}"' not in response.content.decode()


def test_an_entry_can_be_neither_added_nor_changed_nor_deleted(
    operator: Client, tenant_a: Tenant
) -> None:
    operator.post(f"{TASKS}cancel/", {"task": put(tenant_a), "confirmed": "1"})
    entry = LogEntry.objects.get()
    assert operator.get(f"{AUDIT}add/").status_code == 403
    assert operator.post(f"{AUDIT}{entry.pk}/delete/", {"post": "yes"}).status_code == 403
    operator.post(f"{AUDIT}{entry.pk}/change/", {"change_message": "nothing happened"})
    assert LogEntry.objects.get().change_message == "Cancelled"


def test_who_may_not_see_it_is_refused(sign_in: SignIn) -> None:
    assert sign_in("view_task").get(AUDIT).status_code == 403
