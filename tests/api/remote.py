"""What remote workers ask of the API, as tests ask it for them."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from scheduling import ledger
from tenants.models import Tenant
from tests.api.kit import Api
from tests.ledger import kit

WORKER = str(uuid4())
FENCE = {"task_id": str(uuid4()), "generation": 1}
"""Of a task that never was."""


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
    """Of the problem with one lease of several."""
    return str(answer["problem"]["type"]).removeprefix("/problems/")


def reap_all() -> None:
    """As a reaper does with workers that have been silent for long."""
    ledger.reap(ledger.held_leases())


def due_again() -> None:
    ledger.promote(now=ledger.promote().now + timedelta(hours=2))


def iso(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")
