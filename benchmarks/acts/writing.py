"""Small transactions, one after the other, as one of several processes."""

import time

from django.db import connection, transaction

from benchmarks.models import Entry
from benchmarks.prompter import cue

ROWS = 5
UNCOUNTED = 0.1
"""Of the time that counts, how much is added."""


def prepare() -> None:
    with connection.schema_editor() as editor:
        editor.create_model(Entry)


def commit(seconds: float, pause_seconds: float, *, gated: bool) -> list[float]:
    """Commit five rows at a time until the time is up; how long each one took, in milliseconds.

    Then go on for a while uncounted: processes that end need the cores, and the last transactions of the others
    would be measured beside that.
    """
    connection.ensure_connection()
    if not gated:
        connection.gate = None  # type: ignore[attr-defined]  # of the SQLite engine
    _write()
    cue()
    took_ms = []
    ends_at = time.monotonic() + seconds
    leaves_at = ends_at + seconds * UNCOUNTED
    while (begun := time.monotonic()) < leaves_at:
        _write()
        if begun < ends_at:
            took_ms.append((time.monotonic() - begun) * 1000)
        time.sleep(pause_seconds)
    return took_ms


def _write() -> None:
    rows = [Entry(name="writers", payload={"row": n}) for n in range(ROWS)]
    with transaction.atomic():
        Entry.objects.bulk_create(rows)
