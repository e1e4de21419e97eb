"""Dead letters as a file, for a spreadsheet or a program: the newest that match, and nothing that is run on opening.

Payloads stay here; their ids lead to them.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponseBase, StreamingHttpResponse

from scheduling import audit, clock
from scheduling.admin.audit import operator
from scheduling.lists.letters import Found
from scheduling.models import Task

if TYPE_CHECKING:
    from scheduling.admin.deadletters import DeadLetterAdmin

MOST = 50_000
CHUNK = 1000
COLUMNS = (
    "id",
    "tenant",
    "name",
    "queue",
    "reason",
    "error_class",
    "error_message",
    "attempts",
    "max_attempts",
    "generation",
    "created_at",
    "died_at",
    "idempotency_key",
    "label",
)
FORMULAS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a cell begins with that a spreadsheet takes for a formula; the last four are full-width."""
CONTROLS = ("\t", "\r", "\n")

Row = dict[str, Any]


def view(request: HttpRequest, kind: str, letters: "DeadLetterAdmin") -> HttpResponseBase:
    """`export.csv` or `export.json`, of what the filters in the address match."""
    if kind not in KINDS:
        raise Http404("Dead letters are exported as csv or json.")
    if not letters.has_view_permission(request):
        raise PermissionDenied
    changelist = letters.matching(request)
    audit.record(operator(request), "export", changelist.which, note=f"As {kind}, up to {MOST:,}.")
    content_type, written = KINDS[kind]
    response = StreamingHttpResponse(
        written(map(row, islice(newest_first(changelist.found), MOST))), content_type=content_type
    )
    name = f"dead-letters-{clock.now():%Y%m%d-%H%M%S}.{kind}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def newest_first(found: Found) -> Iterator[Task]:
    """In many short reads, each of its own: a long one would keep the write-ahead log from shrinking."""
    after: UUID | None = None
    while True:
        walked = list(_walk(found.among, after))
        letters = found.letters.filter(pk__among=walked).select_related("tenant").order_by("-pk")
        yield from letters
        if len(walked) < CHUNK:
            return
        after = walked[-1]


def _walk(among: QuerySet[Task], after: UUID | None) -> QuerySet[Task, UUID]:
    if after:
        among = among.filter(pk__lt=after)
    return among.order_by("-pk").values_list("pk", flat=True)[:CHUNK]


def row(task: Task) -> Row:
    error = task.error if isinstance(task.error, dict) else {}
    values = (
        str(task.pk),
        task.tenant.slug,
        task.name,
        task.queue,
        task.dead_reason,
        error.get("class", ""),
        error.get("message", ""),
        task.attempts,
        task.max_attempts,
        task.generation,
        task.created_at.isoformat(),
        task.finished_at.isoformat() if task.finished_at else None,
        task.idempotency_key,
        task.label,
    )
    return dict(zip(COLUMNS, values, strict=True))


def written_as_csv(rows: Iterable[Row]) -> Iterator[str]:
    yield from _lines([COLUMNS])
    for each in rows:
        yield from _lines([[neutral(value) for value in each.values()]])


def _lines(rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    line = io.StringIO()
    csv.writer(line).writerows(rows)
    yield line.getvalue()


def neutral(value: Any) -> Any:
    """Text that a spreadsheet would run is text all the same, behind an apostrophe."""
    if isinstance(value, str) and (
        value.startswith(CONTROLS) or value.lstrip().startswith(FORMULAS)
    ):
        return f"'{value}"
    return value


def written_as_json(rows: Iterable[Row]) -> Iterator[str]:
    """A list, an object to a line. Markup is escaped, should somebody open it as a page."""
    separator = "[\n"
    for each in rows:
        text = json.dumps(each, ensure_ascii=False)
        for mark in "<>&":
            text = text.replace(mark, f"\\u{ord(mark):04x}")
        yield f"{separator}{text}"
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


KINDS = {
    "csv": ("text/csv; charset=utf-8", written_as_csv),
    "json": ("application/json", written_as_json),
}
