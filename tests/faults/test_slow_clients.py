"""Clients that begin a request and never finish it, that do not read what they asked for, or never hang up."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import httpx
import pytest

from tests.installation import installation_with_tables

UNFINISHED_BODY = (
    b"POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer token-tenant-a\r\n"
    b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
)
UNFINISHED_CHUNK = UNFINISHED_BODY.replace(b"Content-Length: 100", b"Transfer-Encoding: chunked")
UNFINISHED_HEAD = UNFINISHED_BODY[:40]


@pytest.fixture(scope="module")
def address(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a server with a single thread to serve everybody with, and whoever was slow in the test before."""
    environment = {
        "WEB_CONCURRENCY": "1",
        "WEB_THREADS": "1",
        "WEB_SECONDS_TO_SEND": "0.1",
        "WEB_SECONDS_TO_READ": "0.1",
    }
    installation = installation_with_tables(tmp_path_factory.mktemp("slowly-asked"))
    with installation.serving(**environment) as (address, _):
        yield address


@pytest.mark.parametrize("beginning", [UNFINISHED_BODY, UNFINISHED_CHUNK, UNFINISHED_HEAD])
def test_a_client_that_never_finishes_its_request_keeps_nobody_from_being_served(
    address: str, beginning: bytes
) -> None:
    where = urlsplit(address)
    with socket.create_connection((where.hostname, where.port)) as slow:
        slow.sendall(beginning)
        assert httpx.get(f"{address}/healthz", timeout=30).status_code == 200
        answer = slow.makefile("rb").readline()
    assert answer in (b"HTTP/1.1 400 Bad Request\r\n", b"")  # a head alone is not worth an answer


def test_a_client_that_does_not_read_its_answers_keeps_nobody_from_being_served(
    address: str,
) -> None:
    where, long = urlsplit(address), b"GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection((where.hostname, where.port)) as deaf:
        deaf.sendall(100 * long)  # answers that no buffer takes
        assert httpx.get(f"{address}/healthz", timeout=30).status_code == 200


def test_clients_that_do_not_hang_up_keep_nobody_from_being_served(address: str) -> None:
    """gunicorn's main thread would wait for each of them, for two seconds, and hear nobody else."""
    where, last = (
        urlsplit(address),
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    )
    with ExitStack() as lingering:
        for _ in range(20):
            connection = socket.create_connection((where.hostname, where.port))
            lingering.enter_context(connection).sendall(last)
            assert connection.makefile("rb").readline() == b"HTTP/1.1 200 OK\r\n"
        assert httpx.get(f"{address}/healthz", timeout=10).status_code == 200
