"""One task through its life: looked at, cancelled, redriven."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from scheduling import ledger
from scheduling.models import Lease, Task
from scheduling.states import TaskState
from tenants.models import ApiToken, Scope, Tenant
from tests.api.kit import Api, problem
from tests.api.test_isolation import in_state
from tests.ledger import kit

pytestmark = [pytest.mark.django_db, pytest.mark.ledger]

TERMINAL = [TaskState.SUCCEEDED, TaskState.DEAD, TaskState.CANCELLED]


def seen(api: Api, task_id: UUID, *fields: str) -> tuple[Any, ...]:
    task = api.get(f"/v1/tasks/{task_id}").json()
    return tuple(task[field] for field in fields)


def test_a_running_task_shows_the_attempt_that_runs(api_a: Api, tenant_a: Tenant) -> None:
    task_id = in_state(tenant_a, TaskState.RUNNING)
    fields = ("state", "phase", "attempt", "generation", "finished_at")
    assert seen(api_a, task_id, *fields) == ("running", "running", 1, 1, None)
    lease = Lease.objects.get(pk=task_id)
    assert seen(api_a, task_id, "due_at") == (lease.due_at.isoformat().replace("+00:00", "Z"),)


def test_a_running_task_shows_how_far_it_has_come(api_a: Api, tenant_a: Tenant) -> None:
    [task_id] = kit.put(tenant_a)
    [claim] = kit.take()
    assert seen(api_a, task_id, "progress") == (None,)
    ledger.renew([claim], progress={task_id: ledger.Progress.of((3, 4), "pages")})
    told = {"fraction": 0.75, "done": 3, "total": 4, "note": "pages"}
    assert seen(api_a, task_id, "progress") == (told,)
    kit.say(claim, ledger.Succeed())
    assert seen(api_a, task_id, "progress") == (None,)


def test_a_failed_attempt_is_told_and_the_task_retries(api_a: Api, tenant_a: Tenant) -> None:
    [task_id] = kit.put(tenant_a, max_attempts=5)
    kit.say(kit.take(), kit.failing(retry_in=timedelta(hours=1)))
    task = api_a.get(f"/v1/tasks/{task_id}").json()
    assert (task["state"], task["phase"], task["attempt"]) == ("queued", "retrying", 1)
    assert task["error"] == {"class": "ValueError", "message": "no luck"}
    [attempt] = task["attempts"]
    assert attempt["error"] == {"class": "ValueError", "message": "no luck"}
    assert (attempt["attempt"], attempt["generation"], attempt["outcome"]) == (1, 1, "failed")
    assert attempt["due_at"] <= attempt["started_at"] <= attempt["finished_at"]


def test_a_task_that_succeeds_in_the_end_has_no_error_but_its_failed_attempt_has(
    api_a: Api, tenant_a: Tenant
) -> None:
    [task_id] = kit.put(tenant_a)
    kit.say(kit.take(), kit.failing(retry_in=timedelta()))
    kit.say(kit.take(), ledger.Succeed())
    state, error, attempts = seen(api_a, task_id, "state", "error", "attempts")
    assert (state, error) == ("succeeded", None)
    assert [attempt["error"] for attempt in attempts] == [
        {"class": "ValueError", "message": "no luck"},
        None,
    ]
    [listed] = api_a.get("/v1/tasks").json()["tasks"]
    assert listed["error"] is None


def test_a_result_is_shown(api_a: Api, tenant_a: Tenant) -> None:
    [task_id] = kit.put(tenant_a)
    kit.say(kit.take(), ledger.Succeed('{"sent": 3}'))
    fields = ("state", "result", "due_at", "dead_reason")
    assert seen(api_a, task_id, *fields) == ("succeeded", {"sent": 3}, None, None)


def test_a_dead_letter_says_why(api_a: Api, tenant_a: Tenant) -> None:
    task_id = in_state(tenant_a, TaskState.DEAD)
    assert seen(api_a, task_id, "state", "dead_reason") == ("dead", "permanent_failure")


def test_attempts_are_in_their_order_and_the_newest_hundred(api_a: Api, tenant_a: Tenant) -> None:
    [task_id] = kit.put(tenant_a)
    for _ in range(103):
        kit.say(kit.take(), ledger.Snooze(timedelta()))
    (attempts,) = seen(api_a, task_id, "attempts")
    assert [attempt["generation"] for attempt in attempts] == list(range(4, 104))
    assert {attempt["attempt"] for attempt in attempts} == {1}


def test_unnamed_arguments_of_a_python_caller_are_shown(api_a: Api, tenant_a: Tenant) -> None:
    [task_id] = kit.put(tenant_a, args=[17], kwargs={"copy": True})
    assert seen(api_a, task_id, "payload") == ({"args": [17], "copy": True},)


def test_a_waiting_task_is_cancelled(api_a: Api, tenant_a: Tenant) -> None:
    [task_id] = kit.put(tenant_a)
    answer = api_a.post(f"/v1/tasks/{task_id}/cancel")
    assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
    assert kit.take() == []


def test_a_running_task_is_asked_to_stop_as_often_as_one_likes(
    api_a: Api, tenant_a: Tenant
) -> None:
    task_id = in_state(tenant_a, TaskState.RUNNING)
    for _ in range(2):
        answer = api_a.post(f"/v1/tasks/{task_id}/cancel")
        assert (answer.status_code, answer.json()["state"]) == (202, "running")
    assert Task.objects.get(pk=task_id).cancel_requested_at is not None


@pytest.mark.parametrize("state", TERMINAL)
def test_a_finished_task_cannot_be_cancelled(
    api_a: Api, tenant_a: Tenant, state: TaskState
) -> None:
    answer = api_a.post(f"/v1/tasks/{in_state(tenant_a, state)}/cancel")
    assert problem(answer) == (409, "wrong-state")
    assert answer.json()["state"] == state


def test_a_dead_letter_is_redriven_with_a_fresh_allowance(api_a: Api, tenant_a: Tenant) -> None:
    task_id = in_state(tenant_a, TaskState.DEAD)
    answer = api_a.post(f"/v1/tasks/{task_id}/redrive")
    assert answer.status_code == 200
    task = answer.json()
    assert (task["state"], task["attempt"], task["dead_reason"]) == ("queued", 0, None)
    assert (task["generation"], task["finished_at"]) == (1, None)
    assert len(api_a.get(f"/v1/tasks/{task_id}").json()["attempts"]) == 1
    assert problem(api_a.post(f"/v1/tasks/{task_id}/redrive")) == (409, "wrong-state")


@pytest.mark.parametrize("state", [state for state in TaskState if state != TaskState.DEAD])
def test_what_is_not_dead_cannot_be_redriven(
    api_a: Api, tenant_a: Tenant, state: TaskState
) -> None:
    answer = api_a.post(f"/v1/tasks/{in_state(tenant_a, state)}/redrive")
    assert problem(answer) == (409, "wrong-state")
    assert answer.json()["state"] == state


def test_a_redrive_into_a_full_queue_is_refused(api_a: Api, tenant_a: Tenant) -> None:
    task_id = in_state(tenant_a, TaskState.DEAD)
    Tenant.objects.filter(pk=tenant_a.pk).update(max_queued=1)
    kit.put(tenant_a)
    answer = api_a.post(f"/v1/tasks/{task_id}/redrive")
    assert problem(answer) == (429, "limit-exceeded")
    assert int(answer["Retry-After"]) >= 1
    assert Task.objects.get(pk=task_id).state == TaskState.DEAD


@pytest.mark.parametrize(
    ("verb", "needed"), [("cancel", Scope.ENQUEUE), ("redrive", Scope.CONTROL)]
)
def test_each_verb_needs_its_scope(tenant_a: Tenant, verb: str, needed: Scope) -> None:
    [task_id] = kit.put(tenant_a)
    others = [scope for scope in Scope if scope != needed]
    answer = Api(ApiToken.objects.issue(tenant=tenant_a, scopes=others)[1]).post(
        f"/v1/tasks/{task_id}/{verb}"
    )
    assert problem(answer) == (403, "missing-scope")
    assert answer.json()["scope"] == needed
    assert Task.objects.get(pk=task_id).state == TaskState.QUEUED


def test_looking_needs_the_scope_to_read(tenant_a: Tenant) -> None:
    [task_id] = kit.put(tenant_a)
    blind = Api(ApiToken.objects.issue(tenant=tenant_a, scopes=[Scope.ENQUEUE])[1])
    for address in (f"/v1/tasks/{task_id}", "/v1/tasks", "/v1/execution-control"):
        assert problem(blind.get(address)) == (403, "missing-scope")
        assert blind.send("HEAD", address).status_code == 403
