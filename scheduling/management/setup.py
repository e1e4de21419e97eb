"""Owns setting an installation up: by one process at a time, however many start at once."""

import fcntl
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection, transaction

from tenants.models import ApiToken, Tenant

SETUP_LOCK = 0x52_45_4E_54  # any number that every process agrees on


@contextmanager
def alone() -> Iterator[None]:
    """Hold the only right to set up this ledger; others wait, and a killed holder lets go. Not to be nested."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout TO 0")  # as long as the other's migrations take
            cursor.execute("SELECT pg_advisory_lock(%s)", [SETUP_LOCK])
            try:
                yield
            finally:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [SETUP_LOCK])
                cursor.execute("RESET lock_timeout")
    else:
        with (settings.DATA_DIR / "migrate.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def update_tables(*, verbosity: int = 0) -> None:
    """Alone by itself. SystemCheckError for a database that is not to be trusted."""
    call_command("migrate", interactive=False, verbosity=verbosity, skip_checks=False)


def collect_static_files(*, verbosity: int = 0) -> None:
    if not settings.DEBUG:  # with DEBUG they are served from where they lie
        call_command("collectstatic", interactive=False, verbosity=verbosity)


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
