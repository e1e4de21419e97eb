"""Owns where Django's secret key comes from."""

import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

DEVELOPMENT_PREFIX = "development-"
REFUSED_PREFIXES = (DEVELOPMENT_PREFIX, "django-insecure-")
LEAST_LENGTH = 50


def checked(key: str) -> str:
    """The ``key`` itself, once it is fit for production.

    Raises ImproperlyConfigured for a key that is missing, short, or made for development.
    """
    if len(key) < LEAST_LENGTH or key.startswith(REFUSED_PREFIXES):
        raise ImproperlyConfigured(
            f"SECRET_KEY must be a random text of at least {LEAST_LENGTH} characters that was not"
            " made for development. Make one with"
            " `python -c 'import secrets; print(secrets.token_urlsafe(64))'`,"
            " or set DEBUG=1 on a machine of your own."
        )
    return key


def kept_in(path: Path) -> str:
    """The development key in ``path``, made there once, readable by its owner only.

    Processes that start together agree on one key: a hard link appears whole or not at all.
    """
    if not path.exists():
        with tempfile.NamedTemporaryFile("w", dir=path.parent) as draft:
            draft.write(DEVELOPMENT_PREFIX + secrets.token_urlsafe(64))
            draft.flush()
            with suppress(FileExistsError):
                os.link(draft.name, path)
    return path.read_text()
