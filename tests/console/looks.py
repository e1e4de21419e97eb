"""The looks that every page has to stand."""

import pytest

from tests.console.browser import DARK, LIGHT, PHONE

in_every_look = pytest.mark.parametrize("look", [LIGHT, DARK, PHONE], ids=str)
"""Both themes, and a phone."""
in_both_themes = pytest.mark.parametrize("look", [LIGHT, DARK], ids=str)
