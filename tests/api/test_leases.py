"""Remote workers over HTTP: claim, renew and settle, behind the same fence as anybody."""

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from socket import socket, socketpair
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import OperationalError, connection
from pytest_django import Settings

from scheduling import ledger, retry
from scheduling.api.v1.until_found import Line, Waiter
from scheduling.api.v1.waiting import is_there
from scheduling.ledger import Claim
from scheduling.ledger.dialects import Reach
from scheduling.models import Refusal, Task
from tenants.models import ApiToken, Scope, Tenant
from tests.api.kit import Api, faults, problem
from tests.ledger import kit
from tests.waiting import until

MANY = 8

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


@pytest.fixture(autouse=True)
def remote_queues(settings: Settings) -> None:
    settings.RENTROLL = settings.RENTROLL | {"REMOTE_QUEUES": ["films", "thumbnails"]}


UNSTORABLE: dict[str, Any] = {
    "result": "\0",
    "result.cut": {"cut": "\ud800"},
    "result[1]": [0, 2**70],
    "result.reel": {"reel": {"\0": 1}},
}
"""By the place that is named."""


def put(tenant: Tenant, count: int = 1, **options: Any) -> list[UUID]:
    tasks = [kit.new(tenant, **{"queue": "films", "name": "film.cut", **options})] * count
    return [one.task_id for one in ledger.enqueue(tasks)]


def claim(api: Api, **asked: Any) -> dict[str, Any]:
    answer = api.post("/v1/leases", asked)
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def claim_one(api: Api, **asked: Any) -> tuple[str, dict[str, Any]]:
    """The worker, and the lease as it names it from then on."""
    claimed = claim(api, **asked)
    (task,) = claimed["tasks"]
    return claimed["worker"], {"task_id": task["id"], "generation": task["generation"]}


def settle(api: Api, worker: str, *leases: dict[str, Any]) -> list[dict[str, Any]]:
    answer = api.post("/v1/leases/settle", {"worker": worker, "leases": leases})
    assert answer.status_code == 200, answer.content
    return list(answer.json()["leases"])


