"""Recurring tasks in the console: created and edited, with a preview of what will come of it."""

from datetime import UTC, datetime

import pytest
from django.test import Client
from pytest_django import Settings

from scheduling import clock, ledger
from scheduling.models import OperatorAction, RecurringTask
from scheduling.recurrence import zones
from tenants.models import Tenant
from tests.admin.kit import RECURRING, ago, recorded, text_of
from tests.admin.recurring import TYPED, errors_of, of, typed_into
from tests.ledger.recurring.kit import again, recurring

pytestmark = pytest.mark.ledger

HTMX = {"HX-Request": "true"}


# The form


def test_every_zone_that_is_offered_is_one_that_is_taken(operator: Client) -> None:
    offered = operator.get(f"{RECURRING}add/").context["known_zones"]
    assert {"Europe/Berlin", "UTC"} <= set(offered)
    assert [zones.named(name).key for name in offered] == offered


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
        ("every_seconds", "0", "must be a whole number from 1 to"),
        ("anchor", "2027-03-28T02:30:00Z", "belongs to every_seconds"),
        ("timezone", "Europe/Berlln", "is no IANA time zone"),
        ("starts_at", "2027-03-28T02:30:00", "must be a date and time with a zone"),
        ("starts_at", "2027-W12-7", "must be a date and time with a zone"),
        ("ends_at", "2020-01-01", "must be a date and time with a zone"),
        ("ends_at", "2020-01-01T00:00:00Z", "leaves the rule no instant from now on"),
        ("overlap", "often", "must be one of skip, buffer_one, allow, cancel_other"),
        ("catchup", "some", "must be one of none, one, all"),
        ("catchup_window_seconds", "-1", "must be a whole number from 0 to"),
        ("catchup_window_seconds", "1000d", "must be a whole number from 0 to"),
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
