"""Remote workers settle over HTTP, behind the same fence as anybody."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from scheduling import ledger, retry
from scheduling.models import Refusal, Task
from tenants.models import Tenant
from tests.api.kit import Api, faults
from tests.api.remote import (
    FENCE,
    WORKER,
    claim,
    claim_one,
    due_again,
    iso,
    kind,
    put,
    reap_all,
    renew,
    settle,
)

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.ledger,
    pytest.mark.usefixtures("remote_queues"),
]

UNSTORABLE: dict[str, Any] = {
    "result": "\0",
    "result.cut": {"cut": "\ud800"},
    "result[1]": [0, 2**70],
    "result.reel": {"reel": {"\0": 1}},
}
"""By the place that is named."""


class TestSettling:
    def test_success_keeps_the_result(self, api_a: Api, tenant_a: Tenant) -> None:
        (task_id,) = put(tenant_a)
        worker, lease = claim_one(api_a)
        (done,) = settle(api_a, worker, {**lease, "outcome": "succeeded", "result": {"cuts": [1]}})
        assert done == {**lease, "state": "succeeded", "due_at": None}
        assert Task.objects.get(pk=task_id).result == {"cuts": [1]}

    def test_failure_is_tried_again_when_it_says(self, api_a: Api, tenant_a: Tenant) -> None:
        (task_id,) = put(tenant_a)
        worker, lease = claim_one(api_a)
        error = {"class": "TornReel", "message": "at 3:14", "traceback": "cut.js:3"}
        told = {"outcome": "failed", "error": error, "retry_in_seconds": 3600}
        (done,) = settle(api_a, worker, {**lease, **told})
        task = Task.objects.get(pk=task_id)
        assert done == {**lease, "state": "queued", "due_at": iso(task.schedule.due_at)}
        assert task.schedule.due_at - task.created_at > timedelta(minutes=59)
        assert (task.attempts, task.error) == (1, {"class": "TornReel", "message": "at 3:14"})
        assert task.history.get().error["traceback"] == "cut.js:3"

    def test_failure_without_more_backs_off_as_any_task_does(
        self, api_a: Api, tenant_a: Tenant
    ) -> None:
        put(tenant_a, 20, max_attempts=2)
        delays = set()
        for _ in range(20):
            worker, lease = claim_one(api_a)
            settle(api_a, worker, {**lease, "outcome": "failed", "error": {"class": "E"}})
            task = Task.objects.get(pk=lease["task_id"])
            delays.add(task.schedule.due_at - task.history.get().finished_at)
        assert all(delay <= retry.ceiling(1) for delay in delays)
        assert len(delays) > 15, "they are tried again in one instant"

    def test_a_failure_of_the_last_attempt_is_a_dead_letter(
        self, api_a: Api, tenant_a: Tenant
    ) -> None:
        put(tenant_a, max_attempts=1)
        worker, lease = claim_one(api_a)
        (done,) = settle(api_a, worker, {**lease, "outcome": "failed", "error": {"class": "E"}})
        assert done["state"] == "dead"

    def test_a_permanent_failure_is_a_dead_letter_at_once(
        self, api_a: Api, tenant_a: Tenant
    ) -> None:
        (task_id,) = put(tenant_a)
        worker, lease = claim_one(api_a)
        told = {"outcome": "failed", "error": {"class": "NoSuchFilm"}, "permanent": True}
        (done,) = settle(api_a, worker, {**lease, **told})
        assert done["state"] == "dead"
        assert Task.objects.get(pk=task_id).dead_reason == "permanent_failure"

    def test_snoozed_and_released_ones_are_not_charged(self, api_a: Api, tenant_a: Tenant) -> None:
        put(tenant_a)
        worker, lease = claim_one(api_a)
        (done,) = settle(api_a, worker, {**lease, "outcome": "released"})
        assert done["state"] == "queued"
        worker, lease = claim_one(api_a)
        assert lease["generation"] == 2
        (done,) = settle(api_a, worker, {**lease, "outcome": "snoozed", "delay_seconds": 600})
        assert done["state"] == "queued"
        assert Task.objects.get(pk=lease["task_id"]).attempts == 0

    def test_saying_it_again_is_answered_as_before(self, api_a: Api, tenant_a: Tenant) -> None:
        put(tenant_a)
        worker, lease = claim_one(api_a)
        told = {**lease, "outcome": "succeeded"}
        assert settle(api_a, worker, told) == settle(api_a, worker, told)
        assert not Refusal.objects.exists()

    def test_a_stale_one_is_refused_and_leaves_the_others_settled(
        self, api_a: Api, tenant_a: Tenant
    ) -> None:
        put(tenant_a)
        zombie, lost = claim_one(api_a)
        reap_all()
        due_again()
        heir, current = claim_one(api_a)
        put(tenant_a)
        _, other = claim_one(api_a, worker=zombie)

        refused, done = settle(
            api_a, zombie, {**lost, "outcome": "succeeded"}, {**other, "outcome": "succeeded"}
        )

        assert kind(refused) == "stale-lease"
        assert refused["problem"]["current_generation"] == 2
        assert refused["problem"]["status"] == 409
        assert done["state"] == "succeeded"
        assert list(Refusal.objects.values_list("verb", "generation")) == [("settle", 1)]
        assert settle(api_a, heir, {**current, "outcome": "succeeded"})[0]["state"] == "succeeded"

    def test_a_result_that_cannot_be_kept_is_refused_by_itself(
        self, api_a: Api, tenant_a: Tenant
    ) -> None:
        put(tenant_a, len(UNSTORABLE) + 1)
        claimed = claim(api_a, max=9)
        leases = [{"task_id": one["id"], "generation": 1} for one in claimed["tasks"]]
        results = [*UNSTORABLE.values(), "sound"]
        *refused, done = settle(
            api_a,
            claimed["worker"],
            *(
                {**lease, "outcome": "succeeded", "result": result}
                for lease, result in zip(leases, results, strict=True)
            ),
        )
        assert done == {**leases[-1], "state": "succeeded", "due_at": None}
        assert [kind(one) for one in refused] == ["invalid-request"] * len(refused)
        assert [one["problem"]["errors"][0]["field"] for one in refused] == list(UNSTORABLE)
        ids = [lease["task_id"] for lease in leases[:-1]]
        assert set(Task.objects.filter(pk__in=ids).values_list("state", flat=True)) == {"running"}

    def test_what_went_wrong_is_kept_with_what_cannot_be_stored_escaped(
        self, api_a: Api, tenant_a: Tenant
    ) -> None:
        (task_id,) = put(tenant_a)
        worker, lease = claim_one(api_a)
        error = {"class": "E\0", "message": "\0" * 4096, "traceback": "\ud800"}
        (done,) = settle(api_a, worker, {**lease, "outcome": "failed", "error": error})
        assert done["state"] == "queued"
        task = Task.objects.get(pk=task_id)
        assert task.error == {"class": r"E\u0000", "message": r"\u0000" * 4096}
        assert task.history.get().error["traceback"] == r"\ud800"

    def test_nobody_settles_for_another_worker(self, api_a: Api, tenant_a: Tenant) -> None:
        put(tenant_a)
        worker, lease = claim_one(api_a)
        (refused,) = settle(api_a, str(uuid4()), {**lease, "outcome": "succeeded"})
        assert kind(refused) == "stale-lease"
        assert settle(api_a, worker, {**lease, "outcome": "succeeded"})[0]["state"] == "succeeded"

    def test_a_task_that_was_to_be_cancelled_is_when_it_is_handed_back(
        self, api_a: Api, tenant_a: Tenant
    ) -> None:
        put(tenant_a)
        worker, lease = claim_one(api_a)
        ledger.cancel([UUID(lease["task_id"])])
        assert renew(api_a, worker, lease)[0]["cancel_requested"] is True
        assert settle(api_a, worker, {**lease, "outcome": "released"})[0]["state"] == "cancelled"


@pytest.mark.parametrize(
    ("lease", "field"),
    [
        ({}, "leases.0.outcome"),
        ({"outcome": "lost"}, "leases.0.outcome"),
        ({"outcome": "succeeded", "task_id": "x"}, "leases.0.task_id"),
        ({"outcome": "succeeded", "generation": 0}, "leases.0.generation"),
        ({"outcome": "succeeded", "generation": 2**31}, "leases.0.generation"),
        ({"outcome": "succeeded", "error": {"class": "E"}}, "leases.0.error"),
        ({"outcome": "failed"}, "leases.0.error"),
        ({"outcome": "failed", "error": {}}, "leases.0.error.class"),
        ({"outcome": "failed", "error": {"class": "E", "message": 1}}, "leases.0.error.message"),
        (
            {"outcome": "failed", "error": {"class": "E", "message": "\0" * 4097}},
            "leases.0.error.message",
        ),
        ({"outcome": "\ud800"}, "leases[0].outcome"),
        ({"outcome": "failed", "error": {"class": "E", "\ud800": 1}}, "leases[0].error[1]"),
        (
            {"outcome": "failed", "error": {"class": "E"}, "retry_in_seconds": -1},
            "leases.0.retry_in_seconds",
        ),
        (
            {"outcome": "failed", "error": {"class": "E"}, "permanent": True}
            | {"retry_in_seconds": 1},
            "leases.0.retry_in_seconds",
        ),
        ({"outcome": "snoozed"}, "leases.0.delay_seconds"),
        ({"outcome": "released", "result": 1}, "leases.0.result"),
        ({"outcome": "succeeded", "why": 1}, "leases.0.why"),
    ],
)
def test_a_settlement_that_cannot_be_names_the_field(api_a: Api, lease: Any, field: str) -> None:
    body = {"worker": WORKER, "leases": [{**FENCE, **lease}]}
    assert set(faults(api_a.post("/v1/leases/settle", body))) == {field}
