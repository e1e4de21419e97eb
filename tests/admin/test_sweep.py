"""What operators do to all dead letters that match."""

import re
from datetime import timedelta
from uuid import UUID

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from scheduling import clock
from scheduling.admin import sweep
from scheduling.models import Task
from tenants.models import Tenant
from tests.admin.conftest import SignIn
from tests.admin.kit import DEAD_LETTERS, Page, ago, bury, put, recorded, text_of
from tests.ledger.kit import failing, say, take

pytestmark = pytest.mark.ledger


def step(client: Client, address: str, page: "Page | None" = None) -> Page:
    """Begin, or go on as the page does: with the progress that it carries."""
    posted = {"progress": progress_in(page)} if page else {}
    return client.post(f"{DEAD_LETTERS}{address}", posted)


def progress_in(page: Page) -> str:
    found = re.search(r'name="progress" value="([^"]+)"', page.content.decode())
    assert found
    return found[1]


def run(client: Client, address: str) -> str:
    """Take all the steps; answers what is said at the end."""
    page = step(client, address)
    while page.status_code == 200:
        page = step(client, address, page)
    return text_of(client.get(page["Location"]))


def dead() -> set[UUID]:
    return set(Task.objects.dead().values_list("pk", flat=True))


def test_the_question_says_how_many_and_of_what(operator: Client, tenant_a: Tenant) -> None:
    bury(tenant_a, 3, name="invoices.send")
    bury(tenant_a, 1)
    question = text_of(operator.get(f"{DEAD_LETTERS}redrive-all/?tenant=tenant-a"))
    assert "4 dead letters match: dead letters with tenant=tenant-a." in question
    assert "invoices.send permanent failure 3" in question
    assert len(dead()) == 4


def test_very_many_are_not_counted_to_the_last(
    operator: Client, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "MOST_COUNTED", 2)
    bury(tenant_a, 4)
    question = text_of(operator.get(f"{DEAD_LETTERS}discard-all/"))
    assert "more than 2 dead letters match: all dead letters." in question


def test_only_what_matches_is_redriven(
    operator: Client, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    wanted = bury(tenant_a, 2, name="invoices.send")
    others = bury(tenant_a) + bury(tenant_b, name="invoices.send")
    said = run(operator, "redrive-all/?tenant=tenant-a&name=invoices.send")
    assert "2 dead letters redriven." in said
    assert dead() == set(others)
    assert set(Task.objects.filter(state="queued").values_list("pk", flat=True)) == set(wanted)


def test_filters_by_reason(operator: Client, tenant_a: Tenant) -> None:
    kept = bury(tenant_a)
    put(tenant_a, max_attempts=1)
    say(take(1, now=ago(seconds=20)), failing(), now=ago(seconds=10))
    run(operator, "discard-all/?reason=attempts_exhausted")
    assert dead() == set(kept)


def test_discarding_all_deletes_them(operator: Client, tenant_a: Tenant) -> None:
    bury(tenant_a, 3)
    said = run(operator, "discard-all/")
    assert "3 dead letters discarded." in said
    assert not Task.objects.exists()


def test_many_are_done_step_by_step(
    operator: Client, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "STEP", 2)
    bury(tenant_a, 5)
    first = step(operator, "redrive-all/")
    assert "2 dead letters redriven." in text_of(first)
    assert len(dead()) == 3
    second = step(operator, "redrive-all/", first)
    assert "4 dead letters redriven." in text_of(second)
    assert recorded() == ["redrive 4 dead letters redriven."]
    third = step(operator, "redrive-all/", second)
    assert "5 dead letters redriven." in text_of(operator.get(third["Location"]))
    assert recorded() == ["redrive 5 dead letters redriven."]


def test_a_step_takes_few_queries(
    operator: Client, tenant_a: Tenant, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    bury(tenant_a, 200)
    with django_assert_max_num_queries(18):  # statements of transactions are counted too
        step(operator, "redrive-all/?tenant=tenant-a")
    assert not dead()


def test_a_full_tenant_does_not_keep_others_from_being_redriven(
    operator: Client, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    bury(tenant_a, 30)
    bury(tenant_b, 4)
    Tenant.objects.filter(pk=tenant_a.pk).update(max_queued=7)
    said = run(operator, "redrive-all/")
    told = "11 dead letters redriven. 23 dead letters left: tenant-a is over its max_queued of 7."
    assert told in said
    assert recorded() == [f"redrive {told}"]
    assert Task.objects.dead().filter(tenant=tenant_b).count() == 0


def test_what_dies_later_is_not_swept_along(
    operator: Client, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "STEP", 1)
    bury(tenant_a, 2)
    page = step(operator, "discard-all/")
    put(tenant_a)
    (claim,) = take(1, now=clock.now())
    say(claim, failing(retry_in=None), now=claim.acquired_at + timedelta(days=1))
    while page.status_code == 200:
        page = step(operator, "discard-all/", page)
    assert dead() == {claim.task_id}


def test_a_redriven_letter_that_dies_again_is_not_redriven_for_ever(
    operator: Client, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "STEP", 1)
    (task_id,) = bury(tenant_a)
    page = step(operator, "redrive-all/")
    (claim,) = take(1, now=clock.now())
    say(claim, failing(retry_in=None), now=claim.acquired_at + timedelta(days=1))
    assert step(operator, "redrive-all/", page).status_code == 302
    assert dead() == {task_id}


def test_the_audit_says_what_matched(operator: Client, tenant_a: Tenant) -> None:
    bury(tenant_a)
    run(operator, "redrive-all/?name=demo.echo")
    audit = text_of(operator.get("/admin/scheduling/operatoraction/"))
    assert "ana redrive dead letters with name=demo.echo" in audit


def test_progress_that_no_page_of_ours_sent_is_refused(operator: Client, tenant_a: Tenant) -> None:
    bury(tenant_a)
    answer = operator.post(f"{DEAD_LETTERS}discard-all/", {"progress": "made-up"})
    assert answer.status_code == 400
    assert len(dead()) == 1


def test_who_may_only_look_sweeps_nothing(sign_in: SignIn, tenant_a: Tenant) -> None:
    bury(tenant_a)
    viewer = sign_in("view_task")
    assert "all that match" not in text_of(viewer.get(DEAD_LETTERS))
    assert viewer.get(f"{DEAD_LETTERS}discard-all/").status_code == 403
    assert viewer.post(f"{DEAD_LETTERS}discard-all/").status_code == 403
    assert len(dead()) == 1


def test_the_list_links_to_the_page_of_the_task(operator: Client, tenant_a: Tenant) -> None:
    (task_id,) = bury(tenant_a, message="m" * 1000)
    html = operator.get(DEAD_LETTERS).content.decode()
    assert f'href="/admin/scheduling/task/{task_id}/change/' in html
    assert "m" * 201 not in html
