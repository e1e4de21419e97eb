"""A web server that is asked to stop while it starts does so at once."""

import signal
import subprocess
import sys
from pathlib import Path

from tests.installation import MANAGE, first_match

TOLD_AT_BIRTH = """
import os, signal
from config.gunicorn import *

workers = 1

def post_fork(server, worker):
    os.kill(worker.pid, signal.SIGTERM)
"""


def test_process_that_is_told_to_stop_before_it_listens_stops(tmp_path: Path) -> None:
    (tmp_path / "told.py").write_text(TOLD_AT_BIRTH)
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "gunicorn",
            "-c",
            str(tmp_path / "told.py"),
            "-b127.0.0.1:0",
            "config.wsgi",
        ],
        cwd=MANAGE.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as server:
        try:
            born = first_match(r"Booting worker with pid: (\d+)", server)
            assert first_match(r"Worker exiting \(pid: (\d+)\)", server) == born
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate()
