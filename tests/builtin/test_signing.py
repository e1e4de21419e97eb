"""Signatures by which a receiver knows a request is from here."""

import base64
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from scheduling.builtin.signing import secret_of, signature
from tenants.models import Tenant


def test_it_signs_as_the_published_example_of_standard_webhooks_does() -> None:
    assert (
        signature(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1614265330,
            b'{"test": 2432232314}',
        )
        == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )


@pytest.mark.parametrize(
    ("message_id", "timestamp", "body"), [("b", 1, b"{}"), ("a", 2, b"{}"), ("a", 1, b"[]")]
)
def test_everything_that_is_signed_counts(message_id: str, timestamp: int, body: bytes) -> None:
    secret = secret_of("acme")
    assert signature(secret, message_id, timestamp, body) != signature(secret, "a", 1, b"{}")


def test_each_tenant_has_a_secret_of_its_own() -> None:
    assert secret_of("acme") != secret_of("globex")
    assert secret_of("acme") == secret_of("acme")
    assert len(base64.b64decode(secret_of("acme").removeprefix("whsec_"))) == 32


def test_the_installations_secret_is_the_django_one_unless_another_is_set(
    settings: Settings,
) -> None:
    before = secret_of("acme")
    settings.RENTROLL = settings.RENTROLL | {"WEBHOOK_SECRET": "another"}
    ours = secret_of("acme")
    settings.SECRET_KEY = "rotated"
    assert secret_of("acme") == ours != before
    settings.RENTROLL = settings.RENTROLL | {"WEBHOOK_SECRET": ""}
    assert secret_of("acme") not in (before, ours)


class TestCommand:
    def test_it_prints_the_secret_of_a_tenant(self, tenant_a: Tenant) -> None:
        printed = StringIO()
        call_command("webhooksecret", "tenant-a", stdout=printed)
        assert printed.getvalue().strip() == secret_of("tenant-a")

    def test_an_unknown_tenant_has_none(self, db: None) -> None:
        with pytest.raises(CommandError, match="no tenant 'nobody'") as error:
            call_command("webhooksecret", "nobody")
        assert error.value.returncode == 2
