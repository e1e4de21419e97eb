"""One server for all who are its clients here."""

from collections.abc import Iterator

import httpx
import pytest

from tests.examples.served import Server
from tests.installation import installation_with_tables

ENVIRONMENT = {"WEB_CONCURRENCY": "1", "REMOTE_QUEUES": "films,zombies"}


@pytest.fixture(scope="package")
def server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    installation = installation_with_tables(tmp_path_factory.mktemp("served"))
    headers = {"Authorization": "Bearer token-tenant-a"}
    with (
        installation.serving(**ENVIRONMENT) as (url, _),
        httpx.Client(base_url=url, headers=headers, timeout=40) as api,
    ):
        yield Server(url, api)
