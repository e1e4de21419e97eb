"""What a client sees of tasks that go wrong, from a server with workers: faults from the field, over HTTP."""

import pytest

from tests.examples.served import Server

INSIDE = ["http://169.254.169.254/", "http://[::ffff:127.0.0.1]/", "http://2130706433/"]


def test_a_task_over_its_time_is_timed_out_and_its_slot_is_free_again(server: Server) -> None:
    sleeper = {"queue": "default", "name": "demo.sleep", "payload": {"seconds": 600}}
    over = server.enqueue(**sleeper, timeout_seconds=0.2, max_attempts=1)
    task = server.ended(over)
    assert (task["state"], task["dead_reason"]) == ("dead", "attempts_exhausted")
    assert task["error"]["class"].endswith(".TaskTimeout")
    [attempt] = task["attempts"]
    assert (attempt["outcome"], attempt["error"]["class"]) == ("failed", task["error"]["class"])
    after = server.enqueue(queue="default", name="demo.echo", payload={"message": "next"})
    assert server.ended(after)["state"] == "succeeded"


@pytest.mark.parametrize("url", INSIDE)
def test_a_request_to_an_address_inside_is_never_made(server: Server, url: str) -> None:
    task_id = server.enqueue(queue="default", name="http.request", payload={"url": url})
    task = server.ended(task_id)
    assert (task["state"], task["dead_reason"]) == ("dead", "permanent_failure")
    assert task["error"]["class"].endswith(".AddressRefused")
