"""Recurring tasks in the console: looked at, created, edited, and operated by hand."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from scheduling import clock, ledger
from scheduling.admin.recurring import listing, page
from scheduling.admin.recurring.access import Act
from scheduling.models import OperatorAction, RecurringTask, Task, Tick
from scheduling.policies import Origin, TickOutcome
from tenants.models import Tenant
from tests.admin.conftest import SignIn
from tests.admin.kit import RECURRING, Page, ago, recorded, text_of
from tests.admin.kit import page as task_page
from tests.ledger.kit import failing, run, say, take
from tests.ledger.recurring.kit import again, fire, outcomes, recurring

pytestmark = pytest.mark.ledger

HTMX = {"HX-Request": "true"}
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


def minutely(tenant: Tenant, *, minutes: int = 3, **fields: Any) -> RecurringTask:
    """One whose ticks of the last few minutes have come, and are all under way or skipped."""
    row = recurring(tenant, now=ago(minutes=minutes), **fields)
    for back in range(minutes, -1, -1):
        fire(ago(minutes=back))
    return again(row)


def typed_into(row: RecurringTask, client: Client, **changes: str) -> dict[str, str]:
    """What the form of a row sends, after somebody typed into it."""
    form = client.get(of(row, "edit")).context["form"]
    fields = {name: form[name].value() for name in form.fields}
    return {name: str(value) for name, value in fields.items() if value is not None} | changes


def errors_of(answer: Page) -> dict[str, str]:
    """By field, as the page shows them."""
    return {name: " ".join(errors) for name, errors in answer.context["form"].errors.items()}


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
    row = minutely(tenant_a, minutes=1)
    run(take(now=clock.now()), now=clock.now())
    fire(clock.now() + timedelta(minutes=1))
    say(take(now=clock.now() + timedelta(minutes=1)), failing(retry_in=None), now=clock.now())
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


# The form


def test_what_is_typed_is_kept_tidily(operator: Client, tenant_a: Tenant) -> None:
    typed = TYPED | {"jitter_seconds": "1m30s", "timeout_seconds": "2.5", "deadline_seconds": "2h"}
    answer = operator.post(f"{RECURRING}add/", typed, follow=True)
    assert "Created nightly." in text_of(answer)
    row = RecurringTask.objects.get()
    assert (row.tenant, row.timezone, row.payload) == (tenant_a, "Europe/Berlin", {"number": 7})
    assert (row.jitter_seconds, row.timeout_seconds, row.deadline_seconds) == (90, 2.5, 7200)
    assert (row.queue, row.max_attempts) == ("default", 3)  # as the task declares
    action = OperatorAction.objects.get()
    assert (action.verb, action.what, action.by) == ("create", "recurring task nightly", "ana")


@pytest.mark.parametrize(
    ("field", "typed", "fault"),
    [
        ("cron", "0 1 0/10 * *", "'0/10': must be from 1 to 31"),
        ("cron", "*/90 * * * *", "the step must be from 1 to 59"),
        ("cron", "0 0 * * * *", "has 6 of the five fields"),
        ("cron", "@reboot", "has 1 of the five fields"),
        ("cron", "R R * * *", "expected a number from 0 to 59"),
        ("cron", "\uff15 * * * *", "holds characters that no rule is made of"),
        ("cron", "0 0 31 2 *", "never fires: no month has such a day"),
        ("cron", "1," * 200 + "1 * * * *", "is longer than 255 characters"),
        ("cron", "", "give exactly one of cron and every_seconds"),
        ("every_seconds", "5 minutes", "is no usable duration. Write it like 90s"),
        ("every_seconds", "0", "must be from 1 to"),
        ("anchor", "2027-03-28T02:30:00Z", "belongs to every_seconds"),
        ("timezone", "Europe/Berlln", "is no IANA time zone"),
        ("starts_at", "2027-03-28T02:30:00", "must be a date and time with a zone"),
        ("starts_at", "2027-W12-7", "must be a date and time with a zone"),
        ("ends_at", "2020-01-01", "must be a date and time with a zone"),
        ("ends_at", "2020-01-01T00:00:00Z", "leaves the rule no instant from now on"),
        ("overlap", "often", "must be one of skip, buffer_one, allow, cancel_other"),
        ("catchup", "some", "must be one of none, one, all"),
        ("catchup_window_seconds", "-1", "must be from 0 to"),
        ("catchup_window_seconds", "1000d", "must be from 0 to"),
        ("pause_after_failures", "many", "must be a whole number from 1 to"),
        ("jitter_seconds", "1.5", "must be a whole number from 0 to"),
        ("priority", "101", "must be a whole number from -100 to 100"),
        ("payload", '{"a": NaN}', "and JSON has no such number"),
        ("payload", "[1]", "must be an object"),
        ("payload", "{", "is not JSON"),
        ("task_name", "no.such.task", "is not the name of a task that can be enqueued here"),
        ("name", "with blanks", "must be letters, digits and"),
        ("tenant", "nobody", "No tenant is called"),
    ],
)
def test_what_is_refused_is_told_at_its_field(
    operator: Client, tenant_a: Tenant, field: str, typed: str, fault: str
) -> None:
    """In the words of the API, which are the ledger's."""
    answer = operator.post(f"{RECURRING}add/", TYPED | {field: typed})
    told = errors_of(answer)
    assert fault in told.pop(field), told
    assert f'id="fault-{field}"' in answer.content.decode()
    assert set(told) <= {"cron"}  # both a cron expression and an interval
    assert not RecurringTask.objects.exists()


