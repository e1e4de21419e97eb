"""Errors that nobody answers for are logged by class and place, and never by what they say."""

import secrets
import sys
import threading

import pytest

from scheduling.workers import strays

HUSH = secrets.token_urlsafe(32)


def fail() -> None:
    raise ValueError(HUSH) from KeyError(HUSH)


class Unfinishable:
    def __del__(self) -> None:
        fail()


@pytest.fixture(autouse=True)
def in_a_worker_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    strays.log_instead_of_python()


def require_class_and_place(caplog: pytest.LogCaptureFixture, opening: str) -> None:
    (said,) = caplog.messages
    assert said.startswith(opening)
    assert f"builtins.ValueError at {__file__}:{fail.__code__.co_firstlineno + 1}" in said
    assert HUSH not in caplog.text


def test_a_thread_that_a_handler_started(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    thread = threading.Thread(target=fail, name="mailer")
    thread.start()
    thread.join()
    require_class_and_place(caplog, "The thread mailer failed: ")
    assert HUSH not in "".join(capfd.readouterr())


def test_a_thread_that_leaves_by_itself_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    thread = threading.Thread(target=sys.exit)
    thread.start()
    thread.join()
    assert caplog.messages == []


def test_a_finalizer_of_what_a_handler_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    Unfinishable()
    require_class_and_place(caplog, "An error was left unanswered in a function: ")
