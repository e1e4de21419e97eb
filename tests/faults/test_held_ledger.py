"""Somebody holds the ledger and does not go on, as one does who was stopped in the midst of a write."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import psycopg
import pytest

from tests.installation import Installation

TASK = {"name": "demo.echo", "payload": {"message": "hello"}}
PATIENCE = 5.0
"""Seconds of a client: more than a request waits, and less than workers do."""


@pytest.fixture
def address(installation: Installation) -> Iterator[str]:
    installation.is_patient = False
    with installation.serving(LOG_LEVEL="ERROR") as (address, _):
        yield address


@contextmanager
def held(installation: Installation) -> Iterator[None]:
    """On SQLite nobody can write. On PostgreSQL nobody can for tenant-a."""
    if installation.database_url is None:
        gate = installation.data_dir / "scheduler.db-gate"
        with gate.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
    else:
        with psycopg.connect(installation.database_url) as session:
            session.execute("SELECT * FROM scheduling_intake FOR UPDATE")
            yield


def enqueue(address: str, tenant: str = "tenant-a") -> httpx.Response:
    headers = {"Authorization": f"Bearer token-{tenant}"}
    return httpx.post(f"{address}/v1/tasks", json=TASK, headers=headers, timeout=PATIENCE)


def test_requests_give_up_before_their_clients_do_and_all_is_well_once_it_goes_on(
    address: str, installation: Installation
) -> None:
    accepted = enqueue(address)
    assert accepted.status_code == 201

    with held(installation):
        for _ in range(5):
            answer = enqueue(address)
            assert answer.status_code == 503, answer.text
            assert int(answer.headers["Retry-After"]) >= 1
        reader = {"Authorization": "Bearer token-tenant-a"}
        shown = httpx.get(address + accepted.headers["Location"], headers=reader, timeout=PATIENCE)
        assert shown.status_code == 200
        assert httpx.get(f"{address}/readyz", timeout=PATIENCE).status_code == 200
        if installation.database_url:
            assert enqueue(address, "tenant-b").status_code == 201, "a neighbour waited too"

    assert enqueue(address).status_code == 201


def test_a_program_starts_whoever_holds_it(installation: Installation) -> None:
    """What a start looks at, nobody need be waited for, or is taken for what the database cannot do."""
    with held(installation):
        check = installation.start("check", "--database", "default")
        said, _ = check.communicate()
    assert check.returncode == 0, said
