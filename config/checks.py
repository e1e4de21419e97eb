"""System checks: a developer's installation that others can reach, told at start-up."""

import ipaddress
from typing import Any

from django.conf import settings
from django.core.checks import WARNING, CheckMessage, Tags, register


@register(Tags.security)
def development_stays_on_this_machine(**kwargs: Any) -> list[CheckMessage]:
    if not settings.DEBUG or is_loopback(settings.BIND):
        return []
    return [
        CheckMessage(
            WARNING,
            f"With DEBUG on, everybody who reaches {settings.BIND} can use this installation: its tokens"
            " are well known.",
            hint="Set DEBUG=0 and a SECRET_KEY, or BIND=127.0.0.1.",
            id="config.W001",
        )
    ]


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
