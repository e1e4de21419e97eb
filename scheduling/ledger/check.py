"""Recounting every invariant of the ledger from its tables.

A violation is a sentence. Each check reads committed rows only; run it when nothing is written, or read what it
finds as "at some instant": the counts of a busy ledger move between two statements.
"""

from collections.abc import Callable, Iterator

from django.db.models import Count, Exists, F, OuterRef, Q

from scheduling.ledger.recurring import invariants as of_recurring_tasks
from scheduling.ledger.violations import SHOWN, Check, each
from scheduling.models import Attempt, Intake, Lane, Lease, Outflow, Pause, Schedule, Task
from scheduling.states import TERMINAL, UNCHARGED, UNFINISHED, Readiness, TaskState
from tenants.models import Tenant

CHECKS: list[Check] = [*of_recurring_tasks.CHECKS]


def violations(tell: Callable[[str], None] = lambda what: None) -> list[str]:
    """Everything that is wrong, in words. Empty: every invariant holds. `tell` hears what is recounted next."""
    found: list[str] = []
    for number, check in enumerate(CHECKS, start=1):
        tell(f"{number} of {len(CHECKS)}: {check.__name__.replace('_', ' ')}")
        found += check()
    return found


def check(function: Check) -> Check:
    CHECKS.append(function)
    return function


@check
def a_task_waits_exactly_while_it_is_queued() -> Iterator[str]:
    scheduled = Exists(Schedule.objects.filter(task=OuterRef("pk")))
    queued = Task.objects.filter(state=TaskState.QUEUED)
    yield from each(queued.filter(~scheduled), "queued, and has no schedule")
    others = Task.objects.exclude(state=TaskState.QUEUED)
    yield from each(others.filter(scheduled), "has a schedule, and is not queued")


@check
def a_task_is_leased_exactly_while_it_runs() -> Iterator[str]:
    leased = Exists(Lease.objects.filter(task=OuterRef("pk")))
    running = Task.objects.filter(state=TaskState.RUNNING)
    yield from each(running.filter(~leased), "running, and has no lease")
    yield from each(
        Task.objects.exclude(state=TaskState.RUNNING).filter(leased),
        "has a lease, and does not run",
    )


@check
def a_task_is_finished_exactly_when_it_is_over() -> Iterator[str]:
    unfinished = Q(finished_at=None)
    yield from each(
        Task.objects.filter(unfinished, state__in=list(TERMINAL)), "over, and has no end"
    )
    yield from each(
        Task.objects.exclude(state__in=list(TERMINAL)).filter(~unfinished),
        "has an end, and goes on",
    )


@check
def every_row_belongs_to_a_task_and_a_lane() -> Iterator[str]:
    for model in (Schedule, Lease):
        yield from each(
            model.objects.filter(~Exists(Task.objects.filter(pk=OuterRef("task_id")))),
            f"a {model._meta.verbose_name} without a task",
        )
        yield from each(
            model.objects.filter(
                ~Exists(
                    Lane.objects.filter(
                        pk=OuterRef("lane_id"),
                        tenant=OuterRef("task__tenant"),
                        queue=OuterRef("task__queue"),
                    )
                )
            ),
            f"a {model._meta.verbose_name} in a lane that is not its task's",
        )


@check
def generations_increase_and_end_once() -> Iterator[str]:
    yield from each(
        Lease.objects.exclude(generation=F("task__generation")), "leased under an old generation"
    )
    ahead = Attempt.objects.filter(generation__gt=F("task__generation"))
    yield from each(ahead, "an attempt of a generation that was never claimed")
    ended = Exists(
        Attempt.objects.filter(task=OuterRef("task_id"), generation=OuterRef("generation"))
    )
    yield from each(Lease.objects.filter(ended), "leased under a generation that has ended")


@check
def every_generation_is_accounted_for() -> Iterator[str]:
    """Each claim ended in one attempt, or is in flight."""
    tasks = Task.objects.annotate(ends=Count("history", distinct=True))
    running = Q(state=TaskState.RUNNING)
    yield from each(
        tasks.filter(
            (running & ~Q(generation=F("ends") + 1)) | (~running & ~Q(generation=F("ends")))
        ),
        "has claims that ended in no attempt",
    )


@check
def attempts_are_charged_once_and_within_the_allowance() -> Iterator[str]:
    charged = Count(
        "history",
        filter=~Q(history__outcome__in=list(UNCHARGED))
        & (Q(redriven_from=None) | Q(history__generation__gt=F("redriven_from"))),
        distinct=True,
    )
    tasks = Task.objects.annotate(charged=charged)
    yield from each(tasks.exclude(attempts=F("charged")), "charged with another number of attempts")
    yield from each(tasks.filter(attempts__gt=F("max_attempts")), "charged past its allowance")


@check
def one_success_at_most() -> Iterator[str]:
    succeeded = Count("history", filter=Q(history__outcome="succeeded"), distinct=True)
    yield from each(Task.objects.annotate(wins=succeeded).filter(wins__gt=1), "succeeded twice")


@check
def no_tenant_is_over_its_cap() -> Iterator[str]:
    tenants = Tenant.objects.annotate(in_flight=Count("leases"))
    for tenant in tenants.filter(in_flight__gt=F("max_in_flight"))[:SHOWN]:
        yield f"{tenant}: {tenant.in_flight} in flight, max_in_flight is {tenant.max_in_flight}"


@check
def counters_equal_recounts() -> Iterator[str]:
    unfinished = dict(
        Task.objects.filter(state__in=UNFINISHED).values_list("tenant").annotate(Count("pk"))
    )
    accepted = dict(Intake.objects.values_list("tenant", "accepted"))
    finished = dict(Outflow.objects.values_list("tenant", "finished"))
    for tenant_id in sorted({*unfinished, *accepted, *finished}):
        counted = accepted.get(tenant_id, 0) - finished.get(tenant_id, 0)
        if counted != unfinished.get(tenant_id, 0):
            yield (
                f"tenant {tenant_id}: {counted} unfinished by its counters, "
                f"{unfinished.get(tenant_id, 0)} by its tasks"
            )


@check
def ready_work_is_in_a_lane_that_dispatch_sees() -> Iterator[str]:
    ready = Exists(Schedule.objects.filter(lane=OuterRef("pk"), readiness=Readiness.READY))
    yield from each(
        Lane.objects.filter(ready, readiness=Readiness.NOT_DUE), "has ready work, and is not ready"
    )


@check
def what_is_held_is_held_by_a_pause() -> Iterator[str]:
    """In force, or over and not cleared yet. A pause that went has left behind what it held, for ever."""
    over_lane = Pause.objects.filter(_covers("tenant") & _covers("queue"), name="")
    yield from each(
        Lane.objects.filter(~Exists(over_lane), readiness=Readiness.HELD),
        "held, and no pause is there that holds it",
    )
    over_task = Pause.objects.filter(
        _covers("tenant", "lane__tenant") & _covers("queue", "lane__queue"),
        name=OuterRef("task__name"),
    )
    yield from each(
        Schedule.objects.filter(~Exists(over_task), readiness=Readiness.HELD),
        "held, and no pause is there that holds it",
    )


def _covers(part: str, of: str = "") -> Q:
    """Whether that part of a pause is the one looked for, or empty: all of them."""
    empty = Q(**{f"{part}__isnull": True}) if part == "tenant" else Q(**{part: ""})
    return empty | Q(**{part: OuterRef(of or part)})
