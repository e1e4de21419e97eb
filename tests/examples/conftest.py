"""One server for all who are its clients here."""

import os
import signal
from collections.abc import Iterator

import httpx
import pytest

from tests.examples.served import Server
from tests.installation import Installation, empty_postgres, first_match


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server_url = os.environ.get("DATABASE_URL")
    installation = Installation(
        tmp_path_factory.mktemp("served") / "data",
        database_url=empty_postgres(server_url) if server_url else None,
        environment={"PORT": "0", "WEB_CONCURRENCY": "1", "REMOTE_QUEUES": "films,zombies"},
    )
    with installation.start("serve") as process:
        try:
            url = first_match(r"Listening at: (http://\S+)", process)
            headers = {"Authorization": "Bearer token-tenant-a"}
            with httpx.Client(base_url=url, headers=headers, timeout=40) as api:
                yield Server(url, api)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate()
