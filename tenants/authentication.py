"""Owns who is calling: from a bearer token to a `Caller`. What a caller may do is decided elsewhere."""

from dataclasses import dataclass
from typing import ClassVar

from django.conf import settings
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from scheduling import clock
from tenants.models import ApiToken, Tenant

DEVELOPMENT_SECRETS = frozenset({"token-tenant-a", "token-tenant-b", "token-operator"})
"""Known to everybody, so they open nothing outside DEBUG, whatever the table says."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request, and what its token may be used for."""

    tenant: Tenant | None
    """None: the operator."""
    scopes: frozenset[str]
    prefix: str
    is_authenticated: ClassVar[bool] = True

    @property
    def is_operator(self) -> bool:
        return self.tenant is None

    def __str__(self) -> str:
        owner = self.tenant.slug if self.tenant else "the operator"
        return f"{owner} (token {self.prefix})"


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer <secret>` (RFC 6750). One query; revoking a token works from the next request on."""

    def authenticate(self, request: Request) -> tuple[Caller, ApiToken] | None:
        secret = bearer_secret(request.META.get("HTTP_AUTHORIZATION", ""))
        if secret is None:
            return None
        token = usable_token(secret)
        return Caller(token.tenant, frozenset(token.scopes), token.prefix), token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="rentroll"'


def bearer_secret(header: str) -> str | None:
    """The secret in an Authorization header, None when there is none."""
    if not header:
        return None
    scheme, _, secret = header.partition(" ")
    secret = secret.strip()
    if scheme.lower() != "bearer" or not secret or " " in secret:
        raise AuthenticationFailed("Send the header as `Authorization: Bearer <token>`.")
    return secret


def usable_token(secret: str) -> ApiToken:
    """The token with that secret. Raises AuthenticationFailed when it is unknown, revoked or expired."""
    now = clock.now()
    token = ApiToken.objects.with_secret(secret)
    if token is None:
        raise AuthenticationFailed("This token is not known here.")
    if token.revoked_at is not None:
        raise AuthenticationFailed("This token was revoked.")
    if token.expires_at is not None and token.expires_at <= now:
        raise AuthenticationFailed("This token has expired.")
    if secret in DEVELOPMENT_SECRETS and not settings.DEBUG:
        raise AuthenticationFailed("Development tokens work only while DEBUG is on.")
    token.note_use(now)
    return token
