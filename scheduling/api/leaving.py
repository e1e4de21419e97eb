"""Owns how the web server tells the API that it was asked to stop, so that `/readyz` can tell whoever sends requests."""

from collections.abc import Mapping
from typing import Any

IS_LEAVING = "rentroll.is_leaving"
"""In the environment of a request. Another server than the one that comes along sets nothing there."""


def is_leaving(environ: Mapping[str, Any]) -> bool:
    return bool(environ.get(IS_LEAVING))
