"""The register of worker processes, and who on it is certainly gone."""

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from uuid import uuid4

import pytest

from scheduling import ledger
from scheduling.ledger import workers
from scheduling.ledger.workers import FORGET_AFTER, Registration
from scheduling.models import WorkerProcess
from tenants.models import Tenant
from tests.ledger.kit import START, at, put, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

on_linux = pytest.mark.skipif(
    not workers.host_life(), reason="This system does not tell what became of a process."
)


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process that lives until its standard input is closed."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def register(pid: int) -> Registration:
    worker = Registration(pid=pid)
    ledger.register(worker, now=START)
    return worker


def test_a_worker_is_registered_with_what_it_is() -> None:
    worker = Registration(version="1.2", queues=("mail", "video"), slots=8)
    ledger.register(worker, now=at(5))
    row = WorkerProcess.objects.get(pk=worker.id)
    assert (row.pid, row.version, row.queues, row.slots) == (
        os.getpid(),
        "1.2",
        ["mail", "video"],
        8,
    )
    assert (row.started_at, row.seen_at) == (at(5), at(5))
    assert row.host == worker.host


def test_a_worker_that_was_seen_says_when() -> None:
    worker = register(os.getpid())
    assert ledger.seen(worker.id, now=at(30))
    assert WorkerProcess.objects.get(pk=worker.id).seen_at == at(30)


def test_a_worker_that_signed_off_is_no_longer_on_the_register() -> None:
    worker = register(os.getpid())
    ledger.sign_off(worker.id)
    ledger.sign_off(worker.id)
    assert not WorkerProcess.objects.exists()


def test_leases_outlive_the_registration_of_their_worker(tenant_a: Tenant) -> None:
    worker = register(os.getpid())
    put(tenant_a)
    take(worker=worker.id)
    ledger.sign_off(worker.id)
    (held,) = ledger.held_leases(worker.id)
    assert [ended.task_id for ended in ledger.reap([held], now=at(11))] == [held.task_id]


def test_a_worker_nobody_saw_for_a_day_is_forgotten() -> None:
    silent, alive = register(os.getpid()), register(os.getpid())
    day_later = START + FORGET_AFTER
    ledger.seen(alive.id, now=day_later)
    assert WorkerProcess.objects.filter(pk=silent.id).exists(), "a day, and not a moment less"
    ledger.seen(alive.id, now=day_later + timedelta(seconds=1))
    assert list(WorkerProcess.objects.values_list("pk", flat=True)) == [alive.id]


def test_a_worker_that_holds_a_lease_is_not_forgotten(tenant_a: Tenant) -> None:
    silent, alive = register(os.getpid()), register(os.getpid())
    put(tenant_a)
    take(worker=silent.id)
    ledger.seen(alive.id, now=START + 2 * FORGET_AFTER)
    assert WorkerProcess.objects.filter(pk=silent.id).exists()


def test_seeing_a_worker_nobody_registered_registers_nobody() -> None:
    assert not ledger.seen(uuid4(), now=START)
    assert not WorkerProcess.objects.exists()


# Who is known to be gone


def test_a_living_process_is_not_gone(child: subprocess.Popen[bytes]) -> None:
    register(child.pid)
    register(os.getpid())
    assert ledger.workers_known_gone() == []


@on_linux
def test_a_process_that_was_killed_is_gone(child: subprocess.Popen[bytes]) -> None:
    worker = register(child.pid)
    child.kill()
    child.wait()
    assert ledger.workers_known_gone() == [worker.id]


@on_linux
def test_a_process_nobody_has_waited_for_yet_is_gone_all_the_same(
    child: subprocess.Popen[bytes],
) -> None:
    """A zombie of the kernel's kind: dead, and its pid not free yet."""
    worker = register(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert ledger.workers_known_gone() == [worker.id]


@on_linux
def test_another_process_under_the_same_pid_does_not_pass_for_the_worker() -> None:
    worker = register(os.getpid())
    WorkerProcess.objects.filter(pk=worker.id).update(started_ticks=1)
    assert ledger.workers_known_gone() == [worker.id]


@pytest.mark.parametrize("elsewhere", ["another boot", ""])
def test_nothing_is_known_of_processes_of_another_host_or_boot(
    child: subprocess.Popen[bytes], elsewhere: str
) -> None:
    worker = register(child.pid)
    child.kill()
    child.wait()
    WorkerProcess.objects.filter(pk=worker.id).update(host_life=elsewhere)
    assert ledger.workers_known_gone() == []


def test_where_the_system_does_not_tell_nobody_is_known_to_be_gone(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "host_life", str)
    register(child.pid)
    child.kill()
    child.wait()
    assert ledger.workers_known_gone() == []


def test_a_restart_is_another_worker() -> None:
    first, second = register(os.getpid()), register(os.getpid())
    assert first.id != second.id
    assert WorkerProcess.objects.count() == 2
