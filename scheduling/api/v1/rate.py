"""Owns the RateLimit fields of answers that are no refusals (draft-ietf-httpapi-ratelimit-headers)."""

from scheduling.api.v1.coming_back import RATE
from scheduling.ledger import allowance


def fields(tenant_id: int, *, spent: int) -> dict[str, str]:
    """What the tenant has left of its burst, now that it spent so much. Nothing when its rate has no limit."""
    told = allowance.after_spending(tenant_id, spent)
    if told is None:
        return {}
    window = int(told.window.total_seconds())
    return {
        "RateLimit-Policy": f'"{RATE}";q={told.burst};w={window}',
        "RateLimit": f'"{RATE}";r={told.left};t={int(told.whole_in.total_seconds())}',
    }
