"""An operation on all dead letters that match: many rows, a bounded step of them in each request.

What is still to do is what still matches, because redriving and discarding take a task out of the dead
letters; so a sweep that was interrupted can simply be started again. Its progress travels signed through
the page, and one audit entry tells how far it got.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import assert_never

from django.contrib.auth.models import User
from django.core import signing
from django.core.exceptions import BadRequest
from django.db import transaction
from django.db.models import Count, QuerySet

from scheduling import ledger
from scheduling.admin import audit
from scheduling.admin.operations import Operation, over
from scheduling.admin.words import counted
from scheduling.models import OperatorAction, Task

STEP = 1000
MOST_COUNTED = 10_000
GROUPS_SHOWN = 10
SALT = "rentroll.sweep"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a sweep has got."""

    operation: Operation
    until: str
    """Only what was dead at this instant (ISO 8601), when it was confirmed."""
    entry: int
    """The audit entry."""
    done: int = 0
    full: dict[int, str] = field(default_factory=dict)
    """Tenants (by id) that have no room for more, and why."""
    left: tuple[str, ...] = ()
    """Once it has finished: how many are left, and why."""
    finished: bool = False

    def signed(self) -> str:
        return signing.dumps(asdict(self), salt=SALT)

    @classmethod
    def read(cls, text: str) -> "Progress":
        """Raises BadRequest for what no page of ours sent."""
        try:
            fields = signing.loads(text, salt=SALT)
        except signing.BadSignature as error:
            raise BadRequest("This is not the progress of a sweep.") from error
        full = {int(key): why for key, why in fields["full"].items()}  # JSON knows text keys only
        return cls(**fields | {"operation": Operation(fields["operation"]), "full": full})


@dataclass(frozen=True, slots=True)
class Matching:
    """How many rows match, counted no further than is cheap."""

    count: int

    @property
    def is_exact(self) -> bool:
        return self.count <= MOST_COUNTED

    @property
    def verb(self) -> str:
        return "matches" if self.count == 1 else "match"

    def __str__(self) -> str:
        if self.is_exact:
            return counted(self.count, "dead letter")
        return f"more than {counted(MOST_COUNTED, 'dead letter')}"


def matching(letters: QuerySet[Task]) -> Matching:
    return Matching(letters.order_by()[: MOST_COUNTED + 1].count())


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    reason: str
    count: int


def groups(letters: QuerySet[Task]) -> list[Group]:
    """What matches by name and reason, the most frequent first; of very many, a sample."""
    sample = letters.order_by().values("pk")[:MOST_COUNTED]
    grouped = Task.objects.filter(pk__in=sample).order_by().values_list("name", "dead_reason")
    counts = grouped.annotate(count=Count("pk")).order_by("-count")[:GROUPS_SHOWN]
    return [Group(name, str(reason).replace("_", " "), count) for name, reason, count in counts]


def begin(operation: Operation, which: str, by: User, now: datetime) -> Progress:
    """From here on it is on record. `which` says in words what matches."""
    entry = audit.record(by, operation, which, note="Begun.")
    return Progress(operation, now.isoformat(), entry.pk)


def step(progress: Progress, letters: QuerySet[Task]) -> Progress:
    """The next few. One transaction, with its part of the audit entry."""
    standing = letters.filter(finished_at__lte=datetime.fromisoformat(progress.until)).order_by()
    left = standing.exclude(tenant__in=progress.full).order_by("tenant", "pk")
    batch = list(left.select_related("tenant").only("pk", "tenant__slug")[:STEP])
    with transaction.atomic():
        done, full = _perform(progress.operation, batch)
        tenants = {task.tenant_id: task.tenant for task in batch}
        after = replace(
            progress,
            done=progress.done + done,
            full=progress.full | {key: over(tenants[key], full[key]) for key in full},
            finished=len(batch) < STEP or not (done or full),
        )
        if after.finished:
            after = replace(after, left=_left(standing, after.full))
        OperatorAction.objects.filter(pk=progress.entry).update(done=after.done, note=told(after))
    return after


def _left(standing: QuerySet[Task], full: Mapping[int, str]) -> tuple[str, ...]:
    counts = {why: matching(standing.filter(tenant=key)) for key, why in full.items()}
    return tuple(f"{left} left: {why}." for why, left in counts.items() if left.count)


def told(progress: Progress) -> str:
    """What was done, and what was not."""
    done = f"{counted(progress.done, 'dead letter')} {progress.operation.past}."
    return " ".join((done, *progress.left))


def _perform(operation: Operation, batch: Sequence[Task]) -> tuple[int, dict[int, ledger.Full]]:
    full: dict[int, ledger.Full] = {}
    match operation:
        case Operation.REDRIVE:
            return len(ledger.redrive_what_fits(batch, full)), full
        case Operation.DISCARD:
            return ledger.discard([task.pk for task in batch]), full
        case Operation.CANCEL:
            raise BadRequest("Dead letters cannot be cancelled.")
        case _:
            assert_never(operation)
