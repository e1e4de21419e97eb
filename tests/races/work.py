"""What crowds do, in threads and in other processes: a module that both can import."""

from collections import Counter
from uuid import UUID

from django.db import transaction

from scheduling.models import Lease, Schedule
from tests.races.kit import say, take


def drain() -> list[UUID]:
    """Claim and settle until nothing waits; the tasks in the order in which they were run."""
    done: list[UUID] = []
    while True:
        claims = take(64)
        say(claims)
        done += [claim.task_id for claim in claims]
        if not claims and not Schedule.objects.exists():
            return done


def drain_and_count(*slugs: str) -> list[Counter[str]]:
    """Claim and settle until nothing of those tenants waits; what was in flight after each claim."""
    records = []
    while Schedule.objects.filter(task__tenant__slug__in=slugs).exists():
        with transaction.atomic():
            claims = take(8)  # no other claim gets its turn before this one has committed
            records.append(Counter(Lease.objects.values_list("tenant__slug", flat=True)))
        say(claims)
    return records
