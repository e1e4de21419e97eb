"""Owns what refusals say of coming back: Retry-After, and the RateLimit fields (draft-ietf-httpapi-ratelimit-headers).

A policy has one name in whatever answer it is told: that of the tenant's limit, and `capacity` for what all tenants
share. The two figures of a tenant's rate are one policy, `rate_per_second`: its burst is `q`, and grows back in `w`.
Pure, so that the server can refuse before there is an application.
"""

from datetime import timedelta
from math import ceil

from scheduling.errors import LimitExceeded

RATE = "rate_per_second"
CAPACITY = "capacity"


def over(limit: LimitExceeded) -> dict[str, str]:
    """The tenant has used it up; in so many seconds it is worth another look."""
    wait = whole_seconds(limit.retry_after)
    if limit.window is None:
        return used_up(limit.limit, f"q={limit.quota}", wait)
    return used_up(RATE, f"q={limit.quota};w={whole_seconds(limit.window)}", wait)


def in_trouble(wait: int) -> dict[str, str]:
    """For so many seconds nobody is granted anything."""
    return used_up(CAPACITY, f"q=0;w={wait}", wait)


def used_up(policy: str, quota: str, wait: int) -> dict[str, str]:
    return {
        "Retry-After": str(wait),
        "RateLimit-Policy": f'"{policy}";{quota}',
        "RateLimit": f'"{policy}";r=0;t={wait}',
    }


def whole_seconds(delay: timedelta) -> int:
    """Never too early, never zero."""
    return max(1, ceil(delay.total_seconds()))
