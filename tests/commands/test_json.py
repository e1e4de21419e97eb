"""What commands tell programs, with `--json`: one object on stdout, and the same exit codes."""

import json
from datetime import datetime
from typing import Any

import pytest

from scheduling.models import Task
from scheduling.states import TaskState
from tenants.authentication import usable_token
from tenants.models import ApiToken, Tenant
from tests.commands.kit import complaint, manage
from tests.commands.test_prune import finished
from tests.ledger import kit

pytestmark = pytest.mark.django_db(transaction=True)


def told(*words: str, code: int = 0) -> Any:
    said = manage(*words, "--json")
    assert said.code == code, said
    return json.loads(said.out)


def test_a_tenant_is_told_with_its_limits() -> None:
    assert told("createtenant", "acme", "--weight", "3", "--rate", "0.5") == {
        "slug": "acme",
        "name": "",
        "weight": 3,
        "max_in_flight": Tenant().max_in_flight,
        "max_queued": Tenant().max_queued,
        "rate_per_second": 0.5,
        "rate_burst": Tenant().rate_burst,
    }


def test_a_token_is_told_with_its_secret_and_nothing_goes_to_stderr(tenant_a: Tenant) -> None:
    words = ("issuetoken", "tenant-a", "--scopes", "read", "--expires", "30d", "--json")
    said = manage(*words)
    issued = json.loads(said.out)
    assert said.err == ""
    token = usable_token(issued.pop("secret"))
    assert token.expires_at is not None
    assert datetime.fromisoformat(issued.pop("expires_at")).replace(
        microsecond=0
    ) == token.expires_at.replace(microsecond=0)
    assert issued == {"prefix": token.prefix, "tenant": "tenant-a", "name": "", "scopes": ["read"]}


def test_an_operators_token_has_no_tenant_and_no_end() -> None:
    issued = told("issuetoken", "--operator")
    assert (issued["tenant"], issued["expires_at"]) == (None, None)


def test_revoking_tells_whether_it_was_open_before(tenant_a: Tenant) -> None:
    token, _ = ApiToken.objects.issue(tenant=tenant_a)
    first = told("revoketoken", token.prefix)
    assert (first["prefix"], first["tenant"], first["was_open"]) == (token.prefix, "tenant-a", True)
    assert told("revoketoken", token.prefix) == {**first, "was_open": False}


def test_the_switch_tells_its_receipt(tenant_a: Tenant) -> None:
    kit.put(tenant_a)
    kit.take()
    receipt = told("setpaused", "true", "--tenant", "tenant-a", "--reason", "deploy")
    assert receipt["paused"] is True
    assert (receipt["scope"], receipt["reason"]) == ("tenant=tenant-a", "deploy")
    assert (receipt["in_flight"], receipt["expires_at"]) == (1, None)
    assert datetime.fromisoformat(receipt["since"]).tzinfo is not None
    assert told("setpaused", "false", "--tenant", "tenant-a")["paused"] is False


def test_violations_are_told_and_the_exit_code_is_1(tenant_a: Tenant) -> None:
    assert told("checkledger") == {"violations": []}
    [task_id] = kit.put(tenant_a)
    Task.objects.filter(pk=task_id).update(state=TaskState.RUNNING)
    assert str(task_id) in told("checkledger", code=1)["violations"][0]


def test_pruning_tells_each_tenant_once_at_the_end(tenant_a: Tenant, tenant_b: Tenant) -> None:
    finished(tenant_a, days_ago=31, count=3)
    assert told("prune") == {"pruned": {"tenant-a": 3, "tenant-b": 0}}


@pytest.mark.parametrize(
    "words",
    [
        ("createtenant", "not a slug"),
        ("issuetoken", "nobody"),
        ("revoketoken", "nothing"),
        ("setpaused", "true", "--tenant", "nobody"),
        ("prune", "--older-than", "long"),
    ],
    ids=lambda words: words[0],
)
def test_errors_stay_a_sentence_on_stderr(words: tuple[str, ...]) -> None:
    assert complaint(*words, "--json")
