"""Owns setting an installation up: what `manage.py bootstrap` does beside Django's own commands."""

import secrets

from django.contrib.auth import get_user_model
from django.db import transaction

from tenants.models import ApiToken, Tenant


def create_development_tenants() -> str | None:
    """On a ledger without tenants: two of them, well-known tokens, and an admin user.

    Returns the admin's password, which is stored nowhere, or None when there was nothing to do.
    """
    if Tenant.objects.exists():
        return None
    password = secrets.token_urlsafe(12)
    with transaction.atomic():
        for slug in ("tenant-a", "tenant-b"):
            tenant = Tenant.objects.create(slug=slug, name=slug.replace("-", " ").title())
            ApiToken.objects.issue(tenant=tenant, name="development", secret=f"token-{slug}")
        ApiToken.objects.issue(tenant=None, name="development", secret="token-operator")  # noqa: S106  # nosec B106  # refused in production
        get_user_model().objects.create_superuser("admin", password=password)
    return password
