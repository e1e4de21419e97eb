"""Recurring tasks in the console: looked at, and operated by hand."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from scheduling import clock, ledger
from scheduling.admin.recurring import listing, page
from scheduling.admin.recurring.access import Act
from scheduling.models import OperatorAction, RecurringTask, Task, Tick
from scheduling.policies import Origin, TickOutcome
from tenants.models import Tenant
from tests.admin.conftest import SignIn
from tests.admin.kit import RECURRING, ago, recorded, text_of
from tests.admin.kit import page as task_page
from tests.admin.recurring import TYPED, errors_of, of, typed_into
from tests.ledger.kit import failing, run, say, take
from tests.ledger.recurring.kit import again, fire, outcomes, recurring

pytestmark = pytest.mark.ledger


def minutely(
    tenant: Tenant, *, minutes: int = 3, now: datetime | None = None, **fields: Any
) -> RecurringTask:
    """One whose ticks of so many minutes have come, and are all under way or skipped."""
    now = now or clock.now()
    row = recurring(tenant, now=now - timedelta(minutes=minutes), **fields)
    for back in range(minutes, -1, -1):
        fire(now - timedelta(minutes=back))
    return again(row)


# The list


def test_the_list_tells_when_and_how_each_stands(operator: Client, tenant_a: Tenant) -> None:
    recurring(tenant_a, cron="30 2 * * *", timezone="Asia/Kathmandu", now=clock.now())
    told = text_of(operator.get(RECURRING))
    assert "nightly" in told
    assert "tenant-a demo.echo" in told
    assert "At 02:30" in told
    assert "30 2 * * * Asia/Kathmandu" in told
    assert "02:30 +0545 in" in told
    assert "active" in told


def test_the_strip_says_in_words_what_its_colours_say(operator: Client, tenant_a: Tenant) -> None:
    now = clock.now()
    row = minutely(tenant_a, minutes=1, now=now)
    run(take(now=now), now=now)
    fire(now + timedelta(minutes=1))
    say(take(now=now + timedelta(minutes=1)), failing(retry_in=None), now=now)
    html = operator.get(RECURRING).content.decode()
    assert 'role="img" aria-label="The latest ticks: 1 ' in html
    assert {"1 succeeded", "1 dead"} <= set(_strip_of(html))
    assert outcomes(row) == {"fired": 2}


def _strip_of(html: str) -> list[str]:
    told = html.split('aria-label="The latest ticks: ')[1].split(";")[0]
    return told.split(", ")


def test_a_page_of_the_list_takes_few_queries_however_many_ticks_there_are(
    operator: Client, tenant_a: Tenant, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    rows = [recurring(tenant_a, name=f"task-{number}", now=clock.now()) for number in range(12)]
    Tick.objects.bulk_create(
        Tick(
            recurring=row,
            at=ago(minutes=minute),
            decided_at=clock.now(),
            outcome=TickOutcome.COALESCED,
        )
        for row in rows
        for minute in range(1, 41)
    )
    with django_assert_max_num_queries(13) as captured:
        answer = operator.get(RECURRING)
    assert [len(row.strip.marks) for row in answer.context["cl"].result_list] == [24] * 12
    assert not [query["sql"] for query in captured if "COUNT(" in query["sql"]]


def test_the_list_is_filtered_and_searched(
    operator: Client, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    now = clock.now()
    recurring(tenant_a, name="mail.digest", now=now)
    paused = recurring(tenant_a, name="mail.reminder", now=now)
    ledger.pause_recurring(paused.pk, True, reason="quiet, please", now=now)
    over = recurring(tenant_b, name="campaign", now=ago(hours=2), ends_at=ago(hours=1))
    fire(now)
    assert again(over).next_at is None

    def found(query: str) -> list[str]:
        return [row.name for row in operator.get(f"{RECURRING}?{query}").context["cl"].result_list]

    assert found("") == ["campaign", "mail.reminder", "mail.digest"]
    assert found("tenant=tenant-b") == ["campaign"]
    assert found("tenant=nobody") == []
    assert found("state=paused") == ["mail.reminder"]
    assert found("state=over") == ["campaign"]
    assert found("state=active&tenant=tenant-a") == ["mail.digest"]
    assert found("state=disabled") == []
    assert found("q=MAIL") == ["mail.reminder", "mail.digest"]
    assert found(f"q={over.pk}") == ["campaign"]
    assert operator.get(f"{RECURRING}?q=%00").status_code == 200


def test_what_no_index_leads_to_is_looked_for_in_steps(
    operator: Client, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "WALK", 3)
    for name in ("rare", *(f"task-{number}" for number in range(4))):
        recurring(tenant_a, name=name, now=clock.now())
    first = operator.get(f"{RECURRING}?q=rare").context["cl"]
    assert (list(first.result_list), first.walked) == ([], 3)
    second = operator.get(f"{RECURRING}{first.older}").context["cl"]
    assert [row.name for row in second.result_list] == ["rare"]
    assert second.older is None


def test_a_row_that_cannot_be_read_is_shown_with_the_reason(
    operator: Client, tenant_a: Tenant
) -> None:
    row = recurring(tenant_a, now=clock.now())
    reason = "It cannot be read: timezone: no such zone"
    RecurringTask.objects.update(timezone="Europe/Nowhere", disabled_reason=reason, fires_at=None)
    for address in (RECURRING, of(row), of(row, "edit")):
        assert reason in text_of(operator.get(address))
    assert (
        operator.post(of(row, "edit"), typed_into(row, operator, timezone="UTC")).status_code == 302
    )
    assert again(row).disabled_reason == ""


# The page of one


def test_the_page_of_one_tells_what_became_of_each_tick(
    operator: Client, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "TICKS", 2)
    row = minutely(tenant_a, minutes=3)
    made = Task.objects.get()
    first = operator.get(of(row))
    assert "skipped overlap The task before it was not over." in text_of(first)
    older = operator.get(f"{of(row)}?before={first.context['older']}")
    assert f"{made.pk} under way" in text_of(older)
    assert "nightly, for " in text_of(operator.get(task_page(made.pk)))
    assert older.context["older"] is None
    for nonsense in ("x", "1.2.3", f"{10**40}.1", "٣.1"):
        assert operator.get(f"{of(row)}?before={nonsense}").status_code == 400


def test_a_task_that_was_pruned_is_told_without_a_link(operator: Client, tenant_a: Tenant) -> None:
    row = minutely(tenant_a, minutes=1)
    run(take(now=clock.now()), now=clock.now())
    Tick.objects.update(is_open=False)
    Task.objects.all().delete()
    assert "pruned since" in text_of(operator.get(of(row)))


def test_an_address_of_none_is_not_found(operator: Client, tenant_a: Tenant) -> None:
    row = recurring(tenant_a, now=clock.now())
    ledger.delete_recurring(row.pk)
    for what in ("change", "edit", "pause", "backfill"):
        assert operator.get(of(row, what)).status_code == 404


# By hand


def test_pausing_asks_for_a_reason_and_resuming_goes_on(operator: Client, tenant_a: Tenant) -> None:
    row = recurring(tenant_a, now=clock.now())
    assert "make no task" in text_of(operator.get(of(row, "pause")))
    answer = operator.post(of(row, "pause"), {"reason": "They are moving."}, follow=True)
    assert "Paused: They are moving." in text_of(answer)
    assert again(row).paused
    operator.post(of(row, "resume"))
    assert not again(row).paused
    action = OperatorAction.objects.order_by("pk").first()
    assert action
    assert (action.verb, action.reason, action.tenant) == ("pause", "They are moving.", tenant_a)


def test_running_now_makes_one_task_and_links_to_it(operator: Client, tenant_a: Tenant) -> None:
    row = recurring(tenant_a, cron="0 3 * * *", now=clock.now())
    answer = operator.post(of(row, "run"), {"reason": "the customer waits"}, follow=True)
    made = Task.objects.get()
    assert f"/admin/scheduling/task/{made.pk}/change/" in answer.content.decode()
    assert "run now" in text_of(answer)
    action = OperatorAction.objects.get()
    assert list(action.tasks.values_list("task", flat=True)) == [made.pk]
    refused = text_of(operator.post(of(row, "run")))
    assert f"allows one run at a time, and task {made.pk} is not over." in refused
    assert recorded() == ["run now"]


def test_running_now_asks_the_one_in_the_way_to_stop_where_that_is_the_policy(
    operator: Client, tenant_a: Tenant
) -> None:
    row = recurring(tenant_a, overlap="cancel_other", now=clock.now())
    operator.post(of(row, "run"))
    (claim,) = take(now=clock.now())
    assert f"task {claim.task_id} is not over." in text_of(operator.post(of(row, "run")))
    assert Task.objects.get(pk=claim.task_id).cancel_requested_at
    entry = OperatorAction.objects.latest("pk")
    assert (entry.verb, entry.done, entry.refused) == ("run now", 0, 1)


def test_a_backfill_is_shown_before_it_is_done(operator: Client, tenant_a: Tenant) -> None:
    row = minutely(tenant_a, minutes=4, overlap="allow", catchup="none")
    Tick.objects.filter(recurring=row).exclude(outcome=TickOutcome.FIRED).delete()
    asked = {"start": ago(minutes=30).isoformat(), "end": clock.now().isoformat()}
    before = Task.objects.count()
    question = operator.get(of(row, "backfill"), asked)
    missing = len(question.context["would"].missing)
    assert missing > 20
    assert f"{missing} tasks would be made." in text_of(question)
    assert Task.objects.count() == before
    done = operator.post(of(row, "backfill"), asked | {"reason": "lost night"}, follow=True)
    assert f"{missing} tasks made." in text_of(done)
    assert Tick.objects.filter(origin=Origin.BACKFILL).count() == missing
    action = OperatorAction.objects.get()
    assert (action.verb, action.done, action.reason) == ("backfill", missing, "lost night")
    assert "Nothing. No instant" in text_of(operator.get(of(row, "backfill"), asked))


@pytest.mark.parametrize(
    ("asked", "field", "fault"),
    [
        ({"start": "", "end": "2027-01-01T00:00:00Z"}, "start", "must be a date and time"),
        ({"start": "yesterday", "end": "2027-01-01T00:00:00Z"}, "start", "with a zone"),
        (
            {"start": "2027-01-02T00:00:00Z", "end": "2027-01-01T00:00:00Z"},
            "end",
            "must not be earlier than start",
        ),
    ],
)
def test_a_range_that_is_none_is_refused_at_its_field(
    operator: Client, tenant_a: Tenant, asked: dict[str, str], field: str, fault: str
) -> None:
    row = recurring(tenant_a, now=clock.now())
    for answer in (
        operator.get(of(row, "backfill"), asked),
        operator.post(of(row, "backfill"), asked),
    ):
        assert fault in errors_of(answer)[field]
    assert not Tick.objects.exists()


def test_deleting_is_asked_about_and_leaves_the_tasks(operator: Client, tenant_a: Tenant) -> None:
    row = minutely(tenant_a, minutes=1)
    made = Task.objects.count()
    assert "cannot be undone" in text_of(operator.get(of(row, "delete")))
    assert "Deleted nightly." in text_of(operator.post(of(row, "delete"), follow=True))
    assert not RecurringTask.objects.exists()
    assert Task.objects.count() == made > 0
    assert recorded() == ["delete"]


def test_what_code_declares_is_not_deleted(operator: Client, tenant_a: Tenant) -> None:
    row = recurring(tenant_a, now=clock.now())
    RecurringTask.objects.update(declared_in_code=True, declaration={})
    assert Act.DELETE not in operator.get(of(row)).context["acts"]
    assert "is declared in code." in text_of(operator.post(of(row, "delete")))
    entry = OperatorAction.objects.get()
    assert (entry.done, entry.refused) == (0, 1)


# Who may


ADDRESSES = {
    Act.EDIT: "edit",
    Act.PAUSE: "pause",
    Act.RESUME: "resume",
    Act.RUN_NOW: "run",
    Act.BACKFILL: "backfill",
    Act.DELETE: "delete",
}


def test_who_may_only_look_can_do_nothing(sign_in: SignIn, tenant_a: Tenant) -> None:
    """Also by a forged form."""
    row = recurring(tenant_a, now=clock.now())
    viewer = sign_in("view_recurringtask")
    looked = viewer.get(of(row))
    assert (looked.status_code, looked.context["acts"]) == (200, [])
    assert "Add recurring task" not in text_of(viewer.get(RECURRING))
    assert viewer.get(f"{RECURRING}preview/", {"cron": "* * * * *"}).status_code == 200
    addresses = [f"{RECURRING}add/", *(of(row, what) for what in ADDRESSES.values())]
    for address in addresses:
        assert viewer.get(address).status_code == 403, address
        assert viewer.post(address, TYPED | {"version": "1"}).status_code == 403, address
    assert (again(row).version, Task.objects.count(), recorded()) == (1, 0, [])


@pytest.mark.parametrize("mine", sorted({act.permission for act in ADDRESSES}))
def test_each_act_has_a_permission_of_its_own(sign_in: SignIn, tenant_a: Tenant, mine: str) -> None:
    row = recurring(tenant_a, now=clock.now())
    hand = sign_in(mine.removeprefix("scheduling."))
    assert {act.permission for act in hand.get(of(row)).context["acts"]} == {mine}
    allowed = {act for act, what in ADDRESSES.items() if hand.get(of(row, what)).status_code == 200}
    assert {act.permission for act in allowed} == {mine}


def test_who_may_see_nothing_of_it_is_not_let_in(sign_in: SignIn, tenant_a: Tenant) -> None:
    row = recurring(tenant_a, now=clock.now())
    stranger = sign_in("view_task")
    for address in (RECURRING, of(row), f"{RECURRING}preview/?cron=*"):
        assert stranger.get(address).status_code == 403
    assert "Recurring" not in text_of(stranger.get("/admin/"))
