"""What a developer is told about an installation that others can reach."""

import pytest
from pytest_django import Settings

from config.checks import development_stays_on_this_machine

ANYWHERE = "0.0.0.0"  # noqa: S104  # nothing listens there


@pytest.mark.parametrize(
    ("debug", "bind", "told"),
    [
        (True, ANYWHERE, True),
        (True, "192.0.2.7", True),
        (True, "::", True),
        (True, "scheduler.example", True),
        (True, "127.0.0.1", False),
        (True, "[::1]", False),
        (True, "localhost", False),
        (False, ANYWHERE, False),
    ],
)
def test_well_known_tokens_on_a_network_are_told(
    settings: Settings, debug: bool, bind: str, told: bool
) -> None:
    settings.DEBUG, settings.BIND = debug, bind
    assert [message.id for message in development_stays_on_this_machine()] == ["config.W001"] * told
