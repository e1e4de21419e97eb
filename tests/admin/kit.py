"""A short way to bring about what the console's tests look at. Time is the wall clock's, counted back."""

import re
from datetime import datetime, timedelta
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID, uuid4

from scheduling import clock
from scheduling.ledger.values import Fail, Failure
from scheduling.models import OperatorAction, WorkerProcess
from tenants.models import Tenant
from tests.ledger import kit

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse

Page: TypeAlias = "_MonkeyPatchedWSGIResponse"
"""What a test's browser gets."""

TASKS = "/admin/scheduling/task/"
DEAD_LETTERS = "/admin/scheduling/deadletter/"
PAUSES = "/admin/scheduling/pause/"
RECURRING = "/admin/scheduling/recurringtask/"


def ago(**length: float) -> datetime:
    return clock.now() - timedelta(**length)


def page(task_id: UUID) -> str:
    return f"{TASKS}{task_id}/change/"


def put(tenant: Tenant, count: int = 1, **options: Any) -> list[UUID]:
    """Enqueue tasks, a minute ago unless told otherwise."""
    return kit.put(tenant, count, **{"now": ago(minutes=1), **options})


def bury(tenant: Tenant, count: int = 1, *, message: str = "no luck", **options: Any) -> list[UUID]:
    """Dead letters: permanent failures, a minute ago."""
    ids = put(tenant, count, **options)
    claims = kit.take(count, now=ago(seconds=50))
    failure = Failure("ValueError", message, f"Traceback of {message}")
    kit.say(claims, Fail(failure, None), now=ago(seconds=40))
    return ids


def worker(*, seen: datetime | None = None, slots: int = 4) -> WorkerProcess:
    return WorkerProcess.objects.create(
        id=uuid4(),
        host="node-1",
        pid=4711,
        slots=slots,
        started_at=ago(hours=1),
        seen_at=seen or clock.now(),
    )


def recorded() -> list[str]:
    """What the audit says was done, oldest first: the verb and what became of it."""
    actions = OperatorAction.objects.order_by("pk")
    return [" ".join(filter(None, told)) for told in actions.values_list("verb", "note")]


def text_of(response: Page) -> str:
    """What a reader sees of a page, with single spaces."""
    reader = _Reader()
    reader.feed(response.content.decode())
    return re.sub(r"\s+", " ", "".join(reader.seen))


class _Reader(HTMLParser):
    INLINE = frozenset({"a", "b", "code", "small", "span", "strong", "time", "wbr"})

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in self.INLINE:
            self.seen.append(" ")

    def handle_data(self, data: str) -> None:
        self.seen.append(data)
