"""Dead letters that no attempt made: the deadline passed while they waited, or their rows are broken."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from scheduling.ledger.dialects import Dialect, Tally
from scheduling.ledger.minutes import minute_of
from scheduling.models import Schedule, Task
from scheduling.states import DeadReason, TaskState


def bury(db: Dialect, task_ids: Sequence[UUID], now: datetime) -> None:
    """Make waiting tasks that could not be started dead letters, but those that somebody else has got to."""
    schedules = Schedule.objects.filter(pk__among=task_ids)
    waiting = list(schedules.select_for_update(skip_locked=True).values_list("pk", flat=True))
    tasks = Task.objects.filter(pk__among=waiting)
    counts = Counter(tasks.values_list("tenant_id", flat=True))
    late = tasks.filter(deadline__lte=now)
    late.update(state=TaskState.DEAD, dead_reason=DeadReason.DEADLINE_PASSED, finished_at=now)
    broken = tasks.filter(state=TaskState.QUEUED)
    broken.update(state=TaskState.DEAD, dead_reason=DeadReason.UNREADABLE, finished_at=now)
    Schedule.objects.filter(pk__among=waiting).delete()
    db.add_finished(counts)
    db.add_throughput(
        {tenant_id: Tally(dead=count) for tenant_id, count in counts.items()}, minute_of(now)
    )
