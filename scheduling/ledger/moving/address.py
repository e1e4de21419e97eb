"""Owns the way from the address of a target to the settings of a connection, and to what people are shown of it."""

from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

from scheduling.ledger.moving.errors import CannotMove

KNOWN = ("dbname", "user", "password", "host", "port")


def settings_for(url: str) -> dict[str, Any]:
    """Django's, with what the source's have otherwise. Raises CannotMove, which repeats nothing of the address."""
    if not url.startswith(("postgres://", "postgresql://")):
        raise CannotMove(
            "--to names no PostgreSQL database. Say postgres://user:password@host/name."
        )
    told = parts_of(url)
    known = {name: str(told.pop(name, None) or "") for name in KNOWN}
    return {
        **connections[DEFAULT_DB_ALIAS].settings_dict,
        "ENGINE": "django.db.backends.postgresql",
        "NAME": known["dbname"],
        "USER": known["user"],
        "PASSWORD": known["password"],
        "HOST": known["host"],
        "PORT": known["port"],
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": False,
        "OPTIONS": {"application_name": "rentroll moveledger", "connect_timeout": 5, **told},
    }


def parts_of(url: str) -> dict[str, Any]:
    """As libpq names them. Raises CannotMove, also where nobody can speak to PostgreSQL yet."""
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as error:
        raise CannotMove(
            "What speaks to PostgreSQL is not installed. Run: pip install 'rentroll[postgres]'"
        ) from error
    try:
        return conninfo_to_dict(url)
    except ProgrammingError:
        raise CannotMove(
            "--to cannot be read. Percent-encode what is special in its user and password, such as / (%2F)."
        ) from None


def place_of(settings: dict[str, Any]) -> str:
    """Where it is, for people, without who may get in."""
    port = f":{settings['PORT']}" if settings["PORT"] else ""
    return f"postgres://{settings['HOST']}{port}/{settings['NAME']}"
