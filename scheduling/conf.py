"""States every setting of the apps: its name, its type, its default, and what it means. Owns how they are read.

A project puts into its settings what it wants to have otherwise, under one name:

    RENTROLL = {"DEFAULT_TENANT": "acme", "RETENTION": timedelta(days=7)}

The stand-alone project takes the same names from the environment (`config/environment.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed

NAME = "RENTROLL"


@dataclass(frozen=True)
class Settings:
    """Of each, the default is what holds unless `RENTROLL` says otherwise.

    What stands beneath each is its entry in docs/reference/settings.md (`make reference`), for the stand-alone project as
    well: a default that is said to be another one there is set in config/settings.py.
    """

    # The ledger

    LEDGER_MAX_QUEUED: int = 10_000_000
    """Unfinished tasks of all tenants together, beyond which nobody's are accepted. 0 is no limit.

    Unit: tasks.
    """

    LEDGER_MIN_FREE_MIB: int = 64
    """What is to be free on the disk of an SQLite ledger. With less, nobody's tasks are accepted.

    Unit: MiB.
    """

    WATCHED_DIR: Path = Path()
    """With a ledger on PostgreSQL, whose disk cannot be seen: a folder of this host. `/readyz` and the metrics tell how
    much room its disk has.

    Value: path. Default: `DATA_DIR`; in a project of yours, where programs are started.
    """

    RETENTION: timedelta = timedelta(days=30)
    """How long finished tasks are kept of tenants that have no retention of their own: what `prune` goes by, and
    `/v1/limits` tells.

    Value: duration, such as `12h` or `30d`. Default: `30d`.
    """

    # Tenants

    TENANT_MAX_QUEUED: int = 10_000
    """Tasks that a new tenant may have waiting and running. 0 is no limit.

    Unit: tasks.
    """

    TENANT_MAX_IN_FLIGHT: int = 100
    """Tasks of a new tenant that run at once. 0 is no limit.

    Unit: tasks.
    """

    TENANT_RATE_PER_SECOND: int = 1_000
    """Tasks that a new tenant may enqueue each second. 0 is no limit.

    Unit: tasks per second.
    """

    TENANT_RATE_BURST: int = 2_000
    """Tasks that a new tenant may enqueue at once after a silence, one at least.

    Unit: tasks.
    """

    TENANT_MAX_RECURRING: int = 10_000
    """[Recurring tasks](../recurring.md) that one tenant may have, whichever it is. 0 is no limit.

    Unit: recurring tasks.
    """

    DEFAULT_TENANT: str = ""
    """The tenant that owns what Python code enqueues without naming one.

    Value: slug. Default: none, and such code is refused.
    """

    # Work elsewhere

    REMOTE_QUEUES: Sequence[str] = ()
    """Queues whose tasks have any name and are run by [remote workers](../remote-workers.md), over the API. No Python
    worker claims from them. To be the same for every program."""

    WEBHOOK_SECRET: str = ""
    """What the signatures of [`http.request`](../http-requests.md) are derived from.

    Default: `SECRET_KEY`.
    """

    HTTP_ALLOW_PRIVATE_ADDRESSES: Sequence[str] = ()
    """Networks that `http.request` may reach although they are private, such as `10.1.0.0/16`.

    Default: none; this machine with `DEBUG=1`, but not in a project of yours.
    """

    # The API and the console

    WEB_WAITERS: int = 0
    """Requests that may wait at once in each web process, for a task to be over (`?wait=`) or for work. A tenant has no
    more of these seats than it leaves free; others are answered at once. Each holds a thread of the server, unless that is
    the one of the stand-alone project.

    Unit: requests. Default: `600`; in a project of yours `0`.
    """

    CONSOLE_REDACT: Sequence[str] = (
        "password",
        "passwd",
        "secret",
        "token",
        "api_key",
        "authorization",
        "cookie",
    )
    """The console shows no value of a payload or a result under a member whose name contains one of these words, at any
    depth, whatever its case and with or without `-` and `_`. `*` hides all payloads and results."""

    # Metrics

    METRICS_OPEN: bool = False
    """Whether anybody who reaches [`/metrics`](../metrics.md) may read it, without a token."""

    METRICS_MAX_TENANTS: int = 100
    """Tenants that metrics tell apart. The rest are `other`.

    Unit: tenants.
    """

    METRICS_MAX_QUEUES: int = 20
    """Queues of each tenant that metrics tell apart. The rest are `other`.

    Unit: queues.
    """

    # Security

    FORWARDED_ALLOW_IPS: Sequence[str] = ("127.0.0.1", "::1")
    """The proxies, by address or network (`10.0.0.0/16`), whose `X-Forwarded-Proto`, and in the console `X-Forwarded-For`,
    are believed. `*`: whoever connects. In a project of yours the first is a matter of its server."""


MOST = 2_147_483_647
"""What a column of a tenant's limits holds."""
MOST_PER_SECOND = 1_000_000_000
"""Beyond this a rate is no limit any more, and cannot be reckoned with."""
BOUNDS = {"TENANT_RATE_PER_SECOND": (0, MOST_PER_SECOND), "TENANT_RATE_BURST": (1, MOST)}
"""The least and the most, where they are others than those of all numbers."""

DEFAULTS: Mapping[str, Any] = {one.name: one.default for one in fields(Settings)}


@cache
def conf() -> Settings:
    """The settings that hold. Raises ImproperlyConfigured for a name or a type that is none of ours."""
    given: object = getattr(settings, NAME, {})
    if not isinstance(given, Mapping):
        raise ImproperlyConfigured(f"{NAME} is {given!r}, and must be a dictionary of settings.")
    for name, value in given.items():
        require_known(name)
        require_type(name, value)
        require_within_bounds(name, value)
    return Settings(**given)


def require_known(name: str) -> None:
    if name not in DEFAULTS:
        near = get_close_matches(name, DEFAULTS, n=1)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise ImproperlyConfigured(f"{NAME} names {name!r}, which is no setting.{meant}")


def require_type(name: str, value: object) -> None:
    """The type of the default; a list, a tuple or a set of texts for a tuple."""
    default = DEFAULTS[name]
    if isinstance(default, tuple):
        fits = isinstance(value, list | tuple | set | frozenset) and all(
            isinstance(one, str) for one in value
        )
        wanted = "list of texts"
    else:
        fits = isinstance(value, type(default)) and isinstance(value, bool) is isinstance(
            default, bool
        )
        wanted = "Path" if isinstance(default, Path) else type(default).__name__
    if not fits:
        raise ImproperlyConfigured(f'{NAME}["{name}"] is {value!r}, and must be a {wanted}.')


def require_within_bounds(name: str, value: object) -> None:
    """Of a number."""
    if type(value) is not int:
        return
    least, most = bounds_of(name)
    if not least <= value <= most:
        raise ImproperlyConfigured(
            f'{NAME}["{name}"] is {value}, and must be a number from {least} to {most}.'
        )


def bounds_of(name: str) -> tuple[int, int]:
    """The least and the most that a number may be."""
    return BOUNDS.get(name, (0, MOST))


def _read_anew(*, setting: str, **kwargs: Any) -> None:
    if setting == NAME:
        conf.cache_clear()


setting_changed.connect(_read_anew, dispatch_uid="scheduling.conf")
