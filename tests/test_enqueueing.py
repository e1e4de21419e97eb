"""The one validation behind every entrance."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from scheduling.compat import task
from scheduling.enqueueing import new_task
from scheduling.errors import InvalidTask
from scheduling.ledger.values import NewTask

NOW = datetime(2027, 1, 4, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


@task(
    name="test.enqueued",
    queue_name="mail",
    priority=5,
    max_attempts=7,
    timeout=timedelta(seconds=30),
    deadline=timedelta(hours=2),
)
def enqueued(context: Any, invoice_id: int, note: str = "") -> None: ...


@task()
def plain(**payload: Any) -> None: ...


def new(kwargs: dict[str, Any] | None = None, **options: Any) -> NewTask:
    return new_task(
        enqueued,
        [],
        {"invoice_id": 1} if kwargs is None else kwargs,
        tenant_id=1,
        now=NOW,
        **options,
    )


def faults_of(kwargs: dict[str, Any] | None = None, **options: Any) -> dict[str, str]:
    with pytest.raises(InvalidTask) as refusal:
        new(kwargs, **options)
    return refusal.value.errors


def test_what_is_not_asked_for_is_as_declared() -> None:
    assert new()._asdict() == {
        "tenant_id": 1,
        "name": "test.enqueued",
        "queue": "mail",
        "args_json": "[]",
        "kwargs_json": '{"invoice_id":1}',
        "priority": 5,
        "due_at": None,
        "max_attempts": 7,
        "timeout_seconds": 30,
        "deadline": NOW + 2 * HOUR,
        "idempotency_key": None,
        "fingerprint": None,
        "trace_context": None,
        "label": None,
    }


def test_what_is_asked_for_comes_first() -> None:
    asked = new(
        queue="post",
        priority=0,
        due_at="2027-01-04T14:00:00+01:00",
        max_attempts=1,
        timeout_seconds=0.5,
        deadline=NOW + 3 * HOUR,
        idempotency_key="order-1",
        label="Auftrag für Zürich 4711",
    )
    assert (asked.queue, asked.priority, asked.max_attempts) == ("post", 0, 1)
    assert (asked.due_at, asked.deadline) == (NOW + HOUR, NOW + 3 * HOUR)
    assert (asked.timeout_seconds, asked.idempotency_key) == (0.5, "order-1")
    assert asked.label == "Auftrag für Zürich 4711"


def test_a_delay_is_due_later() -> None:
    assert new(delay_seconds=60).due_at == NOW + timedelta(seconds=60)


def test_a_delay_asked_for_replaces_the_instant_of_a_copy() -> None:
    copy = enqueued.using(run_after=NOW + HOUR)
    assert new_task(copy, [1], {}, tenant_id=1, now=NOW).due_at == NOW + HOUR
    assert new_task(copy, [1], {}, tenant_id=1, now=NOW, delay_seconds=0).due_at is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("queue", ""),
        ("queue", "a b"),
        ("queue", 1),
        ("priority", 101),
        ("priority", 1.5),
        ("priority", True),
        pytest.param("priority", 10**5_000, id="priority-huge"),
        ("due_at", "2027-03-28"),
        ("due_at", "9999-12-31T00:00:00Z"),
        ("due_at", 1),
        ("due_at", NOW - 2 * HOUR),
        ("delay_seconds", -1),
        ("max_attempts", 0),
        ("timeout_seconds", 0),
        ("timeout_seconds", float("nan")),
        ("timeout_seconds", True),
        ("deadline", NOW - timedelta(seconds=1)),
        ("idempotency_key", ""),
        ("idempotency_key", "a\nb"),
        ("label", ""),
        ("label", " a"),
        ("label", "a\u00a0"),
        ("label", "a\0b"),
        ("label", "a\nb"),
        ("label", "a\u2028b"),
        ("label", "a\x9fb"),
        ("label", "\ud800"),
        ("label", "x" * 201),
        ("label", 4711),
    ],
)
def test_an_option_out_of_range_is_refused_by_its_field(field: str, value: Any) -> None:
    assert list(faults_of(**{field: value})) == [field]


def test_everything_wrong_is_said_at_once() -> None:
    assert faults_of({}, queue="", due_at="soon", timeout_seconds=-1).keys() == {
        "payload.invoice_id",
        "queue",
        "due_at",
        "timeout_seconds",
    }


def test_what_cannot_be_stored_is_refused() -> None:
    assert list(faults_of({"invoice_id": 1, "note": "\ud800"})) == ["payload.note"]
    with pytest.raises(InvalidTask, match=r"payload\[0\]"):
        new_task(plain, [float("nan")], {}, tenant_id=1)


class TestFingerprint:
    def test_only_a_key_needs_one(self) -> None:
        assert new().fingerprint is None
        assert new(idempotency_key="a").fingerprint

    def test_the_same_request_has_the_same_one_whenever_it_is_made(self) -> None:
        first = new(idempotency_key="a", delay_seconds=60)
        again = new_task(
            enqueued,
            [],
            {"invoice_id": 1},
            tenant_id=1,
            now=NOW + HOUR,
            idempotency_key="a",
            delay_seconds=60,
        )
        assert first.due_at != again.due_at
        assert first.fingerprint == again.fingerprint

    @pytest.mark.parametrize(
        "other",
        [
            {"kwargs": {"invoice_id": 2}},
            {"queue": "post"},
            {"priority": 1},
            {"delay_seconds": 61},
            {"due_at": NOW + HOUR},
            {"max_attempts": 2},
            {"timeout_seconds": 1},
            {"deadline": NOW + HOUR},
            {"label": "order 4711"},
        ],
    )
    def test_another_request_has_another_one(self, other: dict[str, Any]) -> None:
        assert new(idempotency_key="a").fingerprint != new(idempotency_key="a", **other).fingerprint

    def test_python_may_say_anew_when_the_same_task_is_due(self) -> None:
        soon = enqueued.using(idempotency_key="digest", run_after=NOW + HOUR)
        later = enqueued.using(idempotency_key="digest", run_after=NOW + HOUR + HOUR / 2)
        assert (
            new_task(soon, [1], {}, tenant_id=1, now=NOW).fingerprint
            == new_task(later, [1], {}, tenant_id=1, now=NOW).fingerprint
        )
