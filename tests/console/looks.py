"""The looks that every page has to stand. Where the ledger is kept is not to be seen: on SQLite they all are looked at."""

import pytest
from django.db import connection

from tests.console.browser import DARK, LIGHT, PHONE, Look


def in_looks(*looks: Look) -> pytest.MarkDecorator:
    wanted = looks if connection.vendor == "sqlite" else looks[:1]
    return pytest.mark.parametrize("look", wanted, ids=str)


in_every_look = in_looks(LIGHT, DARK, PHONE)
"""Both themes, and a phone."""
in_both_themes = in_looks(LIGHT, DARK)