def renew(api: Api, worker: str, *leases: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    answer = api.post("/v1/leases/renew", {"worker": worker, "leases": leases, **more})
    assert answer.status_code == 200, answer.content
    return list(answer.json()["leases"])


def kind(answer: dict[str, Any]) -> str:
    return str(answer["problem"]["type"]).removeprefix("/problems/")


def reap_all() -> None:
    """As a reaper does with workers that have been silent for long."""
    ledger.reap(ledger.held_leases())


def due_again(task_id: UUID) -> None:
    ledger.promote(now=ledger.promote().now + timedelta(hours=2))


class TestClaiming:
    def test_a_task_comes_with_all_it_takes_to_run_it(self, api_a: Api, tenant_a: Tenant) -> None:
        (task_id,) = put(tenant_a, kwargs={"reel": 7}, timeout_seconds=60.0)
        claimed = claim(api_a, queues=["films"])
        (task,) = claimed["tasks"]
        row = Task.objects.get(pk=task_id)
        assert UUID(claimed["worker"]) == row.lease.worker
        assert task.pop("expires_at") == iso(row.lease.expires_at)
        assert task.pop("due_at") == iso(row.lease.due_at)
        assert task == {
            "id": str(task_id),
            "generation": 1,
            "name": "film.cut",
            "queue": "films",
            "payload": {"reel": 7},
            "attempt": 1,
            "max_attempts": 3,
            "timeout_seconds": 60.0,
            "deadline": None,
            "idempotency_key": None,
            "traceparent": None,
        }

    def test_unnamed_arguments_of_python_callers_come_under_args(
        self, api_a: Api, tenant_a: Tenant
    ) -> None:
        put(tenant_a, args=[1, "x"], kwargs={"b": 2})
        (task,) = claim(api_a)["tasks"]
        assert task["payload"] == {"args": [1, "x"], "b": 2}

    def test_a_worker_keeps_its_name_and_its_length_of_lease(
        self, api_a: Api, tenant_a: Tenant
    ) -> None:
        put(tenant_a, 3)
        worker = str(uuid4())
        claimed = claim(api_a, worker=worker, max=2, lease_seconds=90)
        assert claimed["worker"] == worker
        leases = ledger.held_leases(UUID(worker))
        assert [(lease.seconds, lease.generation) for lease in leases] == [(90.0, 1)] * 2
        assert len(claim(api_a, max=10)["tasks"]) == 1
        assert claim(api_a)["tasks"] == []

    def test_only_the_queues_that_are_named(self, api_a: Api, tenant_a: Tenant) -> None:
        put(tenant_a, 2)
        put(tenant_a, queue="thumbnails")
        put(tenant_a, queue="default")
        assert len(claim(api_a, queues=["thumbnails"], max=9)["tasks"]) == 1
        assert len(claim(api_a, max=9)["tasks"]) == 2

    def test_a_tenant_gets_its_own_and_an_operator_everybodys(
        self, api_a: Api, operator: Api, tenant_a: Tenant, tenant_b: Tenant
    ) -> None:
        put(tenant_a)
        put(tenant_b, 2)
        assert [task["id"] for task in claim(api_a, max=9)["tasks"]] != []
        assert [task["tenant"] for task in claim(operator, tenant="tenant-b")["tasks"]] == [
            "tenant-b"
        ]
        assert [task["tenant"] for task in claim(operator, max=9)["tasks"]] == ["tenant-b"]

    def test_caps_and_pauses_hold(self, api_a: Api, operator: Api, tenant_a: Tenant) -> None:
        Tenant.objects.filter(pk=tenant_a.pk).update(max_in_flight=2)
        put(tenant_a, 5)
        worker, lease = claim_one(operator)
        assert len(claim(api_a, max=9)["tasks"]) == 1
        assert claim(api_a, max=9)["tasks"] == []
        ledger.pause(queue="films", by="operator")
        settle(operator, worker, {**lease, "outcome": "succeeded"})
        assert claim(api_a)["tasks"] == []
        ledger.resume(queue="films", by="operator")
        assert len(claim(api_a, max=9)["tasks"]) == 1

    def test_tenants_are_served_by_weight(self, operator: Api) -> None:
        for weight in (1, 3):
            put(Tenant.objects.create(slug=f"of-{weight}", weight=weight), 20)
        served = [task["tenant"] for task in claim(operator, max=20)["tasks"]]
        assert served.count("of-3") == 15

    def test_python_workers_and_remote_ones_share_a_tenants_cap(
        self, api_a: Api, tenant_a: Tenant
    ) -> None:
        Tenant.objects.filter(pk=tenant_a.pk).update(max_in_flight=3)
        put(tenant_a, 5)
        put(tenant_a, 5, queue="default")
        assert len(local_claims(2)) == 2
        assert len(claim(api_a, max=9)["tasks"]) == 1

    def test_a_payload_that_somebody_broke_is_a_dead_letter(
        self, api_a: Api, tenant_a: Tenant
    ) -> None:
        broken, sound = put(tenant_a, 2)
        with connection.cursor() as cursor:
            key = broken.hex if connection.vendor == "sqlite" else broken
            cursor.execute("UPDATE scheduling_task SET kwargs = '[]' WHERE id = %s", [key])
        (task,) = claim(api_a, max=2)["tasks"]
        assert task["id"] == str(sound)
        assert Task.objects.get(pk=broken).dead_reason == "permanent_failure"


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
        due_again(UUID(lost["task_id"]))
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


class TestRenewing:
    def test_it_extends_what_is_held_and_refuses_the_rest_one_by_one(
        self, api_a: Api, tenant_a: Tenant
    ) -> None:
        put(tenant_a)
        worker, lost = claim_one(api_a)
        reap_all()
        put(tenant_a)
        _, held = claim_one(api_a, worker=worker)
        refused, renewed = renew(api_a, worker, lost, held, lease_seconds=1800)
        assert kind(refused) == "stale-lease"
        assert refused["problem"]["current_generation"] == 1
        (row,) = ledger.held_leases()
        assert renewed == {**held, "expires_at": iso(row.expires_at), "cancel_requested": False}
        assert row.seconds == 1800.0
        assert list(Refusal.objects.values_list("verb", flat=True)) == ["renew"]

    def test_what_is_settled_is_not_renewed(self, api_a: Api, tenant_a: Tenant) -> None:
        put(tenant_a)
        worker, lease = claim_one(api_a)
        settle(api_a, worker, {**lease, "outcome": "succeeded"})
        assert kind(renew(api_a, worker, lease)[0]) == "stale-lease"

    @pytest.mark.parametrize(
        ("said", "shown"),
        [
            ({"fraction": 0.25}, {"fraction": 0.25, "done": None, "total": None, "note": ""}),
            (
                {"done": 3, "total": 4, "note": "reels"},
                {"fraction": 0.75, "done": 3, "total": 4, "note": "reels"},
            ),
        ],
    )
    def test_progress_is_shown_while_the_task_runs(
        self, api_a: Api, tenant_a: Tenant, said: dict[str, Any], shown: dict[str, Any]
    ) -> None:
        (task_id,) = put(tenant_a)
        worker, lease = claim_one(api_a)
        renew(api_a, worker, {**lease, "progress": said})
        renew(api_a, worker, lease)
        assert api_a.get(f"/v1/tasks/{task_id}").json()["progress"] == shown
        settle(api_a, worker, {**lease, "outcome": "succeeded"})
        assert api_a.get(f"/v1/tasks/{task_id}").json()["progress"] is None

    def test_a_stale_worker_tells_nothing_of_its_progress(
        self, api_a: Api, tenant_a: Tenant
    ) -> None:
        (task_id,) = put(tenant_a)
        worker, lost = claim_one(api_a)
        reap_all()
        due_again(task_id)
        _, held = claim_one(api_a, worker=worker)
        refused, renewed = renew(api_a, worker, {**lost, "progress": {"fraction": 1}}, held)
        assert kind(refused) == "stale-lease"
        assert "problem" not in renewed
        assert api_a.get(f"/v1/tasks/{task_id}").json()["progress"] is None

    def test_a_note_that_cannot_be_stored_is_escaped(self, api_a: Api, tenant_a: Tenant) -> None:
        (task_id,) = put(tenant_a)
        worker, lease = claim_one(api_a)
        renew(api_a, worker, {**lease, "progress": {"fraction": 1, "note": "\0"}})
        assert api_a.get(f"/v1/tasks/{task_id}").json()["progress"]["note"] == r"\u0000"

    @pytest.mark.parametrize(
        ("said", "field"),
        [
            ({}, ""),
            ({"fraction": 0.5, "done": 1, "total": 2}, ""),
            ({"done": 1}, ""),
            ({"fraction": 1.01}, ".fraction"),
            ({"fraction": "0.5"}, ".fraction"),
            ({"done": 3, "total": 2}, ".done"),
            ({"done": -1, "total": 2}, ".done"),
            ({"done": 1, "total": 2**53}, ".total"),
            ({"done": 0.5, "total": 1}, ".done"),
            ({"fraction": 0.5, "note": "x" * 201}, ".note"),
            ({"fraction": 0.5, "percent": 50}, ".percent"),
            (None, ""),
        ],
    )
    def test_progress_that_cannot_be_is_refused_by_its_field(
        self, api_a: Api, said: Any, field: str
    ) -> None:
        lease = {"task_id": str(uuid4()), "generation": 1, "progress": said}
        body = {"worker": str(uuid4()), "leases": [lease]}
        assert faults(api_a.post("/v1/leases/renew", body)).keys() == {f"leases.0.progress{field}"}

    def test_no_lease_is_extended_by_a_reaper_that_read_before(
        self, api_a: Api, tenant_a: Tenant
    ) -> None:
        put(tenant_a)
        worker, lease = claim_one(api_a)
        read = ledger.held_leases()
        renew(api_a, worker, lease)
        assert ledger.reap(read) == []


class TestIsolation:
    @pytest.mark.parametrize("path", ["settle", "renew"])
    def test_a_lease_of_another_tenant_is_one_that_never_was(
        self, api_a: Api, tenant_b: Tenant, path: str, api_b: Api
    ) -> None:
        put(tenant_b)
        worker, lease = claim_one(api_b)
        unknown = {"task_id": str(uuid4()), "generation": 1}
        said = {"outcome": "succeeded"} if path == "settle" else {}
        body = {"worker": worker, "leases": [{**lease, **said}, {**unknown, **said}]}
        others, nobodys = api_a.post(f"/v1/leases/{path}", body).json()["leases"]
        assert kind(others) == "unknown-task"
        assert others["problem"] == nobodys["problem"]
        assert Task.objects.get(pk=lease["task_id"]).state == "running"
        assert not Refusal.objects.exists()

    def test_an_operator_settles_for_everybody(
        self, operator: Api, api_b: Api, tenant_b: Tenant
    ) -> None:
        put(tenant_b)
        worker, lease = claim_one(api_b)
        (done,) = settle(operator, worker, {**lease, "outcome": "succeeded"})
        assert done["state"] == "succeeded"

    def test_a_tenant_names_no_other(self, api_a: Api, tenant_b: Tenant) -> None:
        answer = api_a.post("/v1/leases", {"tenant": "tenant-b"})
        assert problem(answer) == (403, "wrong-tenant")

    @pytest.mark.parametrize("path", ["", "/renew", "/settle"])
    def test_it_takes_a_token_for_work(self, tenant_a: Tenant, path: str) -> None:
        others = [scope for scope in Scope.values if scope != Scope.WORK]
        api = Api(ApiToken.objects.issue(tenant=tenant_a, scopes=others)[1])
        answer = api.post(f"/v1/leases{path}", {})
        assert problem(answer) == (403, "missing-scope")
        assert answer.json()["scope"] == "work"


FENCE = {"task_id": str(uuid4()), "generation": 1}
WORKER = str(uuid4())


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"queues": ["default"]}, "queues"),
        ({"queues": []}, "queues"),
        ({"queues": "films"}, "queues"),
        ({"queues": [1]}, "queues.0"),
        ({"max": 0}, "max"),
        ({"max": 101}, "max"),
        ({"max": "1"}, "max"),
        ({"max": True}, "max"),
        ({"lease_seconds": 0.5}, "lease_seconds"),
        ({"lease_seconds": 1e9}, "lease_seconds"),
        ({"wait": 31}, "wait"),
        ({"wait": -1}, "wait"),
        ({"worker": "me"}, "worker"),
        ({"worker": 7}, "worker"),
        ({"limit": 1}, "limit"),
    ],
)
def test_a_claim_that_cannot_be_names_the_field(api_a: Api, body: Any, field: str) -> None:
    assert set(faults(api_a.post("/v1/leases", body))) == {field}


