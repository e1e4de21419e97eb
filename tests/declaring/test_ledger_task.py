"""What `@task` makes of a function when the ledger is the backend."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from scheduling.compat import InvalidDeclaration, task, task_backends
from scheduling.declaring.ledger_task import LedgerTask


def delay(attempt: int) -> timedelta:
    return timedelta(seconds=attempt)


@task(
    name="test.declared",
    queue_name="mail",
    priority=5,
    max_attempts=7,
    timeout=timedelta(seconds=30),
    deadline=timedelta(hours=1),
    backoff=delay,
    tenant="acme",
)
def declared(context: Any, invoice_id: int) -> None: ...


@task()
def plain(invoice_id: int) -> None: ...


def test_options_are_kept_as_declared() -> None:
    assert isinstance(declared, LedgerTask)
    assert declared.name == declared.ledger_name == "test.declared"
    assert (declared.queue_name, declared.priority, declared.max_attempts) == ("mail", 5, 7)
    assert declared.timeout_seconds == 30
    assert declared.deadline == timedelta(hours=1)
    assert declared.backoff is delay
    assert declared.tenant == "acme"


def test_a_task_without_options_has_three_attempts_and_goes_by_its_place() -> None:
    assert plain.name == ""
    assert plain.ledger_name == f"{__name__}.plain"
    assert plain.max_attempts == 3
    assert plain.timeout_seconds is None


def test_a_first_parameter_called_context_is_the_context() -> None:
    assert declared.takes_context
    assert not plain.takes_context


def test_using_changes_what_is_given_and_nothing_else() -> None:
    later = datetime(2027, 1, 4, tzinfo=UTC)
    copy = declared.using(
        tenant="globex",
        idempotency_key="a",
        label="order 4711",
        max_attempts=1,
        run_after=later,
        queue_name="post",
    )
    assert isinstance(copy, LedgerTask)
    assert (copy.tenant, copy.idempotency_key, copy.max_attempts) == ("globex", "a", 1)
    assert (copy.label, plain.using(label="order 4711").label) == ("order 4711", "order 4711")
    assert (copy.run_after, copy.queue_name) == (later, "post")
    assert (copy.priority, copy.backoff, copy.timeout) == (5, delay, declared.timeout)
    assert declared.using() == declared
    assert declared.tenant == "acme"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("name", "with space"),
        ("name", "x" * 201),
        ("name", "a\0"),
        ("queue_name", ""),
        ("queue_name", "x" * 101),
        ("priority", 101),
        ("max_attempts", 0),
        ("max_attempts", 32_768),
        ("max_attempts", True),
        ("max_attempts", "3"),
        ("timeout", timedelta(0)),
        ("timeout", timedelta(hours=25)),
        ("timeout", 30),
        ("deadline", datetime(2027, 1, 4)),  # noqa: DTZ001  # the point of it
        ("deadline", timedelta(seconds=-1)),
        ("deadline", "tomorrow"),
        ("backoff", 4),
        ("idempotency_key", ""),
        ("idempotency_key", "ü"),
        ("idempotency_key", "x" * 256),
        ("label", ""),
        ("label", "a\0"),
        ("label", "x" * 201),
    ],
)
def test_an_option_no_attempt_could_be_made_with_is_refused_by_name(
    option: str, value: Any
) -> None:
    with pytest.raises(InvalidDeclaration, match=option.removesuffix("_name")):
        task(**{option: value})(plain.func)


def test_a_copy_is_held_to_the_same_rules() -> None:
    with pytest.raises(InvalidDeclaration, match="max_attempts: must be a whole number from 1"):
        plain.using(max_attempts=-1)
    with pytest.raises(InvalidDeclaration, match="label: must be one line of text"):
        plain.using(label="order\n4711")


@pytest.mark.parametrize(
    "capability",
    ["supports_defer", "supports_async_task", "supports_get_result", "supports_priority"],
)
def test_the_ledger_can_do_whatever_the_framework_knows(capability: str) -> None:
    assert getattr(task_backends["default"], capability) is True


def test_every_task_is_made_by_the_ledgers_class() -> None:
    assert task_backends["default"].task_class is LedgerTask
