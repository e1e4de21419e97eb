"""Pausing and resuming by hand, and seeing everywhere that something is paused."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from scheduling import clock, ledger
from scheduling.models import OperatorAction, Pause
from tenants.models import Tenant
from tests.admin.conftest import SignIn
from tests.admin.kit import DEAD_LETTERS, PAUSES, TASKS, put, recorded, text_of
from tests.ledger.kit import take

pytestmark = pytest.mark.ledger

ADD = f"{PAUSES}add/"


@pytest.mark.parametrize(
    "address",
    ["/admin/", TASKS, DEAD_LETTERS, PAUSES, "/admin/tenants/tenant/", "/admin/auth/user/add/"],
)
def test_every_page_tells_of_a_pause(operator: Client, address: str) -> None:
    an_hour_ago = clock.now() - timedelta(minutes=60, seconds=20)
    ledger.pause(queue="mail", reason="provider outage", by="bo", now=an_hour_ago)
    page = text_of(operator.get(address))
    assert "Paused: queue mail provider outage bo, 1 h ago, until resumed" in page


def test_who_is_not_signed_in_is_told_of_no_pause(client: Client, db: None) -> None:
    ledger.pause(reason="provider outage", by="bo")
    response = client.get("/admin/login/")
    assert response.status_code == 200
    assert "outage" not in text_of(response)


def test_who_may_not_see_pauses_is_told_of_none(sign_in: SignIn) -> None:
    ledger.pause(reason="provider outage", by="bo")
    assert "outage" not in text_of(sign_in("view_task").get("/admin/"))


def test_tenants_that_paused_themselves_do_not_crowd_out_an_operators_pause(
    operator: Client,
) -> None:
    for number in range(5):
        tenant = Tenant.objects.create(slug=f"tenant-{number}")
        ledger.pause(tenant=tenant, by="its token", by_tenant=True)
    ledger.pause(reason="migration", by="bo")
    shown = text_of(operator.get("/admin/"))
    assert "Paused: everything migration bo" in shown
    assert "its token (the tenant itself)" in shown
    assert "All pauses" in shown
    assert text_of(operator.get(PAUSES)).count("Resume") == 3 + 6


def test_of_many_pauses_those_of_everything_and_the_latest_are_shown(operator: Client) -> None:
    began_at = clock.now() - timedelta(hours=1)
    ledger.pause(reason="migration", by="bo", now=began_at)
    for number in range(4):
        ledger.pause(queue=f"q{number}", by="bo", now=began_at + timedelta(minutes=number))
    shown = text_of(operator.get("/admin/")).partition("All pauses")[0]
    assert [scope for scope in ("everything", "q3", "q2", "q1", "q0") if f"{scope} " in shown] == [
        "everything",
        "q3",
        "q2",
    ]


def test_an_expired_pause_is_not_shown(operator: Client) -> None:
    an_hour_ago = clock.now() - timedelta(hours=1)
    ledger.pause(reason="short", by="bo", duration=timedelta(minutes=5), now=an_hour_ago)
    assert "Paused:" not in text_of(operator.get("/admin/"))


def test_the_form_asks_before_everything_is_paused(operator: Client, tenant_a: Tenant) -> None:
    put(tenant_a)
    take(1)
    answer = text_of(operator.post(ADD, {"reason": "fire drill", "duration": "10m"}))
    assert "Pause everything?" in answer
    assert "fire drill" in answer
    assert "10 min" in answer
    assert "1: they finish" in answer
    assert not Pause.objects.exists()


def test_a_part_is_paused_at_once_with_a_receipt(operator: Client, tenant_a: Tenant) -> None:
    asked = {"tenant": "tenant-a", "queue": "mail", "reason": "fire drill", "duration": "10m"}
    answer = operator.post(ADD, asked, follow=True)

    pause = Pause.objects.get()
    assert (pause.tenant, pause.queue, pause.name) == (tenant_a, "mail", "")
    assert (pause.reason, pause.paused_by) == ("fire drill", "ana")
    assert pause.expires_at == pause.since + timedelta(minutes=10)
    assert "Paused: tenant tenant-a, queue mail, since" in text_of(answer)
    action = OperatorAction.objects.get()
    assert (action.verb, action.what, action.reason) == (
        "pause",
        "tenant tenant-a, queue mail",
        "fire drill",
    )
    assert action.tenant == tenant_a


def test_nothing_starts_after_the_receipt(operator: Client, tenant_a: Tenant) -> None:
    put(tenant_a)
    operator.post(ADD, {"reason": "fire drill", "confirmed": "1"})
    assert take(1, now=clock.now()) == []


def test_what_was_typed_can_be_changed_after_the_question(operator: Client) -> None:
    answer = operator.post(ADD, {"queue": "mail", "reason": "fire drill", "change": "1"})
    assert answer.context["form"]["queue"].value() == "mail"
    assert not Pause.objects.exists()


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"tenant": "nobody", "reason": "r"}, "No tenant is called “nobody”."),
        ({"reason": "r", "duration": "soon"}, "'soon' is no usable duration."),
        ({}, "This field is required."),
    ],
)
def test_a_wrong_form_says_what_is_wrong(
    operator: Client, asked: dict[str, str], complaint: str
) -> None:
    answer = operator.post(ADD, {**asked, "confirmed": "1"})
    assert complaint in text_of(answer)
    assert not Pause.objects.exists()


def test_the_question_tells_of_a_pause_that_stands(operator: Client) -> None:
    ledger.pause(reason="migration", by="bo")
    answer = operator.post(ADD, {"reason": "fire drill"})
    assert "everything is paused already: migration" in text_of(answer)


def test_one_click_resumes(operator: Client, tenant_a: Tenant) -> None:
    put(tenant_a)
    ledger.pause(tenant=tenant_a, by="bo")
    pause = Pause.objects.get()
    answer = operator.post(f"{PAUSES}{pause.pk}/resume/", follow=True)
    assert "Resumed: tenant tenant-a;" in text_of(answer)
    assert not Pause.objects.in_force(clock.now()).exists()
    assert recorded() == ["resume resumed; 0 tasks in flight."]
    assert len(take(1, now=clock.now())) == 1


def test_who_resumes_second_is_told_that_it_is_over(operator: Client) -> None:
    ledger.pause(by="bo")
    pause = Pause.objects.get()
    ledger.resume(by="bo")
    answer = operator.post(f"{PAUSES}{pause.pk}/resume/", follow=True)
    assert "That pause was over already." in text_of(answer)
    assert recorded() == []


def test_who_is_overtaken_on_the_way_is_told_so_too(
    operator: Client, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.pause(tenant=tenant_a, by="bo")
    pause, resume = Pause.objects.get(), ledger.resume

    def overtaken(**asked: Any) -> ledger.Receipt:
        resume(tenant=tenant_a, by="cy")
        return resume(**asked)

    monkeypatch.setattr(ledger, "resume", overtaken)
    answer = operator.post(f"{PAUSES}{pause.pk}/resume/", follow=True)
    assert "That pause was over already." in text_of(answer)
    assert recorded() == []


def test_resuming_under_a_wider_pause_says_what_still_stands(
    operator: Client, tenant_a: Tenant
) -> None:
    ledger.pause(reason="migration", by="bo")
    ledger.pause(tenant=tenant_a, by="bo")
    narrow = Pause.objects.get(tenant=tenant_a)
    answer = operator.post(f"{PAUSES}{narrow.pk}/resume/", follow=True)
    assert "Paused: everything, since" in text_of(answer)


def test_a_link_resumes_nothing(operator: Client) -> None:
    ledger.pause(by="bo")
    pause = Pause.objects.get()
    assert operator.get(f"{PAUSES}{pause.pk}/resume/").status_code == 405
    assert Pause.objects.in_force(clock.now()).exists()


def test_who_may_only_look_neither_pauses_nor_resumes(sign_in: SignIn) -> None:
    ledger.pause(reason="migration", by="bo")
    pause = Pause.objects.get()
    viewer = sign_in("view_pause", "view_task")
    listing = text_of(viewer.get(PAUSES))
    assert "migration" in listing
    assert "Resume" not in listing
    assert viewer.get(ADD).status_code == 403
    assert viewer.post(ADD, {"reason": "r", "confirmed": "1"}).status_code == 403
    assert viewer.post(f"{PAUSES}{pause.pk}/resume/").status_code == 403
    assert Pause.objects.in_force(clock.now()).count() == 1


def test_the_list_offers_to_resume(operator: Client, tenant_a: Tenant) -> None:
    ledger.pause(tenant=tenant_a, name="demo.echo", reason="bad release", by="bo")
    listing = operator.get(PAUSES)
    assert "tenant tenant-a, task demo.echo bad release bo" in text_of(listing)
    assert f'formaction="{PAUSES}{Pause.objects.get().pk}/resume/"' in listing.content.decode()
