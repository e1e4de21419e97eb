"""A short run, as `make chaos` makes long ones."""

import signal
import subprocess
import sys

import pytest

from tests.installation import MANAGE

SEED = "3"
SECONDS = 5


@pytest.mark.timeout(180)  # it drains what it began, on as few cores as there are
def test_nothing_is_violated_while_everything_breaks(request: pytest.FixtureRequest) -> None:
    database = request.config.getoption("--database")
    run = [sys.executable, "-m", "tests.chaos", f"--database={database}", f"--seed={SEED}"]
    with subprocess.Popen(
        [*run, f"--seconds={SECONDS}", "--supervisors=2"],
        cwd=MANAGE.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as harness:
        try:
            output, _ = harness.communicate()
        finally:
            harness.send_signal(signal.SIGTERM)  # it ends what it started

    assert harness.returncode == 0, output
    assert "no violation" in output
