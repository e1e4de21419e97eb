"""Rules on the ledger's own order of events. `witness` says why that order is sound.

On PostgreSQL the changes of one transaction come together, so they are taken in the order in which they are
meant: a lease ends, its attempt is written, the state follows; a task runs, and is leased.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from scheduling.states import TERMINAL
from tests.chaos.records import Entry, Records, TaskRow, Token, What

Rule = Callable[[Records], Iterator[str]]

IN_ORDER = list(What)
MOVES = frozenset(
    {
        "queued running", "queued cancelled", "queued dead",
        "running queued", "running succeeded", "running dead", "running cancelled",
        "dead queued",
    }
)  # fmt: skip


@dataclass
class Life:
    """A task so far."""

    lease: int = 0
    """The generation that is in flight; 0: none."""
    ended: int = 0
    """The latest generation that is not any more."""
    settled: set[int] = field(default_factory=set)
    state: str = "queued"


def lives_are_told_in_order(records: Records) -> Iterator[str]:
    """Claims and ends alternate, generations only grow, each ends in one attempt of its own, and over is over."""
    lives: dict[str, Life] = {}
    for entry in in_order(records):
        if entry.task:
            wrong = live(lives.setdefault(entry.task, Life()), entry)
            if wrong:
                yield f"{entry.token}: {wrong} (row {entry.seq} of the log)"
    for task_id, life in lives.items():
        if life.lease:
            yield f"{Token(task_id, life.lease)}: leased to the end"
        elif life.ended and life.ended not in life.settled:
            yield f"{Token(task_id, life.ended)}: its lease went, and no attempt was written"


def live(life: Life, entry: Entry) -> str:
    """Go one step on; what is wrong with it, if anything."""
    generation = entry.generation
    match entry.what:
        case What.CLAIMED:
            wrong = wrong_claim(life, generation)
            life.lease = generation
            return wrong
        case What.ENDED:
            wrong = "" if life.lease == generation else f"ended while {life.lease} was in flight"
            life.lease, life.ended = 0, max(life.ended, generation)
            return wrong
        case What.SETTLED:
            wrong = wrong_settlement(life, generation)
            life.settled.add(generation)
            return wrong and f"{entry.said} was recorded {wrong}"
        case What.STATE:
            wrong = wrong_move(life, entry.said)
            life.state = entry.said.split()[1]
            return wrong
        case _:
            return ""


def wrong_claim(life: Life, generation: int) -> str:
    if life.lease:
        return f"claimed while {life.lease} was in flight"
    if generation <= life.ended:
        return f"claimed after {life.ended}"
    if life.ended and life.ended not in life.settled:
        return f"claimed, and {life.ended} had ended in no attempt"
    if life.state in TERMINAL:
        return f"claimed, and was {life.state}"
    return ""


def wrong_settlement(life: Life, generation: int) -> str:
    if generation in life.settled:
        return "though it was settled"
    if life.lease >= generation:
        return "while it was in flight"
    if life.ended != generation or life.lease:
        return f"and {life.lease or life.ended} was the current generation"
    return ""


def wrong_move(life: Life, said: str) -> str:
    before, after = said.split()
    if before != life.state:
        return f"went from {before}, and was {life.state}"
    return "" if said in MOVES else f"went from {before} to {after}"


def caps_are_kept(records: Records) -> Iterator[str]:
    """At no commit has a tenant more leases than it may. Those of one transaction count together."""
    in_flight: Counter[int] = Counter()
    over: set[int] = set()
    for seq, entries in groupby(records.log, key=lambda entry: entry.group):
        for entry in entries:
            if entry.what in (What.CLAIMED, What.ENDED) and entry.tenant_id is not None:
                in_flight[entry.tenant_id] += 1 if entry.what is What.CLAIMED else -1
        for tenant_id, tenant in records.tenants.items():
            count = in_flight[tenant_id]
            if tenant.cap is None or count <= tenant.cap:
                over.discard(tenant_id)
            elif tenant_id not in over:
                over.add(tenant_id)
                yield f"{tenant.slug}: {count} in flight, may have {tenant.cap} (at {seq} of the log)"


def nothing_is_claimed_while_it_is_paused(records: Records) -> Iterator[str]:
    """By the order of the commits alone, whoever was answered what."""
    standing: set[tuple[int | None, str, str]] = set()
    for entry in in_order(records):
        if entry.what in (What.PAUSED, What.LIFTED):
            queue, name, _ = entry.said.split("\n")
            scope = (entry.tenant_id, queue, name)
            (standing.add if entry.what is What.PAUSED else standing.discard)(scope)
        elif entry.what is What.CLAIMED and (task := records.tasks.get(entry.task)):
            for scope in standing:
                if falls_under(task, scope):
                    yield f"{entry.token} was claimed under a pause of {scope} (row {entry.seq})"


def falls_under(task: TaskRow, scope: tuple[int | None, str, str]) -> bool:
    tenant_id, queue, name = scope
    return (
        tenant_id in (None, task.tenant_id)
        and queue in ("", task.queue)
        and name in ("", task.name)
    )


def attempts_are_what_was_settled(records: Records) -> Iterator[str]:
    """The table of attempts, against the log of how it came about. Discarded tasks are in the log only."""
    settled = {
        entry.token: entry.said
        for entry in records.log
        if entry.what is What.SETTLED and entry.task in records.tasks
    }
    for token in settled.keys() ^ records.attempts.keys():
        yield f"{token} is in one of log and attempts only"
    for token in settled.keys() & records.attempts.keys():
        if settled[token] != records.attempts[token]:
            yield f"{token} was settled as {settled[token]}, and is {records.attempts[token]}"


RULES: tuple[Rule, ...] = (
    lives_are_told_in_order,
    caps_are_kept,
    nothing_is_claimed_while_it_is_paused,
    attempts_are_what_was_settled,
)


def in_order(records: Records) -> Iterator[Entry]:
    for _, entries in groupby(records.log, key=lambda entry: entry.group):
        yield from sorted(entries, key=lambda entry: (IN_ORDER.index(entry.what), entry.seq))
