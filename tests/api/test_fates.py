"""What becomes of tasks whose remote worker does not know them, or puts them off: faults from the field, over HTTP."""

from datetime import datetime
from typing import Any

import pytest

from scheduling import clock, retry
from tenants.models import Tenant
from tests.api.kit import Api, problem

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.ledger,
    pytest.mark.usefixtures("remote_queues"),
]


def enqueue(api: Api, **options: Any) -> str:
    answer = api.enqueue(name="film.cut", queue="films", **options)
    assert answer.status_code == 201, answer.content
    return str(answer.json()["id"])


def work(api: Api, **said: Any) -> str:
    """Claim a task and settle it so; answers which."""
    claimed = api.post("/v1/leases", {}).json()
    [task] = claimed["tasks"]
    fence = {"task_id": task["id"], "generation": task["generation"]}
    body = {"worker": claimed["worker"], "leases": [{**fence, **said}]}
    [settled] = api.post("/v1/leases/settle", body).json()["leases"]
    assert "problem" not in settled, settled
    return str(task["id"])


def test_fifty_snoozes_leave_a_failure_the_first_attempt_and_the_first_backoff(api_a: Api) -> None:
    task_id = enqueue(api_a)
    for _ in range(50):
        work(api_a, outcome="snoozed", delay_seconds=0)
    work(api_a, outcome="failed", error={"class": "IOError"})
    task = api_a.get(f"/v1/tasks/{task_id}").json()
    assert (task["state"], task["phase"], task["attempt"]) == ("queued", "retrying", 1)
    assert task["generation"] == len(task["attempts"]) == 51
    assert task["attempts"][-1]["attempt"] == 1
    assert datetime.fromisoformat(task["due_at"]) <= clock.now() + retry.ceiling(1)


def test_what_an_old_worker_does_not_know_is_run_by_a_new_one_and_others_flow(api_a: Api) -> None:
    unknown, known = enqueue(api_a), enqueue(api_a)
    not_here = {"class": "UnknownHandler", "message": "No handler for film.cut."}
    assert work(api_a, outcome="failed", error=not_here, retry_in_seconds=0) == unknown
    assert work(api_a, outcome="succeeded") == known
    assert work(api_a, outcome="succeeded", result="cut") == unknown
    task = api_a.get(f"/v1/tasks/{unknown}").json()
    assert (task["state"], task["attempt"]) == ("succeeded", 2)
    assert [attempt["outcome"] for attempt in task["attempts"]] == ["failed", "succeeded"]


def test_seven_a_minute_over_the_api_and_another_tenant_is_not_held_back(
    api_a: Api, api_b: Api, tenant_a: Tenant
) -> None:
    Tenant.objects.filter(pk=tenant_a.pk).update(rate_per_second=7 / 60, rate_burst=1)
    began_at = clock.monotonic()
    assert api_a.enqueue().status_code == 201
    refused = api_a.enqueue()
    assert problem(refused) == (429, "limit-exceeded")
    assert 60 / 7 - (clock.monotonic() - began_at) <= int(refused["Retry-After"]) <= 9
    assert api_b.enqueue().status_code == 201
