"""Owns how the environment is read, and the way from there to the settings of the apps: each under its own name
(`scheduling/conf.py`)."""

from datetime import timedelta
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias, assert_never

import environ
from django.core.exceptions import ImproperlyConfigured

from scheduling import durations
from scheduling.conf import DEFAULTS, bounds_of

Setting: TypeAlias = bool | int | str | timedelta | Path | tuple[str, ...]
Bounds: TypeAlias = tuple[float, float]
"""The least and the most."""

MAY_BE = {bool: "1 or 0", int: "a whole number", float: "a number"}
FALSE = ("false", "off", "n", "no", "0", "")


class Environment(environ.Env):  # type: ignore[misc]  # for want of stubs
    """What an operator has set. Raises ImproperlyConfigured, by its name, for what cannot be read as it should be."""

    def int(self, var: str, *, within: Bounds | None = None, **options: Any) -> Any:
        return self.get_value(var, int, within=within, **options)

    def float(self, var: str, *, within: Bounds | None = None, **options: Any) -> Any:
        return self.get_value(var, float, within=within, **options)

    def get_value(
        self, var: str, cast: Any = None, *, within: Bounds | None = None, **options: Any
    ) -> Any:
        try:
            value = super().get_value(var, cast, **options)
            if within and not within[0] <= value <= within[1]:
                raise ValueError(value)
        except ValueError as error:
            said = self.ENVIRON[var]
            reach = f" from {within[0]} to {within[1]}" if within else ""
            raise ImproperlyConfigured(
                f"{var} is {said!r}; it may be {MAY_BE[cast]}{reach}."
            ) from error
        return value

    @classmethod
    def parse_value(cls, value: str, cast: Any) -> Any:
        """django-environ takes whatever it does not know for false, and `10m` for ten."""
        if cast is bool and value.strip().lower() not in (*cls.BOOLEAN_TRUE_STRINGS, *FALSE):
            raise ValueError(value)
        if cast is float:
            number = float(value)
            if not isfinite(number):
                raise ValueError(value)
            return number
        return super().parse_value(value, cast)


def settings_of_the_apps(env: Environment) -> dict[str, Any]:
    """Those that the environment sets. Raises ImproperlyConfigured for what cannot be read."""
    return {name: read(env, name, default) for name, default in DEFAULTS.items() if name in env}


def read(env: Environment, name: str, default: Setting) -> Any:
    """As the type of the default."""
    match default:
        case bool():
            return env.bool(name)
        case int():
            return env.int(name, within=bounds_of(name))
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
