"""Many servers that start at once on an empty installation set it up once, and none of them fails."""

import signal

import httpx
import pytest

from tests.installation import Installation, first_match

pytestmark = pytest.mark.timeout(180)  # dozens of processes, on as few cores as there are


def test_of_eight_that_start_at_once_one_migrates_and_the_others_wait(
    installation: Installation,
) -> None:
    starting = [installation.start("bootstrap") for _ in range(8)]
    outputs = [process.communicate()[0] for process in starting]

    assert [process.returncode for process in starting] == [0] * 8, "\n".join(outputs)
    together = "".join(outputs)
    assert together.count("Applying scheduling.0001_initial") == 1
    assert together.count("Admin user: admin, password") == 1


def test_eight_web_workers_serve_an_empty_installation_until_asked_to_stop(
    installation: Installation,
) -> None:
    installation.environment |= {"WEB_CONCURRENCY": "8", "PORT": "0"}
    with installation.start("serve") as server:
        try:
            url = first_match(r"Listening at: (http://\S+)", server)
            assert httpx.get(f"{url}/readyz").status_code == 200
        finally:
            server.send_signal(signal.SIGTERM)
            rest, _ = server.communicate()
    assert server.returncode == 0, rest
