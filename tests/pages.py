"""What pages of the documentation show, taken from where it is written."""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def shown_in(page: str, **names: Any) -> dict[str, Any]:
    """Everything that the snippets of a page declare, given what its reader has already."""
    names["__name__"] = f"readers.{Path(page).stem}"
    for snippet in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL):
        exec(snippet, names)  # noqa: S102  # our own page
    return names
