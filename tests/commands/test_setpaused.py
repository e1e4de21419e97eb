"""`setpaused`: the kill switch with no server running."""

import json
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import OperationalError

from scheduling import clock, ledger
from scheduling.management.commands import setpaused
from scheduling.models import OperatorAction, Pause
from tenants.models import Tenant
from tests.commands.kit import complaint, manage
from tests.ledger import kit

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def claimed() -> int:
    return len(ledger.claim(uuid4(), limit=9).claims)


def test_everything_stops_and_goes_on(tenant_a: Tenant) -> None:
    kit.put(tenant_a, now=clock.now())
    assert "everything: paused since" in manage("setpaused", "true").out
    assert claimed() == 0
    assert "everything: not paused since" in manage("setpaused", "FALSE").out
    assert claimed() == 1


def test_the_receipt_says_what_who_why_until_when_and_what_still_runs(
    tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "ada")
    kit.put(tenant_a, queue="mail")
    kit.take()
    said = manage(
        "setpaused", "true", "--tenant", "tenant-a", "--queue", "mail", "--name", "demo.echo",
        "--reason", "deploy", "--for", "10m",
    )  # fmt: skip
    pause = Pause.objects.get()
    assert (pause.tenant, pause.queue, pause.name) == (tenant_a, "mail", "demo.echo")
    assert (pause.reason, pause.paused_by) == ("deploy", "ada")
    assert pause.expires_at == pause.since + timedelta(minutes=10)
    assert said.out.splitlines() == [
        f"{pause.scope}: paused since {pause.since:%F %T} UTC, by ada",
        f"until: {pause.expires_at:%F %T} UTC",
        "reason: deploy",
        "in flight: 1, which finish",
    ]


def test_it_is_on_record(tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "ada")
    manage("setpaused", "true", "--tenant", "tenant-a", "--reason", "deploy")
    manage("setpaused", "false", "--tenant", "tenant-a")
    recorded = OperatorAction.objects.order_by("pk").values_list("by", "via", "verb", "reason")
    assert list(recorded) == [
        ("ada", "command", "pause", "deploy"),
        ("ada", "command", "resume", ""),
    ]


def test_resuming_what_is_not_paused_says_so_and_leaves_no_record(tenant_a: Tenant) -> None:
    said = manage("setpaused", "false", "--tenant", "tenant-a").out
    assert said.splitlines() == ["tenant=tenant-a: was not paused", "in flight: 0"]
    assert json.loads(manage("setpaused", "false", "--json").out).keys() == set(setpaused.TOLD)
    assert not OperatorAction.objects.exists()


def test_a_user_without_a_name_is_known_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise OSError("No username set in the environment")

    monkeypatch.setattr("getpass.getuser", nameless)
    assert setpaused.who().startswith("uid ")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["maybe"], "'maybe' is neither true nor false"),
        ([], "true|false"),
        (["true", "--tenant", "nobody"], "no tenant 'nobody'"),
        (["true", "--queue", "a b"], "--queue"),
        (["true", "--name", "n" * 201], "--name"),
        (["true", "--for", "soon"], "'soon' is no usable duration"),
        (["false", "--for", "5m"], "--for goes with true"),
        (["true", "--tennant", "tenant-a"], "--tennant"),
    ],
)
def test_a_switch_that_cannot_be_is_refused_and_nothing_is_paused(
    words: list[str], named: str
) -> None:
    assert named in complaint("setpaused", *words)
    assert not Pause.objects.exists()


def test_a_ledger_that_does_not_answer_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(**options: object) -> None:
        raise OperationalError("connection refused\n")

    monkeypatch.setattr(ledger, "pause", gone)
    assert complaint("setpaused", "true").endswith("The ledger does not answer: connection refused")
