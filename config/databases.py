"""Owns the way from ``DATABASE_URL`` to Django's ``DATABASES``: SQLite or PostgreSQL."""

import math
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

SECONDS_KEPT_OPEN = 600
LEAST_CONNECT_SECONDS = 2
"""PostgreSQL's client takes less for as much."""
PATIENCE = (0.001, 86_400)
"""Seconds that one may wait for others, at least and at most. Of less PostgreSQL makes nothing: for ever, to it."""

# A crashed client, or a handler that forgot its transaction, must not hold locks for ever; one that was
# cut off from the network no longer than it takes to notice.
POSTGRES_SESSION = (
    "-c idle_in_transaction_session_timeout=60s -c tcp_user_timeout=10s "
    "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3"
)


def ledger_database(url: str, *, wait_seconds: float = 10.0) -> dict[str, Any]:
    """Django's settings for the database at ``url``, with so much patience for what others hold.

    Raises ImproperlyConfigured when it is neither SQLite nor PostgreSQL, SQLite where nothing can be written, or
    PostgreSQL with a time to connect in that is none.
    """
    database = parsed(url)
    match database["ENGINE"]:
        case "django.db.backends.sqlite3":
            database = _sqlite(database)
        case "django.db.backends.postgresql":
            database = _postgres(database)
        case other:
            raise ImproperlyConfigured(
                f"DATABASE_URL names {other}. Use sqlite:///path or postgres://user@host/name."
            )
    wait_no_longer_than(wait_seconds, database)
    return database


def wait_no_longer_than(seconds: float, database: dict[str, Any]) -> None:
    """Change how long its connections, those opened from now on, wait for others: for locks, or for a turn."""
    options = database["OPTIONS"]
    if database["ENGINE"] == "scheduling.sqlite":
        options["timeout"] = seconds
    else:
        options["options"] += f" -c lock_timeout={round(seconds * 1000)}"
        in_reach = max(math.ceil(seconds), LEAST_CONNECT_SECONDS)
        options["connect_timeout"] = min(int(options["connect_timeout"]), in_reach)


def parsed(url: str) -> dict[str, Any]:
    try:
        return dict(environ.Env.db_url_config(url))
    except ValueError:  # it quotes a part of the password, for a port that is no number
        raise ImproperlyConfigured(
            "DATABASE_URL cannot be read. Percent-encode what is special in its user and password,"
            " such as / (%2F)."
        ) from None


def _sqlite(database: dict[str, Any]) -> dict[str, Any]:
    path = Path(database["NAME"])
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)  # SQLite gives its -wal and -shm files the mode of this one
    except OSError as error:
        raise ImproperlyConfigured(
            f"The ledger {path} cannot be written: {error.strerror}."
        ) from error
    return database | {
        "ENGINE": "scheduling.sqlite",
        "CONN_MAX_AGE": SECONDS_KEPT_OPEN,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {},
        # Not in memory: threads and processes of a test must meet in one file.
        "TEST": {"NAME": str(path.with_name("test.db"))},
    }


def _postgres(database: dict[str, Any]) -> dict[str, Any]:
    return database | {
        "CONN_MAX_AGE": SECONDS_KEPT_OPEN,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            "application_name": "rentroll",
            # Who was cut off tries anew. By itself TCP waits a quarter of an hour for an answer.
            "connect_timeout": 5,
            "tcp_user_timeout": 10_000,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            # Planning a hot statement takes longer than running it. Needs a pooler that knows of
            # prepared statements, if there is one.
            "prepare_threshold": 2,
            "options": POSTGRES_SESSION,
            **_of_the_url(database.get("OPTIONS", {})),
        },
    }


def _of_the_url(options: dict[str, Any]) -> dict[str, Any]:
    said = str(options.get("connect_timeout", LEAST_CONNECT_SECONDS))
    if not (said.isdecimal() and 0 < int(said) <= PATIENCE[1]):
        raise ImproperlyConfigured(
            f"connect_timeout in DATABASE_URL is {said!r}; it may be a whole number from 1 to {PATIENCE[1]}."
        )
    return options
