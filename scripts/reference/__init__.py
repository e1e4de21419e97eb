"""Owns the pages of docs/reference that are made from the code: what stands there is said beside what it is about.

`make reference` writes them anew, and a test fails while one of them is not what it would write.
"""

from collections.abc import Callable, Mapping

from scripts.reference import commands, python, settings
from scripts.reference.source import ROOT

FOLDER = ROOT / "docs" / "reference"
PAGES: Mapping[str, Callable[[], str]] = {
    "settings.md": settings.page,
    "commands.md": commands.page,
    "python.md": python.page,
}
