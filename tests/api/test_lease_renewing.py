"""Remote workers renew their leases over HTTP, and tell of their progress."""

from typing import Any
from uuid import uuid4

import pytest

from scheduling import ledger
from scheduling.models import Refusal
from tenants.models import Tenant
from tests.api.kit import Api, faults
from tests.api.remote import (
    FENCE,
    WORKER,
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
        due_again()
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
