"""How long the verbs take: counted by each process, and added up in the ledger."""

import os
import warnings
from typing import NoReturn

import pytest
from django.db import OperationalError

from scheduling import clock, ledger
from scheduling.ledger import paces
from scheduling.models import Pace
from tenants.models import Tenant
from tests.ledger.kit import put, run, take

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _nothing_counted() -> None:
    """By the tests that came before."""
    ledger.write_paces()
    Pace.objects.all().delete()


def calls() -> dict[str, float]:
    return {verb: spread.count for verb, spread in paces.read().items()}


@pytest.mark.ledger
def test_each_call_counts_once_whatever_it_did(tenant_a: Tenant) -> None:
    put(tenant_a)
    claims = take()
    ledger.renew(claims)
    run(claims)
    take()
    ledger.write_paces()
    assert calls() == {"claim": 2, "renew": 1, "settle": 1}
    ledger.write_paces()
    assert calls() == {"claim": 2, "renew": 1, "settle": 1}


def test_what_processes_counted_adds_up() -> None:
    for seconds in (0.0005, 0.004, 0.004, 20):
        paces.note("claim", seconds)
        ledger.write_paces()
    spread = paces.read()["claim"]
    assert spread.count == 4
    assert spread.seconds == pytest.approx(20.0085)
    assert [spread.up_to[bound] for bound in (0.001, 0.0025, 0.005, 5.0)] == [1, 1, 3, 3]


def test_what_could_not_be_written_is_written_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*args: object, **kwargs: object) -> NoReturn:
        paces.note("claim", 1)
        raise OperationalError("connection refused")

    paces.note("claim", 1)
    paces.note("settle", 1)
    with monkeypatch.context() as broken:
        broken.setattr(Pace.objects, "bulk_create", gone)
        with pytest.raises(OperationalError):
            ledger.write_paces()
    ledger.write_paces()
    assert calls() == {"claim": 2, "settle": 1}


def test_a_child_process_counts_for_itself_alone() -> None:
    paces.note("claim", 1)
    with warnings.catch_warnings(action="ignore"):  # of threads that other tests have left
        pid = os.fork()
    if pid == 0:
        os._exit(len(paces._counted))
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    ledger.write_paces()
    assert calls() == {"claim": 1}


def test_who_comes_by_often_writes_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paces, "_written_at", 0.0)  # to be put back
    ledger.write_paces()
    paces.note("claim", 1)
    now = clock.monotonic()
    monkeypatch.setattr(clock, "monotonic", lambda: now)
    ledger.write_paces_now_and_then()
    assert calls() == {}
    now += paces.PERIOD
    ledger.write_paces_now_and_then()
    assert calls() == {"claim": 1}
