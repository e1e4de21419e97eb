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
    """What is left of it, and in how many seconds it is worth another look: no `t` when it never is.

    Every 429 is promised a Retry-After, that one too.
    """
    wait = whole_seconds(limit.retry_after)
    policy, quota = limit.limit, f"q={limit.quota}"
    if limit.window is not None:
        policy, quota = RATE, f"{quota};w={whole_seconds(limit.window)}"
    back = "" if limit.is_for_ever else f";t={wait}"
    return fields(policy, quota, f"r={limit.left}{back}", wait)


def in_trouble(wait: int) -> dict[str, str]:
    """For so many seconds nobody is granted anything."""
    return fields(CAPACITY, f"q=0;w={wait}", f"r=0;t={wait}", wait)


def fields(policy: str, quota: str, left: str, wait: int) -> dict[str, str]:
    return {
        "Retry-After": str(wait),
        "RateLimit-Policy": f'"{policy}";{quota}',
        "RateLimit": f'"{policy}";{left}',
    }


def whole_seconds(delay: timedelta) -> int:
    """Never too early, never zero."""
    return max(1, ceil(delay.total_seconds()))
