"""Task ids are UUIDs of version 7: in the order in which they were made, and nobody's to guess."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import RFC_4122, UUID

import pytest

from scheduling import clock, ids
from scheduling.ids import uuid7, uuids7

MANY = 5_000


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the last id, so that a test may set the clock, and remember it again afterwards."""
    monkeypatch.setattr(ids, "_last", 0)


def set_clock(monkeypatch: pytest.MonkeyPatch, *instants: datetime) -> None:
    """Each look at the clock finds the next instant, and the last one for ever."""

    def readings() -> Iterator[int]:
        for instant in instants:
            yield round(instant.timestamp() * 1_000) * 1_000_000
        while True:
            yield round(instants[-1].timestamp() * 1_000) * 1_000_000

    look = readings()
    monkeypatch.setattr(clock, "unix_nanoseconds", lambda: next(look))


def made_at(task_id: UUID) -> datetime:
    return datetime.fromtimestamp((task_id.int >> 80) / 1_000, UTC)


def test_an_id_says_which_kind_of_uuid_it_is() -> None:
    assert all((one.version, one.variant) == (7, RFC_4122) for one in (uuid7(), uuid7()))


def test_an_id_begins_with_the_millisecond_it_was_made_in() -> None:
    before = clock.now()
    task_id = uuid7()
    assert before - timedelta(milliseconds=1) < made_at(task_id) <= clock.now()


def test_every_id_is_greater_than_the_one_before() -> None:
    made = [uuid7() for _ in range(MANY)]
    assert made == sorted(set(made))


def test_ids_of_one_instant_are_in_order_too(monkeypatch: pytest.MonkeyPatch) -> None:
    set_clock(monkeypatch, datetime(2027, 1, 4, tzinfo=UTC))
    made = [uuid7() for _ in range(MANY)]
    assert made == sorted(set(made))


def test_a_batch_is_in_order_and_between_what_was_made_before_and_after() -> None:
    made = [uuid7(), *uuids7(MANY), uuid7(), *uuids7(2)]
    assert made == sorted(set(made))
    assert all((one.version, one.variant) == (7, RFC_4122) for one in made)


def test_the_ids_of_a_batch_tell_nothing_of_each_other() -> None:
    assert len({one.int & (1 << 62) - 1 for one in uuids7(1_000)}) == 1_000


def test_a_clock_set_back_puts_no_id_before_an_older_one(monkeypatch: pytest.MonkeyPatch) -> None:
    noon = datetime(2027, 1, 4, 12, tzinfo=UTC)
    set_clock(monkeypatch, noon, noon - timedelta(hours=1))
    first, second = uuid7(), uuid7()
    assert first < second
    assert made_at(second) == noon


def test_a_clock_set_forward_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    noon = datetime(2027, 1, 4, 12, tzinfo=UTC)
    set_clock(monkeypatch, noon, noon + timedelta(hours=1))
    assert [made_at(uuid7()) for _ in range(2)] == [noon, noon + timedelta(hours=1)]


def test_threads_share_one_order_and_no_id() -> None:
    with ThreadPoolExecutor(4) as threads:
        made = [
            future.result()
            for future in [threads.submit(lambda: [uuid7() for _ in range(MANY)]) for _ in range(4)]
        ]
    assert all(one == sorted(one) for one in made)
    assert len({task_id for one in made for task_id in one}) == 4 * MANY


def test_two_ids_of_one_instant_tell_nothing_of_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a tenant sees of its own ids must not lead to the next one, which may be another's."""
    set_clock(monkeypatch, datetime(2027, 1, 4, tzinfo=UTC))
    tails = {uuid7().int & (1 << 62) - 1 for _ in range(1_000)}
    assert len(tails) == 1_000
    assert len({tail >> 52 for tail in tails}) > 500, "the high bits are drawn as well"
