"""What the environment may and may not make of the settings, in a process that reads them afresh."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("name", "said", "answer"),
    [
        ("PORT", "abc", "PORT is 'abc'; it may be a whole number from 0 to 65535."),
        ("PORT", "", "PORT is ''; it may be a whole number from 0 to 65535."),
        ("PORT", "65536", "PORT is '65536'; it may be a whole number from 0 to 65535."),
        (
            "LEDGER_WAIT_SECONDS",
            "soon",
            "LEDGER_WAIT_SECONDS is 'soon'; it may be a number from 0.001 to 86400.",
        ),
        (
            "LEDGER_WAIT_SECONDS",
            "-1",
            "LEDGER_WAIT_SECONDS is '-1'; it may be a number from 0.001 to 86400.",
        ),
        ("HTTPS", "maybe", "HTTPS is 'maybe'; it may be 1 or 0."),
        (
            "LOG_LEVEL",
            "abc",
            "LOG_LEVEL is 'ABC'; it may be DEBUG, INFO, WARNING, ERROR or CRITICAL.",
        ),
        (
            "TENANT_MAX_QUEUED",
            "many",
            "TENANT_MAX_QUEUED is 'many'; it may be a whole number from 0 to 2147483647.",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(
    name: str, said: str, answer: str, tmp_path: Path
) -> None:
    assert manage_py("check", DATA_DIR=str(tmp_path), DEBUG="1", **{name: said}) == answer + "\n"


@pytest.mark.parametrize(
    ("name", "said", "answer"),
    [
        ("WEB_CONCURRENCY", "0", "it may be a whole number from 1 to 1000."),
        ("WEB_CONCURRENCY", "1.5", "it may be a whole number from 1 to 1000."),
        ("WEB_THREADS", "0", "it may be a whole number from 1 to 1000."),
        ("WEB_WAIT_SECONDS", "-2", "it may be a number from 0.001 to 86400."),
        ("WEB_SECONDS_TO_SEND", "0", "it may be a number from 0.001 to 86400."),
        ("WEB_SECONDS_TO_READ", "0", "it may be a number from 0.001 to 86400."),
        ("WEB_SECONDS_TO_LEAVE", "-1", "it may be a number from 0 to 86400."),
        ("WEB_SECONDS_IN_LINE", "1e9", "it may be a number from 0.001 to 86400."),
        ("WEB_WAITERS", "-1", "it may be a whole number from 0 to 2147483647."),
    ],
)
def test_what_a_web_server_cannot_live_with_is_refused_before_anything_is_done(
    name: str, said: str, answer: str, tmp_path: Path
) -> None:
    refused = manage_py("serve", DATA_DIR=str(tmp_path), DEBUG="1", PORT="0", **{name: said})
    assert refused == f"{name} is {said!r}; {answer}\n"


def test_a_folder_that_cannot_be_made_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    refused = manage_py("check", DATA_DIR=str(file / "data"), DEBUG="1")
    assert refused == f"DATA_DIR: {file / 'data'} cannot be made: Not a directory.\n"


def test_a_ledger_that_cannot_be_written_is_refused_by_its_path(tmp_path: Path) -> None:
    ledger = tmp_path / "file" / "ledger.db"
    ledger.parent.touch()
    url = f"sqlite:///{ledger}"
    refused = manage_py("check", DATA_DIR=str(tmp_path), DEBUG="1", DATABASE_URL=url)
    assert refused == f"The ledger {ledger} cannot be written: File exists.\n"


def test_a_ledger_that_does_not_answer_is_one_sentence_of_setting_up(tmp_path: Path) -> None:
    nobody = "postgres://nobody@127.0.0.1:1/nothing"
    refused = manage_py("bootstrap", DATA_DIR=str(tmp_path), DEBUG="1", DATABASE_URL=nobody)
    assert refused.startswith("Wrong: The ledger does not answer: ")
    assert "Traceback" not in refused


def test_a_retention_that_is_no_duration_is_refused_by_name(tmp_path: Path) -> None:
    refused = manage_py("check", DATA_DIR=str(tmp_path), DEBUG="1", RETENTION="a while")
    assert "RETENTION: 'a while' is no usable duration" in refused


@pytest.mark.parametrize(
    ("bind", "told"),
    [
        ("::1", "::1 [::1] [::1]:80"),
        ("[::1]", "::1 [::1] [::1]:80"),
        ("me.test", "me.test me.test me.test:80"),
    ],
)
def test_an_address_of_ipv6_stands_in_brackets_wherever_more_may_follow(
    bind: str, told: str, tmp_path: Path
) -> None:
    ask = (
        "from config import gunicorn, settings\n"
        "print(settings.BIND, settings.ALLOWED_HOSTS[0], gunicorn.bind)"
    )
    asked = subprocess.run(
        [sys.executable, "-c", ask],
        env={"DATA_DIR": str(tmp_path), "DEBUG": "1", "BIND": bind, "PORT": "80"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert asked.stdout == f"{told}\n"


def test_without_debug_a_secret_key_is_demanded_by_name(tmp_path: Path) -> None:
    refused = manage_py("serve", DATA_DIR=str(tmp_path))
    assert refused.startswith("SECRET_KEY must be a random text")


def test_where_in_the_code_that_was_noticed_is_said_to_who_asks(tmp_path: Path) -> None:
    refused = manage_py("check", "--traceback", DATA_DIR=str(tmp_path))
    assert refused.startswith("Traceback")


def test_garbage_is_looked_for_again_once_everything_is_loaded(tmp_path: Path) -> None:
    asked = subprocess.run(
        [
            sys.executable,
            "manage.py",
            "shell",
            "-c",
            "import gc; print('collects', gc.isenabled())",
        ],
        env={"DATA_DIR": str(tmp_path), "DEBUG": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "collects True" in asked.stdout


def manage_py(*words: str, **environment: str) -> str:
    """What it says when it fails."""
    failed = subprocess.run(
        [sys.executable, "manage.py", *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert failed.returncode == (1 if "--traceback" in words else 2)
    return failed.stderr
