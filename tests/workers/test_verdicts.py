"""From what a handler returned or raised to what the ledger is told."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from scheduling import retry
from scheduling.errors import PermanentFailure, RetryAfter, Snoozed, UnknownHandler
from scheduling.ledger.values import Claim, Fail, Snooze, Succeed, Verdict
from scheduling.returned import RESULT_LIMIT
from scheduling.workers import verdicts
from tests.app import tasks
from tests.workers.kit import a_claim

MINUTE = timedelta(minutes=1)


def failed(error: BaseException, *, attempt: int = 1, task: Any = tasks.noop) -> Fail:
    verdict = verdicts.of_error(a_claim(attempt=attempt), task, error)
    assert isinstance(verdict, Fail)
    return verdict


@pytest.mark.parametrize(
    ("result", "json"),
    [(None, "null"), (0, "0"), ({"a": [1, "ü"]}, '{"a":[1,"ü"]}'), ((1, 2), "[1,2]")],
)
def test_result_is_kept_as_json(result: Any, json: str) -> None:
    assert verdicts.of_result(result) == Succeed(json)


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (object(), "result: is of type object"),
        ({"total": float("nan")}, "result.total: is nan"),
        ("\ud800", "half a surrogate pair"),
        ("x" * RESULT_LIMIT, "1,048,578 bytes"),
    ],
)
def test_result_that_cannot_be_kept_is_a_failure_for_good_that_says_why(
    result: Any, why: str
) -> None:
    verdict = verdicts.of_result(result)

    assert isinstance(verdict, Fail)
    assert verdict.retry_in is None
    assert why in verdict.failure.message


def test_largest_result_is_kept() -> None:
    assert isinstance(verdicts.of_result("x" * (RESULT_LIMIT - 2)), Succeed)


@pytest.mark.parametrize(
    "error", [ValueError("no"), SystemExit(0), KeyboardInterrupt(), MemoryError(), GeneratorExit()]
)
def test_whatever_is_raised_is_an_ordinary_failure(error: BaseException) -> None:
    verdict = failed(error)

    assert verdict.failure.cls == f"builtins.{type(error).__name__}"
    assert verdict.retry_in is not None
    assert verdict.retry_in <= retry.ceiling(1)


OURS_TO_DELAY: list[tuple[Callable[[Claim], Verdict], timedelta]] = [
    (lambda claim: verdicts.of_error(claim, tasks.noop, ValueError()), retry.FAILED_BASE),
    (lambda claim: verdicts.of_unknown_handler(claim, UnknownHandler("new")), retry.FAILED_BASE),
    (verdicts.of_endless, retry.FAILED_BASE),
    (verdicts.of_lost_lease, retry.LOST_BASE),
]


@pytest.mark.parametrize(("said_of", "base"), OURS_TO_DELAY)
def test_a_crowd_that_fails_in_one_instant_is_not_tried_again_in_one(
    said_of: Callable[[Claim], Verdict], base: timedelta
) -> None:
    crowd = [said_of(a_claim(attempt=5)) for _ in range(1000)]
    longest = retry.ceiling(5, base=base)
    per_tenth = Counter(
        one.retry_in // (longest / 10) for one in crowd if isinstance(one, Fail) and one.retry_in
    )
    assert set(per_tenth) == set(range(10))
    assert min(per_tenth.values()) > 40, "an even spread has a hundred in every tenth"


def test_handler_chooses_its_words() -> None:
    assert verdicts.of_error(a_claim(), tasks.noop, Snoozed(MINUTE)) == Snooze(MINUTE)
    assert failed(RetryAfter(MINUTE, "busy")).retry_in == MINUTE
    assert failed(PermanentFailure("never")).retry_in is None


def backing_off(backoff: Callable[[int], Any]) -> Any:
    """A declared task's copy with a backoff of its own."""
    return replace(tasks.noop, backoff=backoff)


def test_task_s_own_backoff_decides() -> None:
    task = backing_off(lambda attempt: attempt * MINUTE)
    assert failed(ValueError(), attempt=3, task=task).retry_in == 3 * MINUTE


@pytest.mark.parametrize("answer", [lambda _: 1 / 0, lambda _: 5, lambda _: -MINUTE])
def test_backoff_that_is_broken_falls_back_to_ours(answer: Callable[[int], Any]) -> None:
    retry_in = failed(ValueError(), task=backing_off(answer)).retry_in
    assert retry_in is not None
    assert retry_in <= retry.ceiling(1)


def test_a_broken_backoff_takes_no_text_of_the_failure_to_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    try:
        raise ValueError("card 4111")
    except ValueError as error:
        failed(error, task=backing_off(lambda _: 1 / 0))
    assert f"(builtins.ZeroDivisionError at {__file__}:" in caplog.text
    assert "4111" not in caplog.text


def test_error_text_is_bounded_and_storable() -> None:
    verdict = failed(ValueError("\0\ud800" + "x" * 50_000_000))

    assert verdict.failure.message.startswith("\\u0000\\ud800x")
    assert len(verdict.failure.message) < 2 * verdicts.MESSAGE_LIMIT
    assert len(verdict.failure.traceback) < 2 * verdicts.TRACEBACK_LIMIT
    assert "left out" in verdict.failure.message


def test_error_whose_text_cannot_be_had_is_a_failure_like_any_other() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError

    assert failed(Mute()).failure.message == "(its text cannot be had: ValueError)"


def test_traceback_tells_the_lines_of_code_and_nothing_that_variables_hold() -> None:
    def handler(card: str) -> None:
        unsaid = card[::-1]
        raise ValueError(len(unsaid))

    with pytest.raises(ValueError) as raised:  # noqa: PT011  # ours
        handler("4711-0815")
    traceback = failed(raised.value).failure.traceback
    assert "raise ValueError(len(unsaid))" in traceback
    assert "5180-1174" not in traceback
