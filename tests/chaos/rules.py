"""The checker: what must hold of a run, one rule each. A rule yields a sentence for every violation.

Rules on the ledger's own order of events are in `order`; those on what the outside saw are here. None asks a
wall clock, and none takes it for a violation that something took long.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

from scheduling.states import TERMINAL, UNCHARGED
from tests.chaos import order
from tests.chaos.records import (
    FOREVER,
    Answer,
    Effect,
    Event,
    Fault,
    Paused,
    Records,
    Sample,
    What,
)

ENQUEUES = frozenset({"enqueue", "again"})
HONEST = frozenset({0, 200, 201, 202, 404, 409, 429, 503})
"""Statuses that a request of this load may be answered with, whatever fails. 0: nobody answered."""
NOTHING_TO_DISCARD = 409
BILLED = "chaos.bill"
"""The name of the tasks that settle together with a row of their own."""
AFTERWARDS = 1.0
"""Seconds after a fault in which it may still be the reason for a lost lease; besides the lease itself."""


def violations(records: Records) -> list[str]:
    """Everything that is wrong, in words. Empty: every rule holds."""
    return [f"{rule.__name__}: {said}" for rule in RULES for said in rule(records)]


def accepted_tasks_are_there(records: Records) -> Iterator[str]:
    known = records.tasks.keys() | discarded(records)
    for answer in records.answers:
        if is_acceptance(answer) and answer.task not in known:
            yield f"{answer.task} was accepted with {answer.status}, and is not in the ledger"


def every_task_is_over(records: Records) -> Iterator[str]:
    """Also those whose acceptance nobody heard of."""
    for task_id, task in records.tasks.items():
        if task.state not in TERMINAL:
            yield f"{task_id} is {task.state} after everything was drained: {task}"


def a_key_stands_for_one_task(records: Records) -> Iterator[str]:
    """Until the task is discarded; then the key is free."""
    gone = discarded(records)
    tasks: dict[str, set[str]] = {}
    for answer in records.answers:
        if is_acceptance(answer) and answer.key and answer.task not in gone:
            tasks.setdefault(answer.key, set()).add(answer.task)
    for key, ids in tasks.items():
        if len(ids) > 1:
            yield f"key {key} was answered with {sorted(ids)}"


def answers_are_honest(records: Records) -> Iterator[str]:
    """No request of the load is wrong, so nothing else can be answered than yes, wait, or not now."""
    for answer in records.answers:
        if answer.status not in HONEST:
            yield f"{answer.what} was answered with {answer.status} {answer.said!r}"
        elif answer.said.endswith(" "):
            yield f"{answer.what} was answered with {answer.status} and no Retry-After"


def handlers_run_under_a_claim(records: Records) -> Iterator[str]:
    """Each start has a claim that was committed, and not after it."""
    claims = {entry.token: entry.seq for entry in records.log if entry.what is What.CLAIMED}
    for effect in starts(records):
        seq = claims.get(effect.token)
        if seq is None:
            yield f"{effect.token} was started, and never claimed"
        elif effect.at < committed_after(records, seq):
            yield f"{effect.token} was started before its claim was committed"


def a_claim_starts_once(records: Records) -> Iterator[str]:
    for token, count in Counter(effect.token for effect in starts(records)).items():
        if count > 1:
            yield f"{token} was started {count} times"


def a_success_is_a_handlers(records: Records) -> Iterator[str]:
    """Recorded once at most, and only if the handler of that very generation came to its end."""
    ends = {effect.token for effect in records.effects if effect.event is Event.END}
    succeeded = [token for token, outcome in records.attempts.items() if outcome == "succeeded"]
    for token in succeeded:
        if token not in ends:
            yield f"{token} is recorded as succeeded, and its handler did not get to its end"
    successes = Counter(token.task for token in succeeded)
    for task_id, task in records.tasks.items():
        if successes[task_id] != (task.state == "succeeded"):
            yield f"{task_id} is {task.state} with {successes[task_id]} successes"


def bills_are_those_of_successes(records: Records) -> Iterator[str]:
    """What is written in the transaction of a settlement is there exactly if that was committed, and once."""
    written = Counter(records.bills)
    due = {
        token
        for token, outcome in records.attempts.items()
        if outcome == "succeeded" and is_billed(records, token.task)
    }
    for token in due | written.keys():
        if written[token] != (token in due):
            outcome = records.attempts.get(token, "not settled")
            yield f"{token} is {outcome} and has {written[token]} bills"


def allowances_are_kept(records: Records) -> Iterator[str]:
    """Between two redrives a task is charged with no more attempts than it has."""
    charged: Counter[str] = Counter()
    for entry in records.log:
        if entry.what is What.SETTLED and entry.said not in UNCHARGED:
            charged[entry.task] += 1
            task = records.tasks.get(entry.task)
            if task and charged[entry.task] > task.max_attempts:
                yield f"{entry.token} is charged as attempt {charged[entry.task]}: {task}"
        elif entry.what is What.STATE and entry.said == "dead queued":
            charged[entry.task] = 0


def cancelled_means_cancelled(records: Records) -> Iterator[str]:
    """Cancelled while it waited: it is. Asked to stop while it ran: it ended with that run."""
    for answer in records.answers:
        if answer.what != "cancel" or answer.status not in (200, 202):
            continue
        task = records.tasks.get(answer.task)
        may_be = {"cancelled"} if answer.said == "cancelled" else {"cancelled", "succeeded"}
        if task and task.state not in may_be:
            yield f"{answer.task} was asked to be cancelled, was {answer.said}, and is {task.state}"


def nothing_starts_while_it_is_paused(records: Records) -> Iterator[str]:
    """From the answer to the pause on, until somebody asks to resume.

    What was claimed before the pause may start a moment later, or after its process was stopped for a
    while; whether it was claimed before, the ledger's own order tells.
    """
    claims = {entry.token: entry.seq for entry in records.log if entry.what is What.CLAIMED}
    for pause in records.pauses:
        seq = place_of(records, pause)
        if seq is None:
            yield f"{pause.token} was answered as paused, and the ledger has no such pause"
            continue
        for effect in starts(records):
            is_inside = pause.received_at < effect.at < pause.resumed_at
            is_after = claims.get(effect.token, seq) >= seq
            if is_inside and is_after and covers(records, pause, effect):
                yield f"{effect.token} was claimed and started under {pause}"


def no_lease_is_taken_from_the_living(records: Records) -> Iterator[str]:
    """A lease is lost only if its process was struck, or nobody could renew: stepped clocks are no reason."""
    holders = {effect.token: effect for effect in starts(records)}
    for entry in records.log:
        if entry.what is What.SETTLED and entry.said == "lost" and entry.token in holders:
            start = holders[entry.token]
            lost_at = committed_before(records, entry.seq)
            if not is_excused(records, start, lost_at):
                yield f"{entry.token} was taken from process {start.pid}, which nothing had befallen"


RULES: tuple[order.Rule, ...] = (
    accepted_tasks_are_there,
    every_task_is_over,
    a_key_stands_for_one_task,
    answers_are_honest,
    handlers_run_under_a_claim,
    a_claim_starts_once,
    a_success_is_a_handlers,
    bills_are_those_of_successes,
    allowances_are_kept,
    cancelled_means_cancelled,
    nothing_starts_while_it_is_paused,
    no_lease_is_taken_from_the_living,
    *order.RULES,
)


# What rules ask


def is_acceptance(answer: Answer) -> bool:
    return answer.what in ENQUEUES and answer.status in (200, 201)


def discarded(records: Records) -> set[str]:
    """Tasks that the load threw away, or wanted to and was not told how it went."""
    asked = (answer for answer in records.answers if answer.what == "discard")
    return {answer.task for answer in asked if answer.status != NOTHING_TO_DISCARD}


def is_billed(records: Records, task_id: str) -> bool:
    task = records.tasks.get(task_id)
    return task is not None and task.name == BILLED


def starts(records: Records) -> list[Effect]:
    return [effect for effect in records.effects if effect.event is Event.START]


def committed_after(records: Records, seq: int) -> float:
    """An instant at which that row of the log was certainly not committed yet."""
    place = bisect_left(records.samples, seq, key=last_row)
    return records.samples[place - 1].asked_at if place else 0.0


def committed_before(records: Records, seq: int) -> float:
    """An instant at which it certainly was."""
    place = bisect_left(records.samples, seq, key=last_row)
    return records.samples[place].answered_at if place < len(records.samples) else FOREVER


def last_row(sample: Sample) -> int:
    return sample.last


def place_of(records: Records, pause: Paused) -> int | None:
    rows = (entry for entry in records.log if entry.what is What.PAUSED)
    return next((entry.seq for entry in rows if entry.said.split("\n")[2] == pause.token), None)


def covers(records: Records, pause: Paused, effect: Effect) -> bool:
    task = records.tasks.get(effect.task)
    return task is not None and pause.covers(task, effect.tenant)


def is_excused(records: Records, start: Effect, lost_at: float) -> bool:
    """Whether anything happened that renewals do not survive, since the handler started."""
    if start.pid in records.zombies:
        return True
    struck = any(
        (start.pid in fault.pids or fault.is_general)
        and overlaps(fault, start.at - records.lease, lost_at)
        for fault in records.faults
    )
    stalled = any(
        stall.began_at < lost_at and stall.ended_at + AFTERWARDS + records.lease > start.at
        for stall in records.stalls
    )
    return struck or stalled


def overlaps(fault: Fault, began_at: float, ended_at: float) -> bool:
    return fault.began_at < ended_at and fault.ended_at + AFTERWARDS > began_at
