"""How one tenant stands: what it shares, what it waits for, and what failed."""

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from scheduling import clock, ledger
from scheduling.admin import failures, standing
from scheduling.admin.series import Period
from scheduling.admin.standing import Standing
from scheduling.ledger.values import Fail, Failure, Succeed
from scheduling.models import OperatorAction, Pause
from tenants.models import Tenant
from tests.admin.conftest import SignIn
from tests.admin.kit import ago, bury, put, text_of, worker
from tests.ledger.kit import say, take

pytestmark = pytest.mark.ledger


def of(tenant: Tenant) -> Standing:
    now = clock.now()
    found = standing.read(tenant.pk, list(Pause.objects.in_force(now)), now, Period.HOUR)
    assert found is not None
    return found


def address(tenant: Tenant) -> str:
    return f"/admin/tenants/tenant/{tenant.pk}/change/"


def test_a_tenant_that_is_alone_starves_nobody(tenant_a: Tenant) -> None:
    put(tenant_a, 3, now=ago(minutes=5))
    take(1, now=ago(seconds=1))
    assert of(tenant_a).verdict == ""


def test_a_tenant_with_all_that_runs_starves_who_waits(tenant_a: Tenant, tenant_b: Tenant) -> None:
    put(tenant_a, 8)
    take(8, now=ago(seconds=1))
    put(tenant_b, 1, now=ago(minutes=1))
    assert of(tenant_a).verdict == "It has more than its weight is worth, while tenant-b waits."
    assert (
        of(tenant_b).verdict
        == "It waits, with less than its weight is worth, while tenant-a has more."
    )


def test_without_a_worker_alive_nobody_starves_anybody(tenant_a: Tenant, tenant_b: Tenant) -> None:
    dead = worker(seen=ago(minutes=2))
    put(tenant_a, 8)
    take(8, worker=dead.pk, now=ago(seconds=1))
    put(tenant_b, 1, now=ago(minutes=1))
    assert of(tenant_a).verdict == ""
    assert of(tenant_b).verdict == "It waits: no worker is alive."
    assert not [one for one in of(tenant_b).sharers if one.is_starved]


def test_a_tenant_at_its_cap_waits_for_itself(tenant_a: Tenant) -> None:
    Tenant.objects.update(max_in_flight=1)
    put(tenant_a, 2)
    take(1, now=ago(seconds=1))
    assert of(tenant_a).verdict == "It waits for itself: it is at its max_in_flight."


def test_shares_are_of_the_last_minutes(tenant_a: Tenant, tenant_b: Tenant) -> None:
    Tenant.objects.filter(pk=tenant_a.pk).update(weight=3)
    put(tenant_a, 3, now=ago(minutes=5))
    put(tenant_b, 1, now=ago(minutes=5))
    say(take(4, now=ago(minutes=4)), Succeed(), now=ago(minutes=3))
    this, other = of(tenant_a).sharers
    assert (this.is_this, other.is_this) == (True, False)
    assert (this.worth.percent, this.ended.percent, this.run_seconds.percent) == ("75%",) * 3


def test_failures_are_grouped_by_error_and_name(tenant_a: Tenant, tenant_b: Tenant) -> None:
    bury(tenant_a, 2, message="no luck")
    bury(tenant_b, 1)
    put(tenant_a, 1, name="demo.other")
    again = Fail(Failure("TimeoutError", "too slow"), None)
    say(take(1, now=ago(seconds=20)), again, now=ago(seconds=10))
    first, second = of(tenant_a).failures
    assert (first.error, first.message, first.count, first.dead) == ("ValueError", "no luck", 2, 2)
    assert (second.error, second.name, second.count) == ("TimeoutError", "demo.other", 1)


def test_the_page_takes_few_queries(
    sign_in: SignIn,
    tenant_a: Tenant,
    tenant_b: Tenant,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    client = sign_in("view_task", "view_tenant", "change_tenant", "delete_tenant", "view_pause")
    bury(tenant_a, 2)
    put(tenant_a, 3)
    put(tenant_b, 3)
    take(2, now=ago(seconds=1))
    ledger.pause(tenant=tenant_a, queue="mail", by="ana")
    idle = Tenant.objects.create(slug="idle")
    client.get(address(tenant_a))  # a process asks for content types once
    for tenant, most_read in ((tenant_a, 2000), (tenant_a, 1), (idle, 2000)):
        monkeypatch.setattr(failures, "TASKS_READ", most_read)
        with django_assert_max_num_queries(15):
            page = client.get(f"{address(tenant)}?period=day")
        assert "Who gets what" in text_of(page)


def test_who_may_not_see_tasks_sees_limits_only(sign_in: SignIn, tenant_a: Tenant) -> None:
    page = text_of(sign_in("view_tenant").get(address(tenant_a)))
    assert "Who gets what" not in page
    assert "Max in flight" in page


@pytest.mark.parametrize("which", ["0", "x", "99999999999999999999"])
def test_a_tenant_that_is_none_has_no_page(operator: Client, which: str) -> None:
    answer = operator.get(f"/admin/tenants/tenant/{which}/change/", follow=True)
    assert answer.redirect_chain == [("/admin/", 302)]


def test_a_change_of_limits_is_on_record_with_what_it_was(
    operator: Client, tenant_a: Tenant
) -> None:
    given = {"name": tenant_a.name, "weight": 5, "max_in_flight": "", "max_queued": 10_000}
    given |= {"rate_per_second": 1000, "rate_burst": 2000, "retention": ""}
    operator.post(address(tenant_a), given)
    assert OperatorAction.objects.get().note == "Weight: 1 → 5; Max in flight: 100 → none"
