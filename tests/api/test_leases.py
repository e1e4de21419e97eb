"""Remote workers claim over HTTP as anybody claims, and see no more than their token allows."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from pytest_django import Settings

from scheduling import ledger
from scheduling.ledger import Claim
from scheduling.models import Refusal, Task
from tenants.models import ApiToken, Scope, Tenant
from tests.api.kit import Api, faults, problem
from tests.api.remote import claim, claim_one, iso, kind, put, settle

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.ledger,
    pytest.mark.usefixtures("remote_queues"),
]


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


def local_claims(limit: int) -> list[Claim]:
    """As Python workers claim."""
    return ledger.claim(uuid4(), limit=limit).claims
