"""Text of failures and results that no database would take, and much that looks like it."""

import pytest

from scheduling.ledger.values import Fail, Failure, Succeed
from scheduling.models import Attempt
from scheduling.payload import clean_text
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.ledger.kit import NO_DELAY, put, say, take, task

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

WILD = "NUL \0, half a pair \ud83d, a whole one 😀, \\u0000 said, \x1b[31m red"
TAME = "NUL \\u0000, half a pair \\ud83d, a whole one 😀, \\u0000 said, \x1b[31m red"


def test_a_failure_with_nul_and_half_a_surrogate_pair_is_stored_escaped(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    failure = Failure(*(clean_text(text, 1000) for text in ("ValueError", WILD, WILD)))
    say(take(), Fail(failure, NO_DELAY))
    assert task(task_id).state == TaskState.QUEUED, "an ordinary retry"
    assert task(task_id).error == {"class": "ValueError", "message": TAME}
    assert Attempt.objects.get().error == {
        "class": "ValueError",
        "message": TAME,
        "traceback": TAME,
    }


@pytest.mark.parametrize(
    ("result_json", "result"),
    [
        ("null", None),
        ("0.1", 0.1),
        ('"ünï 😀"', "ünï 😀"),
        ('{"a": [1, {"b": "</script>"}]}', {"a": [1, {"b": "</script>"}]}),
        ("18446744073709551615", 2**64 - 1),
        ('""', ""),
    ],
)
def test_a_result_comes_back_as_it_went_in(
    tenant_a: Tenant, result_json: str, result: object
) -> None:
    (task_id,) = put(tenant_a)
    say(take(), Succeed(result_json))
    assert task(task_id).result == result


@pytest.mark.parametrize("text", ["'; DROP TABLE scheduling_task; --", "%s %(x)s ? :now", "100 %"])
def test_text_that_looks_like_a_statement_is_text(tenant_a: Tenant, text: str) -> None:
    (task_id,) = put(tenant_a, name=text, queue=text, args=[text], kwargs={text: text})
    (claim,) = take(queues=[text])
    assert claim.arguments() == ([text], {text: text})
    say(claim, Fail(Failure(text, text, text), None))
    assert task(task_id).error == {"class": text, "message": text}


@pytest.mark.parametrize("key", ["ключ 🔑", 'a"b\\c', "a,b]}", " "])
def test_a_key_of_any_text_is_found_again(tenant_a: Tenant, key: str) -> None:
    (task_id,) = put(tenant_a, idempotency_key=key, fingerprint="f")
    assert put(tenant_a, idempotency_key=key, fingerprint="f") == [task_id]