def test_without_remote_queues_there_is_nothing_to_claim(api_a: Api, settings: Settings) -> None:
    settings.RENTROLL = settings.RENTROLL | {"REMOTE_QUEUES": []}
    assert "none as remote" in faults(api_a.post("/v1/leases", {}))["queues"]


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


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"leases": [FENCE]}, "worker"),
        ({"worker": WORKER}, "leases"),
        ({"worker": WORKER, "leases": []}, "leases"),
        ({"worker": WORKER, "leases": FENCE}, "leases"),
        ({"worker": WORKER, "leases": [1]}, "leases.0"),
        ({"worker": WORKER, "leases": [FENCE, FENCE]}, "leases"),
        ({"worker": WORKER, "leases": [FENCE] * 101}, "leases"),
    ],
)
def test_a_renewal_that_cannot_be_names_the_field(api_a: Api, body: Any, field: str) -> None:
    assert set(faults(api_a.post("/v1/leases/renew", body))) == {field}


class TestWaiting:
    """What comes in comes while the request waits: right before somebody looks for it."""

    def test_work_that_comes_in_meanwhile_ends_it(
        self, api_a: Api, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before_look(monkeypatch, lambda: put(tenant_a))
        assert len(claim(api_a, wait=30)["tasks"]) == 1

    def test_it_ends_with_nothing_when_the_time_is_over(self, api_a: Api) -> None:
        assert claim(api_a, wait=0.01)["tasks"] == []

    def test_one_too_many_is_answered_at_once(
        self, api_a: Api, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch, settings: Settings
    ) -> None:
        settings.RENTROLL = settings.RENTROLL | {"WEB_WAITERS": 0}
        before_look(monkeypatch, lambda: put(tenant_a))
        assert claim(api_a, wait=30)["tasks"] == []

    def test_a_task_goes_to_who_came_first_and_the_others_do_not_try(
        self, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        claims = counted_claims(monkeypatch)
        line = Line()
        with ThreadPoolExecutor(MANY) as pool:
            waiting = []
            for number in range(MANY):
                waiting.append(pool.submit(line.until_found, waiter_for(tenant_a), 30, {}))
                until(lambda number=number: len(line._waiting) == number + 1)  # type: ignore[misc]
            put(tenant_a, 3)
            assert all(len(one.result(20).claims) == 1 for one in waiting[:3])
            assert len(claims) <= 3 + 1, "one finds that there is nothing left"
            assert len(line._waiting) == MANY - 3
            put(tenant_a, MANY - 3)
            assert all(len(one.result(20).claims) == 1 for one in waiting[3:])

    def test_nothing_is_claimed_for_a_client_that_hung_up(
        self, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ours, theirs = socketpair()

        def leave() -> None:
            theirs.close()
            put(tenant_a)

        claims = counted_claims(monkeypatch)
        before_look(monkeypatch, leave)
        with ours:
            assert Line().until_found(waiter_for(tenant_a, ours), 30, {}).claims == []
        assert claims == []

    def test_what_goes_wrong_with_one_is_told_to_that_one(self, tenant_a: Tenant) -> None:
        def fail() -> ledger.Claims:
            raise OperationalError("no turn to write")

        reach = ledger.reach_of(["films"], tenant_a)
        line, broken = Line(), Waiter(reach, fail, None)
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(line.until_found, broken, 30, {})
            until(lambda: line._waiting)
            put(tenant_a)
            assert len(line.until_found(waiter_for(tenant_a), 30, {}).claims) == 1
            with pytest.raises(OperationalError, match="no turn"):
                first.result(20)

    def test_without_a_ledger_to_look_at_it_is_answered_503(
        self, api_a: Api, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail() -> None:
            raise OperationalError("It does not answer.")

        before_look(monkeypatch, fail)
        answer = api_a.post("/v1/leases", {"wait": 30})
        assert problem(answer) == (503, "unavailable")

    def test_one_that_sends_its_next_request_already_is_still_there(self) -> None:
        ours, theirs = socketpair()
        with ours, theirs:
            theirs.send(b"POST")
            assert is_there(ours)
            assert ours.recv(4) == b"POST"
            theirs.close()
            assert not is_there(ours)


def waiter_for(tenant: Tenant, client: socket | None = None) -> Waiter:
    def claim_one() -> ledger.Claims:
        return ledger.claim(uuid4(), limit=1, queues=["films"], tenant=tenant)

    return Waiter(ledger.reach_of(["films"], tenant), claim_one, client)


def before_look(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something before somebody looks for those who wait, once."""
    plain, left = ledger.promising, [act]

    def look(reaches: Collection[Reach]) -> set[Reach]:
        while left:
            left.pop()()
        return plain(reaches)

    monkeypatch.setattr(ledger, "promising", look)


def counted_claims(monkeypatch: pytest.MonkeyPatch) -> list[ledger.Claims]:
    """Those that there are from now on."""
    claims: list[ledger.Claims] = []
    plain = ledger.claim

    def note_and_claim(*args: Any, **options: Any) -> ledger.Claims:
        claims.append(plain(*args, **options))
        return claims[-1]

    monkeypatch.setattr(ledger, "claim", note_and_claim)
    return claims


def local_claims(limit: int) -> list[Claim]:
    """As Python workers claim."""
    return ledger.claim(uuid4(), limit=limit).claims


def iso(instant: Any) -> str:
    return str(instant.isoformat()).replace("+00:00", "Z")
