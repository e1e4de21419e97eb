"""As many run as there are places, and who waits for something leaves its own to others, connections and all."""

from collections.abc import Iterator
from threading import Event, Thread
from typing import Any

import pytest
from django.db import connection, connections

from config import places
from config.places import Lines, Places
from tests.waiting import until

LONG = 20


@pytest.fixture
def one_place() -> Iterator[Places]:
    made = Places(1)
    try:
        yield made
    finally:
        made.submit(connections.close_all).result(LONG)
        made.shutdown()


def test_who_waits_lets_another_one_run_and_comes_back_after_it(one_place: Places) -> None:
    over, said = Event(), []

    def wait() -> None:
        one_place.wait(over, LONG)
        said.append("back")

    def end_the_wait() -> None:
        over.set()
        until(lambda: one_place._lines.returning)
        said.append("ran")

    waiting = one_place.submit(wait)
    one_place.submit(end_the_wait).result(LONG)
    waiting.result(LONG)
    assert said == ["ran", "back"]


@pytest.mark.django_db(transaction=True)
def test_the_connection_stays_with_the_place(one_place: Places) -> None:
    over = Event()

    def opened() -> Any:
        connection.ensure_connection()
        return connection.connection

    def wait() -> tuple[Any, Any]:
        before = opened()
        one_place.wait(over, LONG)
        return before, opened()

    waiting = one_place.submit(wait)
    of_another = one_place.submit(opened).result(LONG)
    over.set()
    before, after = waiting.result(LONG)
    assert before is of_another
    assert after is of_another


def test_who_waits_for_too_long_comes_back_too(one_place: Places) -> None:
    one_place.submit(one_place.wait, Event(), 0.01).result(LONG)


def test_without_another_thread_nobody_waits(
    one_place: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NoMore(Thread):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(places, "Thread", NoMore)
    one_place.submit(one_place.wait, Event(), 10 * LONG).result(LONG)


def test_who_waits_when_all_end_needs_no_place_any_more() -> None:
    closing, over = Places(1), Event()
    waiting = closing.submit(closing.wait, over, LONG)
    closing.submit(closing.shutdown).result(LONG)
    over.set()
    waiting.result(LONG)


def test_what_is_raised_is_the_callers(one_place: Places) -> None:
    with pytest.raises(ZeroDivisionError):
        one_place.submit(divmod, 1, 0).result(LONG)


def test_who_comes_and_who_comes_back_take_turns() -> None:
    lines, said = Lines(), ""
    for line, name in ((lines.returning, "r"), (lines.coming, "c")):
        for _ in range(3):
            lines.stand(line, lambda name=name: name)  # type: ignore[misc]
    lines.stand(lines.coming, lambda: "c")  # type: ignore[arg-type, return-value]
    lines.close()
    while step := lines.next():
        said += str(step())
    assert said in ("rcrcrcc", "crcrcrc")