def test_a_payload_that_does_not_fit_its_task_is_told(operator: Client, tenant_a: Tenant) -> None:
    typed = TYPED | {"task_name": "demo.sleep", "payload": '{"seconds": "long"}'}
    assert "payload.seconds: " in errors_of(operator.post(f"{RECURRING}add/", typed))["payload"]


def test_everything_that_is_wrong_is_told_at_once(operator: Client, tenant_a: Tenant) -> None:
    typed = TYPED | {"cron": "nonsense", "priority": "high", "overlap": "?", "payload": "{"}
    answer = operator.post(f"{RECURRING}add/", typed)
    assert set(errors_of(answer)) == {"cron", "priority", "overlap", "payload"}


def test_a_name_that_is_taken_is_told_at_its_field(operator: Client, tenant_a: Tenant) -> None:
    recurring(tenant_a, name="nightly", now=clock.now())
    assert "already" in errors_of(operator.post(f"{RECURRING}add/", TYPED))["name"]
    other = recurring(tenant_a, name="other", now=clock.now())
    answer = operator.post(of(other, "edit"), typed_into(other, operator, name="nightly"))
    assert "already" in errors_of(answer)["name"]


def test_a_tenant_with_no_place_for_another_is_told_at_its_field(
    operator: Client, tenant_a: Tenant, settings: Settings
) -> None:
    settings.RENTROLL = settings.RENTROLL | {"TENANT_MAX_RECURRING": 1}
    recurring(tenant_a, name="first", now=clock.now())
    assert "may have 1" in errors_of(operator.post(f"{RECURRING}add/", TYPED))["tenant"]


def test_an_edit_without_a_change_shifts_nothing(operator: Client, tenant_a: Tenant) -> None:
    row = recurring(
        tenant_a,
        every_seconds=700,
        anchor=datetime(2026, 1, 1, 0, 0, 7, tzinfo=UTC),
        starts_at=ago(days=1),
        jitter_seconds=30,
        catchup_window_seconds=0,
        payload={"list": [1, "ä"]},
        now=clock.now(),
    )
    assert operator.post(of(row, "edit"), typed_into(row, operator)).status_code == 302
    edited = again(row)
    for field in ("every_seconds", "anchor", "starts_at", "jitter_seconds", "payload", "next_at"):
        assert getattr(edited, field) == getattr(row, field), field
    assert edited.catchup_window_seconds == 0
    assert recorded() == ["edit"]


def test_an_edit_is_on_record_with_what_it_changed(operator: Client, tenant_a: Tenant) -> None:
    row = recurring(tenant_a, cron="0 3 * * *", now=clock.now())
    operator.post(of(row, "edit"), typed_into(row, operator, cron="0 4 * * *", queue="mail"))
    assert (again(row).cron, again(row).queue) == ("0 4 * * *", "mail")
    assert recorded() == ["edit cron, queue"]


