"""The log of starts, which every handler that is measured writes to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import props


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv(props.FOLDER, str(tmp_path))
    monkeypatch.setattr(props, "_log", None)
    yield tmp_path
    if props._log is not None:  # a process keeps it open to its end; this one goes on
        props._log.close()


def test_a_start_is_read_as_it_was_noted(scene: Path) -> None:
    props.note_start(7, 12.5)
    [start] = props.starts(scene)
    assert (start.number, start.sent_at) == (7, 12.5)
    assert start.started_at > 0


def test_every_start_is_there_as_soon_as_it_was_noted(scene: Path) -> None:
    for number in range(3):
        props.note_start(number, 0.0)
        assert props.starts_counted(scene) == number + 1


def test_a_line_that_is_being_written_is_left_for_later(scene: Path) -> None:
    (scene / props.LOG).write_text("1 2.0 3.0\n2 2.0")
    assert props.starts(scene) == [props.Start(1, 2.0, 3.0)]
    assert props.starts_counted(scene) == 1


def test_nothing_has_started_before_there_is_a_log(scene: Path) -> None:
    assert props.starts(scene) == []
    assert props.starts_counted(scene) == 0


def test_a_wait_is_in_milliseconds() -> None:
    assert props.Start(1, 2.0, 2.25).waited_ms == 250
