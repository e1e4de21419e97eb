"""Owns the way from the environment to the settings of the apps: each under its own name (`scheduling/conf.py`)."""

from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias, assert_never

import environ
from django.core.exceptions import ImproperlyConfigured

from scheduling import durations
from scheduling.conf import DEFAULTS

Setting: TypeAlias = bool | int | str | timedelta | Path | tuple[str, ...]


def settings_of_the_apps(env: environ.Env) -> dict[str, Any]:
    """Those that the environment sets. Raises ImproperlyConfigured for what cannot be read."""
    return {name: read(env, name, default) for name, default in DEFAULTS.items() if name in env}


def read(env: environ.Env, name: str, default: Setting) -> Any:
    """As the type of the default."""
    match default:
        case bool():
            return env.bool(name)
        case int():
            return env.int(name)
        case str():
            return env.str(name)
        case Path():
            return Path(env.str(name))
        case tuple():
            return [one.strip() for one in env.list(name)]
        case timedelta():
            try:
                return durations.parse(env.str(name))
            except ValueError as error:
                raise ImproperlyConfigured(f"{name}: {error}") from error
        case _:
            assert_never(default)