def test_an_edit_is_refused_when_somebody_else_was_faster_and_nothing_typed_is_lost(
    operator: Client, tenant_a: Tenant
) -> None:
    row = recurring(tenant_a, cron="0 3 * * *", now=clock.now())
    typed = typed_into(row, operator, cron="0 4 * * *")
    ledger.edit_recurring(row.pk, {"cron": "0 5 * * *", "queue": "mail"})
    refused = operator.post(of(row, "edit"), typed)
    told = text_of(refused)
    assert "Somebody else changed it while you did." in told
    assert "Cron expression 0 4 * * * 0 5 * * *" in told
    assert "Queue default mail" in told
    assert refused.context["form"]["cron"].value() == "0 4 * * *"
    assert (again(row).cron, recorded()) == ("0 5 * * *", [])
    assert f'name="version" value="{again(row).version}"' in refused.content.decode()
    operator.post(of(row, "edit"), typed | {"version": str(again(row).version)})
    assert again(row).cron == "0 4 * * *"


def test_an_edit_of_one_that_lay_paused_is_made_in_short_transactions(
    operator: Client, tenant_a: Tenant
) -> None:
    """So what was caught up with stays, though the edit is refused."""
    recurring(tenant_a, name="other", now=clock.now())
    row = recurring(tenant_a, now=ago(days=1), paused=True)
    typed = typed_into(row, operator)
    assert "already" in errors_of(operator.post(of(row, "edit"), typed | {"name": "other"}))["name"]
    assert row.reached_at < again(row).reached_at < ago(hours=1)
    assert operator.post(of(row, "edit"), typed | {"queue": "mail"}).status_code == 302
    assert (again(row).queue, recorded()) == ("mail", ["edit queue"])


# The preview


def preview(client: Client, **typed: str) -> str:
    return client.get(f"{RECURRING}preview/", typed, headers=HTMX).content.decode()


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (
            {
                "cron": "30 2 * * *",
                "timezone": "Europe/Berlin",
                "starts_at": "2027-03-27T12:00:00Z",
            },
            ["At 02:30", "Sun 2027-03-28 03:00 CEST", "moved", "2027-03-28 01:00"],
        ),
        (
            {
                "cron": "30 1 * * *",
                "timezone": "America/New_York",
                "starts_at": "2027-11-07T00:00:00Z",
            },
            ["Sun 2027-11-07 01:30 EDT", "runs once", "2027-11-07 05:30", "left out"],
        ),
        (
            {
                "cron": "*/15 * * * *",
                "timezone": "Europe/Berlin",
                "starts_at": "2027-10-31T00:00:00Z",
            },
            ["Sun 2027-10-31 02:15 CET", "runs twice", "Every 15 minutes"],
        ),
        ({"cron": "0 9 29 2 *", "starts_at": "2097-01-01T00:00:00Z"}, ["2104-02-29 09:00"]),
        ({"cron": "0 0 L * *", "starts_at": "2027-02-01T00:00:00Z"}, ["2027-02-28 00:00"]),
        ({"every_seconds": "90m"}, ["Every 1h30m, counted from 1970-01-01"]),
    ],
)
def test_the_preview_shows_the_next_instants_and_what_jumps_of_clocks_do_to_them(
    operator: Client, typed: dict[str, str], told: list[str]
) -> None:
    html = preview(operator, **typed)
    for part in told:
        assert part in html
    assert html.count("<tr") <= 1 + 20


def test_the_preview_tells_what_is_wrong_at_the_field(operator: Client) -> None:
    html = preview(operator, cron="*/90 * * * *", timezone="UTC")
    fault = html.split('id="fault-cron" hx-swap-oob="true">')[1].split("</div>")[0]
    assert "the step must be from 1 to 59" in fault
    assert 'id="fault-timezone" hx-swap-oob="true"></div>' in html
    assert "see the “Cron expression” field" in html


def test_of_an_empty_form_nothing_is_wrong_yet(operator: Client) -> None:
    assert "Type a cron expression or an interval" in preview(operator, cron="", timezone="UTC")


def test_the_preview_is_asked_for_and_never_sent(operator: Client) -> None:
    assert operator.post(f"{RECURRING}preview/", {"cron": "* * * * *"}).status_code == 405


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
