"""Enqueueing for remote workers: any name, any payload, and the same rules for all the rest."""

from typing import Any

import pytest

from scheduling.declaring import registry
from tests.api.kit import Api, faults

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.ledger,
    pytest.mark.usefixtures("remote_queues"),
]


def enqueue(api: Api, key: str | None = None, **body: Any) -> Any:
    return api.enqueue(key, **{"name": "film.cut", "queue": "films", **body})


@pytest.mark.parametrize("payload", [{}, {"context": 1, "self": 2, "not a name": {"deep": [1]}}])
def test_any_name_and_payload_is_taken(api_a: Api, payload: dict[str, Any]) -> None:
    answer = enqueue(api_a, payload=payload)
    assert answer.status_code == 201, answer.content
    shown = api_a.get(answer["Location"]).json()
    assert (shown["name"], shown["queue"], shown["payload"]) == ("film.cut", "films", payload)
    assert shown["max_attempts"] == 3


def test_a_name_that_clients_make_up_is_offered_to_nobody(api_a: Api) -> None:
    assert enqueue(api_a).status_code == 201
    assert registry.exposed("film.cut") is None
    assert set(faults(enqueue(api_a, queue="default"))) == {"name"}


def test_the_key_stands_for_name_and_payload(api_a: Api) -> None:
    first = enqueue(api_a, "k", payload={"reel": 1})
    assert enqueue(api_a, "k", payload={"reel": 1}).json()["id"] == first.json()["id"]
    assert enqueue(api_a, "k", payload={"reel": 2}).status_code == 422
    assert enqueue(api_a, "k", payload={"reel": 1}, name="film.burn").status_code == 422


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "not a name"),
        ("name", None),
        ("name", ["film.cut"]),
        ("name", "x" * 201),
        ("payload", [1]),
        ("priority", 101),
        ("max_attempts", 0),
        ("timeout_seconds", 0),
    ],
)
def test_what_cannot_be_is_refused_by_its_field(api_a: Api, field: str, value: Any) -> None:
    assert set(faults(enqueue(api_a, **{field: value}))) == {field}


@pytest.mark.parametrize("queue", [["films"], {"films": 1}, 1, "Films"])
def test_what_only_resembles_a_remote_queue_is_none(api_a: Api, queue: object) -> None:
    assert "name" in faults(enqueue(api_a, queue=queue))
