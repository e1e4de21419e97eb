"""What the environment may and may not make of the settings, in a process that reads them afresh."""

import subprocess
import sys
from pathlib import Path


def test_a_retention_that_is_no_duration_is_refused_by_name(tmp_path: Path) -> None:
    refused = manage_py("check", DATA_DIR=str(tmp_path), DEBUG="1", RETENTION="a while")
    assert "RETENTION: 'a while' is no usable duration" in refused


def test_what_is_no_port_and_no_severity_is_refused_by_name(tmp_path: Path) -> None:
    for name, told in (("PORT", "PORT is 'abc'; "), ("LOG_LEVEL", "LOG_LEVEL is 'ABC'; ")):
        refused = manage_py("check", DATA_DIR=str(tmp_path), DEBUG="1", **{name: "abc"})
        assert refused.startswith(told)


def test_without_debug_a_secret_key_is_demanded_by_name(tmp_path: Path) -> None:
    refused = manage_py("serve", DATA_DIR=str(tmp_path))
    assert refused.startswith("SECRET_KEY must be a random text")


def test_where_in_the_code_that_was_noticed_is_said_to_who_asks(tmp_path: Path) -> None:
    refused = manage_py("check", "--traceback", DATA_DIR=str(tmp_path))
    assert refused.startswith("Traceback")


def manage_py(*words: str, **environment: str) -> str:
    """What it says when it fails."""
    failed = subprocess.run(
        [sys.executable, "manage.py", *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert failed.returncode != 0
    return failed.stderr
