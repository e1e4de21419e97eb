"""What there is among the dead letters that match: how many, of what, and why some are left.

Never more than a bounded part is read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Count, Max, QuerySet

from scheduling.counts import counted
from scheduling.errors import Overloaded
from scheduling.ledger import Full
from scheduling.models import Task
from scheduling.models.written import ErrorClass
from tenants.models import Tenant

MOST_COUNTED = 10_000
"""Dead letters, the newest, that are looked at."""
GROUPS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Matching:
    """How many match, among the newest."""

    count: int
    is_exact: bool

    @property
    def verb(self) -> str:
        return "matches" if self.count == 1 else "match"

    def __str__(self) -> str:
        said = counted(self.count, "dead letter")
        return said if self.is_exact else f"{said} of the newest {MOST_COUNTED:,}"


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    error: str
    reason: str
    tenant: str
    count: int
    latest: datetime

    @property
    def query(self) -> str:
        """Asks for those of this group."""
        parts = {"name": self.name, "error": self.error, "tenant": self.tenant}
        if not self.error:
            parts["reason"] = self.reason
        return urlencode({key: value for key, value in parts.items() if value})

    @property
    def because(self) -> str:
        return self.error or self.reason.replace("_", " ")


@dataclass(frozen=True)  # without slots, to keep where the newest begin
class Found:
    """The dead letters that match, and among which an index leads to them."""

    letters: QuerySet[Task]
    among: QuerySet[Task]

    def matching(self) -> Matching:
        return Matching(self._newest.order_by().count(), is_exact=self._floor is None)

    def groups(self) -> list[Group]:
        """By name, error and tenant, the most frequent first."""
        rows = self._newest.order_by().annotate(error_class=ErrorClass("error"))
        grouped = rows.values_list("name", "error_class", "dead_reason", "tenant__slug")
        counts = grouped.annotate(count=Count("pk"), latest=Max("finished_at"))
        return [
            Group(name, error or "", str(reason), tenant, count, latest)
            for name, error, reason, tenant, count, latest in counts.order_by("-count", "-latest")[
                :GROUPS_SHOWN
            ]
        ]

    def sample(self, count: int) -> Sequence[Task]:
        """The newest few."""
        return list(self._newest.select_related("tenant").order_by("-pk")[:count])

    @property
    def _newest(self) -> QuerySet[Task]:
        """A range of an index: so many ids, or a subquery of them, may tempt a planner to read the table."""
        return self.letters if self._floor is None else self.letters.filter(pk__gt=self._floor)

    @cached_property
    def _floor(self) -> UUID | None:
        """The newest that is not looked at any more. None: all are."""
        ids = self.among.select_related(None).order_by("-pk").values_list("pk", flat=True)
        return next(iter(ids[MOST_COUNTED : MOST_COUNTED + 1]), None)


def over(tenant: Tenant, limit: Full) -> str:
    """Why its dead letters are left as they are."""
    if isinstance(limit, Overloaded):
        return f"nobody's work is taken now. {limit}".rstrip(".")
    return f"{tenant.slug} is over its {limit.limit} of {limit.allowed:,}"
