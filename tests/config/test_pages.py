"""What every answer carries, whoever made it."""

import pytest
from django.test import Client


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/admin/login/", "/healthz", "/v1/tasks", "/v1/no-such-thing"])
def test_every_answer_forbids_scripts_from_elsewhere_and_inline(
    client: Client, address: str
) -> None:
    policy = client.get(address)["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy


def test_the_front_door_leads_to_the_console(client: Client) -> None:
    assert client.get("/")["Location"] == "/admin/"
