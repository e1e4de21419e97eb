"""System checks: tokens that everybody knows, told at start-up."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import WARNING, CheckMessage, Tags, register
from django.db import connections

from tenants.authentication import DEVELOPMENT_SECRETS
from tenants.models import ApiToken, digest_of


@register(Tags.database)
def development_tokens_are_gone(
    databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """In production they open nothing; but who finds them in the table had better know."""
    if settings.DEBUG:
        return []
    stored = [token for alias in databases or () for token in development_tokens(alias)]
    if not stored:
        return []
    revoking = "; ".join(f"manage.py revoketoken {token.prefix}" for token in stored)
    return [
        CheckMessage(
            WARNING,
            f"This ledger holds {len(stored)} development tokens, which everybody knows and which are"
            " refused while DEBUG is off.",
            hint=f"Revoke them: {revoking}",
            id="tenants.W001",
        )
    ]


def development_tokens(alias: str) -> list[ApiToken]:
    """Those that were not revoked; none before the tables are made."""
    if ApiToken._meta.db_table not in connections[alias].introspection.table_names():
        return []
    digests = [digest_of(secret) for secret in DEVELOPMENT_SECRETS]
    open_tokens = ApiToken.objects.using(alias).filter(revoked_at=None, digest__in=digests)
    return list(open_tokens.order_by("prefix"))
