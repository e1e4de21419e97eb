"""`stats`: the ledger as it stands, for people and for programs."""

import json
from datetime import timedelta

import pytest

from scheduling import clock
from scheduling.ledger import Succeed
from scheduling.models import WorkerProcess
from tenants.models import Tenant
from tests.admin.kit import ago, bury, put, worker
from tests.commands.kit import complaint, manage
from tests.ledger import kit

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def some_of_everything(tenant: Tenant) -> None:
    bury(tenant, 2)
    put(tenant, 2, now=ago(minutes=5))
    kit.say(kit.take(now=ago(minutes=4)), Succeed(), now=ago(minutes=4))
    put(tenant, 3, now=ago(minutes=3, seconds=30))
    kit.take(now=ago(minutes=3))
    put(tenant, 4, due_at=clock.now() + timedelta(hours=1))
    put(tenant, 1, queue="mail")


def test_tenants_stand_in_a_table_with_their_sum(tenant_a: Tenant, tenant_b: Tenant) -> None:
    some_of_everything(tenant_a)
    lines = manage("stats").out.split("\n\n")[0].splitlines()
    assert lines[0].split() == [
        "tenant", "ready", "held", "scheduled", "running", "dead", "oldest", "ready",
    ]  # fmt: skip
    first, second, whole = (line.split() for line in lines[1:])
    assert first[:6] == ["tenant-a", "4", "0", "4", "1", "2"]
    assert first[6].startswith("3m")
    assert second == ["tenant-b", "0", "0", "0", "0", "0", "-"]
    assert whole[:6] == ["all", *first[1:6]]


def test_who_works_and_what_is_paused_is_said_below(tenant_a: Tenant) -> None:
    worker(slots=4)
    worker(seen=ago(minutes=2))
    WorkerProcess.objects.filter(slots=4).update(queues=["mail"])
    manage("setpaused", "true", "--tenant", "tenant-a", "--reason", "deploy")
    _, workers, pauses = manage("stats").out.split("\n\n")
    assert "node-1:4711" in workers
    assert workers.count("silent") == 1
    assert "mail" in workers
    assert pauses.startswith("paused: tenant=tenant-a, since ")
    assert pauses.endswith(": deploy\n")


def test_an_empty_installation_says_what_to_do() -> None:
    said = manage("stats").out
    assert "manage.py createtenant" in said
    assert "manage.py runworkers" in said
    assert "Nothing is paused." in said


def test_programs_read_the_same_with_queues_and_what_was_done(tenant_a: Tenant) -> None:
    some_of_everything(tenant_a)
    worker(slots=8)
    manage("setpaused", "true", "--queue", "mail")
    told = json.loads(manage("stats", "--json").out)
    (tenant,) = told["tenants"]
    states = {"ready": 3, "held": 1, "scheduled": 4, "running": 1, "dead": 2}
    assert tenant | states | {"tenant": "tenant-a"} == tenant
    queues = {queue.pop("queue"): queue for queue in tenant["queues"]}
    assert queues["mail"] == {
        **dict.fromkeys(states, 0), "held": 1, "oldest_ready_seconds": 0,
    }  # fmt: skip
    assert queues["default"]["oldest_ready_seconds"] >= 180
    assert tenant["so_far"] | {"accepted": 12, "succeeded": 1, "dead": 2} == tenant["so_far"]
    assert [one["alive"] for one in told["workers"]] == [True]
    assert [pause["scope"] for pause in told["pauses"]] == ["queue=mail"]
    assert told["unfinished"] == 9


def test_words_that_it_does_not_know_are_refused() -> None:
    assert "--jsn" in complaint("stats", "--jsn")
