"""Tenants: their limits can be changed, and take effect at once."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from scheduling import ledger
from scheduling.errors import LimitExceeded
from scheduling.models import Lane
from tenants.models import ApiToken, Tenant
from tests.admin.conftest import SignIn
from tests.admin.kit import bury, put, recorded, text_of
from tests.ledger.kit import run, take

pytestmark = pytest.mark.ledger

TENANTS = "/admin/tenants/tenant/"
FIELDS = {"name": "Acme", "weight": "3", "max_in_flight": "", "max_queued": "", "rate_burst": "5"}


def change(client: Client, tenant: Tenant, **fields: str) -> str:
    answer = client.post(f"{TENANTS}{tenant.pk}/change/", FIELDS | fields, follow=True)
    tenant.refresh_from_db()
    return text_of(answer)


def test_the_list_shows_what_is_used_of_the_limits(
    operator: Client, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    Tenant.objects.filter(pk=tenant_b.pk).update(max_in_flight=None, max_queued=None)
    put(tenant_a, 3)
    take(2)
    shown = text_of(operator.get(TENANTS))
    assert "tenant-a Tenant A 1 2 of 100 3 of 10,000 " in shown
    assert "tenant-b Tenant B 1 0 of any number 0 of any number " in shown


def test_figures_are_written_as_everywhere_in_the_console(
    operator: Client, tenant_a: Tenant
) -> None:
    Tenant.objects.filter(pk=tenant_a.pk).update(rate_per_second=1000, rate_burst=2000)
    shown = text_of(operator.get(TENANTS))
    assert "1,000/s, burst 2,000 —" in shown
    assert "1,000/s" in text_of(operator.get(f"{TENANTS}{tenant_a.pk}/change/"))


def test_who_may_not_see_tasks_is_shown_the_limits_alone(sign_in: SignIn, tenant_a: Tenant) -> None:
    put(tenant_a)
    assert "tenant-a Tenant A 1 100 10,000 " in text_of(sign_in("view_tenant").get(TENANTS))


def test_limits_can_be_changed_and_the_change_is_recorded(
    operator: Client, tenant_a: Tenant
) -> None:
    change(operator, tenant_a, max_in_flight="4", rate_per_second="2.5", retention="30d")
    assert (tenant_a.weight, tenant_a.max_in_flight, tenant_a.max_queued) == (3, 4, None)
    assert (tenant_a.rate_per_second, tenant_a.retention) == (2.5, timedelta(days=30))
    assert "Max in flight" in recorded()[0]


def test_a_lower_limit_holds_for_the_next_enqueue_and_the_next_claim(
    operator: Client, tenant_a: Tenant
) -> None:
    put(tenant_a, 3)
    change(operator, tenant_a, max_in_flight="1", max_queued="3")
    assert len(take(3)) == 1
    with pytest.raises(LimitExceeded, match="max_queued"):
        put(tenant_a)


@pytest.mark.parametrize(
    ("field", "value"),
    [("weight", "0"), ("max_in_flight", "0"), ("rate_per_second", "-1"), ("retention", "a while")],
)
def test_a_limit_that_makes_no_sense_is_refused(
    operator: Client, tenant_a: Tenant, field: str, value: str
) -> None:
    before = getattr(tenant_a, field)
    said = change(operator, tenant_a, **{field: value})
    assert "Please correct the error below." in said
    assert getattr(tenant_a, field) == before


def test_a_retention_reads_as_it_was_typed(operator: Client, tenant_a: Tenant) -> None:
    change(operator, tenant_a, retention="1d12h")
    form = operator.get(f"{TENANTS}{tenant_a.pk}/change/").content.decode()
    assert 'value="1d12h"' in form


def test_the_slug_is_chosen_once(operator: Client, tenant_a: Tenant) -> None:
    change(operator, tenant_a, slug="other")
    assert tenant_a.slug == "tenant-a"


def test_a_tenant_can_be_added(operator: Client) -> None:
    operator.post(f"{TENANTS}add/", FIELDS | {"slug": "acme"})
    assert Tenant.objects.get(slug="acme").weight == 3


def test_a_tenant_with_tasks_cannot_be_deleted_not_even_finished_ones(
    operator: Client, tenant_a: Tenant
) -> None:
    put(tenant_a)
    run(take(1))
    assert "Delete" not in text_of(operator.get(f"{TENANTS}{tenant_a.pk}/change/"))
    answer = operator.post(f"{TENANTS}{tenant_a.pk}/delete/", {"post": "yes"})
    assert answer.status_code == 403
    assert Tenant.objects.filter(pk=tenant_a.pk).exists()


def test_a_tenant_without_tasks_goes_with_all_that_was_its(
    operator: Client, tenant_a: Tenant
) -> None:
    ledger.discard(bury(tenant_a))
    assert Lane.objects.filter(tenant=tenant_a).exists()
    ApiToken.objects.issue(tenant=tenant_a)
    ledger.pause(tenant=tenant_a, by="ana")
    assert "Are you sure" in text_of(operator.get(f"{TENANTS}{tenant_a.pk}/delete/"))
    operator.post(f"{TENANTS}{tenant_a.pk}/delete/", {"post": "yes"})
    assert not Tenant.objects.exists()
    assert not ApiToken.objects.exists()
    assert not Lane.objects.exists()


def test_who_may_only_look_changes_no_limit(sign_in: SignIn, tenant_a: Tenant) -> None:
    viewer = sign_in("view_tenant")
    answer: Any = viewer.post(f"{TENANTS}{tenant_a.pk}/change/", FIELDS)
    tenant_a.refresh_from_db()
    assert answer.status_code == 403
    assert tenant_a.weight == 1
