"""Named pipes that wake the other processes of one host."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scheduling.ledger.dialects.sqlite.fifos import FifoListener, wake
from scheduling.ledger.topics import TOPICS


@pytest.fixture
def ledger_path(tmp_path: Path) -> str:
    return str(tmp_path / "ledger.db")


@pytest.fixture
def listener(ledger_path: str) -> Iterator[FifoListener]:
    one = FifoListener(ledger_path)
    yield one
    one.close()


def pipes(ledger_path: str) -> list[str]:
    return os.listdir(f"{ledger_path}-wake")  # noqa: PTH208  # names are all that is asked for


def test_topics_are_told_apart_by_their_first_letters() -> None:
    assert len({topic[0] for topic in TOPICS}) == len(TOPICS)


def test_a_ledger_nobody_ever_listened_to_can_be_woken(ledger_path: str) -> None:
    wake(ledger_path, "work")


def test_all_topics_since_the_last_time_are_drained_at_once(
    ledger_path: str, listener: FifoListener
) -> None:
    for topic in ("work", "cancel", "work"):
        wake(ledger_path, topic)
    assert listener.drain() == {"work", "cancel"}
    assert listener.drain() == set()


def test_a_full_pipe_keeps_nobody_waiting_and_is_still_heard(
    ledger_path: str, listener: FifoListener
) -> None:
    os.write(listener.fileno(), b"w" * 65536)
    wake(ledger_path, "due")
    assert listener.drain() == {"work"}
    wake(ledger_path, "due")
    assert listener.drain() == {"due"}


def test_the_pipe_of_a_listener_that_was_killed_is_removed(
    ledger_path: str, listener: FifoListener
) -> None:
    killed = FifoListener(ledger_path)
    os.close(killed.fileno())
    assert len(pipes(ledger_path)) == 2
    wake(ledger_path, "work")
    assert len(pipes(ledger_path)) == 1
    assert listener.drain() == {"work"}


def test_a_listener_that_dies_just_before_it_is_written_to_keeps_no_other_from_being_woken(
    ledger_path: str, listener: FifoListener, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = FifoListener(ledger_path)
    its_pipe, write = os.fstat(dying.fileno()).st_ino, os.write

    def late(pipe: int, letter: bytes) -> int:
        if os.fstat(pipe).st_ino == its_pipe:
            os.close(dying.fileno())
        return write(pipe, letter)

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", late)
        wake(ledger_path, "work")
    assert len(pipes(ledger_path)) == 1
    assert listener.drain() == {"work"}


def test_a_process_out_of_files_removes_nobodys_pipe(
    ledger_path: str, listener: FifoListener, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_more_files(path: str, flags: int) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", no_more_files)
        with pytest.raises(OSError, match="Too many open files"):
            wake(ledger_path, "work")
    assert len(pipes(ledger_path)) == 1
    wake(ledger_path, "work")
    assert listener.drain() == {"work"}


def test_only_the_owner_may_look_into_the_folder(ledger_path: str, listener: FifoListener) -> None:
    assert Path(f"{ledger_path}-wake").stat().st_mode & 0o077 == 0
