"""`GET /v1/tasks/{id}/explain`: one sentence, and the figures behind it."""

from datetime import timedelta
from typing import Any

import pytest

from scheduling import clock, ledger
from scheduling.ledger import Why
from scheduling.models import Task
from scheduling.sentences import SENTENCES
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.api.kit import Api
from tests.api.test_isolation import in_state
from tests.ledger import kit

pytestmark = [pytest.mark.django_db, pytest.mark.ledger]


def put(tenant: Tenant, count: int = 1, **options: Any) -> str:
    """The last of so many tasks that are due now, by the real clock."""
    return str(kit.put(tenant, count, now=clock.now(), **options)[-1])


def explained(api: Api, task_id: object) -> dict[str, Any]:
    answer = api.get(f"/v1/tasks/{task_id}/explain")
    assert answer.status_code == 200, answer.content
    said: dict[str, Any] = answer.json()
    return said


def test_there_is_a_sentence_for_every_reason() -> None:
    assert SENTENCES.keys() == set(Why)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (TaskState.RUNNING, "It is running, attempt 1 of 3."),
        (TaskState.SUCCEEDED, "It has succeeded."),
        (TaskState.DEAD, "It is a dead letter: permanent failure."),
        (TaskState.CANCELLED, "It was cancelled."),
    ],
)
def test_a_task_that_does_not_wait_says_so(
    api_a: Api, tenant_a: Tenant, state: TaskState, words: str
) -> None:
    said = explained(api_a, in_state(tenant_a, state))
    assert (said["state"], said["sentence"]) == (state, words)
    assert (said["leased_until"] is not None) is (state == TaskState.RUNNING)


def test_a_task_for_later_says_when(api_a: Api, tenant_a: Tenant) -> None:
    said = explained(api_a, put(tenant_a, due_at=clock.now() + timedelta(hours=1)))
    assert said["why"] == "not_due"
    assert said["sentence"] == f"It is not due until {said['due_at']}."


def test_a_paused_task_says_by_what_and_not_by_whom(api_a: Api, tenant_a: Tenant) -> None:
    task_id = put(tenant_a)
    ledger.pause(by="maria", reason="a bad release", queue="default")
    said = explained(api_a, task_id)
    assert said["why"] == "paused"
    assert said["sentence"] == "The kill switch holds it: queue=default is paused (a bad release)."
    assert [pause["scope"] for pause in said["paused_by"]] == ["queue=default"]
    assert "maria" not in str(said)


def test_a_task_behind_others_says_behind_how_many(
    api_a: Api, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    put(tenant_b, 2)
    said = explained(api_a, put(tenant_a, 3))
    assert (said["why"], said["ahead_in_lane"], said["ahead_in_other_lanes"]) == (
        "behind_others",
        2,
        2,
    )
    assert said["sentence"] == (
        "4 tasks are served before it: 2 in its own lane, 2 in other lanes;"
        " and no worker process that serves its queue is alive."
    )


def test_a_task_that_is_next_says_whether_anybody_is_there(api_a: Api, tenant_a: Tenant) -> None:
    task_id = put(tenant_a)
    assert "no worker process" in explained(api_a, task_id)["sentence"]
    ledger.register(ledger.Registration())
    said = explained(api_a, task_id)
    assert (said["why"], said["workers"]) == ("next", 1)
    assert "free slot" in said["sentence"]


def test_a_task_of_a_tenant_at_its_cap_says_so(api_a: Api, tenant_a: Tenant) -> None:
    Tenant.objects.filter(pk=tenant_a.pk).update(max_in_flight=1)
    task_id = put(tenant_a, 2)
    kit.take(now=clock.now())
    said = explained(api_a, task_id)
    assert said["sentence"] == "Its tenant has 1 in flight, and may have 1."
    assert (said["in_flight"], said["max_in_flight"]) == (1, 1)


def test_only_operators_learn_which_worker_runs_it(
    api_a: Api, operator: Api, tenant_a: Tenant
) -> None:
    put(tenant_a)
    worker = ledger.Registration(host="worker-7", pid=12)
    ledger.register(worker)
    [claim] = kit.take(worker=worker.id, now=clock.now())
    assert explained(operator, claim.task_id)["worker"] == "worker-7:12"
    assert explained(api_a, claim.task_id)["worker"] is None


def test_a_deadline_that_has_passed_is_told(api_a: Api, tenant_a: Tenant) -> None:
    task_id = put(tenant_a)
    Task.objects.filter(pk=task_id).update(deadline=clock.now() - timedelta(seconds=1))
    said = explained(api_a, task_id)
    assert said["why"] == "deadline_passed"
    assert said["sentence"] == f"Its deadline {said['deadline']} has passed, so it will not run."
