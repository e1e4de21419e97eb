"""The write-ahead log: its size is told, it shrinks again, and no code of ours keeps it from doing so."""

from contextlib import closing
from functools import partial

import pytest
from django.db import connection

from tenants.models import ApiToken, Tenant
from tests.api.kit import Api
from tests.ledger.kit import put
from tests.plans.tour import record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

LIMIT = 1_000_000


def log_bytes() -> int:
    return int(Api().get("/readyz").json()["wal_bytes"])


def test_it_grows_while_somebody_reads_and_shrinks_afterwards(tenant_a: Tenant) -> None:
    Tenant.objects.update(max_queued=None, rate_per_second=None)
    connection.cursor().execute(f"PRAGMA journal_size_limit = {LIMIT}")
    enqueue = partial(put, tenant_a, 1000, kwargs={"message": "x" * 2000})
    with closing(connection.copy()) as reader:
        reader.cursor().execute("BEGIN DEFERRED")
        reader.cursor().execute("SELECT count(*) FROM scheduling_task").fetchone()
        for _ in range(3):
            enqueue()
        grown = log_bytes()
        assert grown > 6 * LIMIT
        enqueue()
        assert log_bytes() > grown, "somebody reads what was before, and it was written over"
    enqueue()  # empties it, and
    put(tenant_a)  # starts it anew
    assert log_bytes() <= LIMIT
    connection.close()


def test_nothing_that_we_read_is_left_open(tenant_a: Tenant) -> None:
    """Else the log could never be emptied: a cursor that was not read to its end reads for ever."""
    record()
    api = Api(ApiToken.objects.issue(tenant=tenant_a)[1])
    task_id = api.enqueue().json()["id"]
    for address in ("/v1/tasks", f"/v1/tasks/{task_id}", "/v1/execution-control", "/readyz"):
        assert api.get(address).status_code == 200
    with closing(connection.copy()) as another:
        cursor = another.cursor()
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert cursor.fetchone() == (0, 0, 0)
