"""The figures of a run, as a small table."""

from collections import Counter
from collections.abc import Iterator, Sequence

from tests.chaos.records import Event, Records, Token
from tests.chaos.rules import ENQUEUES, starts


def table(records: Records) -> str:
    return "\n".join(f"  {name:<48} {figure:>12}" for name, figure in figures(records))


def figures(records: Records) -> Iterator[tuple[str, str]]:
    for kind, count in sorted(Counter(fault.kind for fault in records.faults).items()):
        yield f"fault: {kind}", f"{count:,}"
    outcomes = Counter(records.attempts.values())
    known = {answer.task for answer in records.answers if answer.what in ENQUEUES and answer.task}
    yield "tasks accepted, as callers know", f"{len(known):,}"
    yield "tasks in the ledger", f"{len(records.tasks):,}"
    for state, count in sorted(Counter(task.state for task in records.tasks.values()).items()):
        yield f"  {state}", f"{count:,}"
    yield "attempts started", f"{len(starts(records)):,}"
    yield "attempts that ended well", f"{outcomes['succeeded']:,}"
    yield "bills, each committed with a success", f"{len(records.bills):,}"
    yield "leases lost", f"{outcomes['lost']:,}"
    yield "  charged though no handler had started", f"{len(never_started(records)):,}"
    yield "claims released", f"{outcomes['released']:,}"
    yield "refused as stale", f"{records.refusals:,}"
    yield "pauses answered", f"{len(records.pauses):,}"
    yield "stalls of the machine, which excuse a lost lease", f"{len(records.stalls):,}"
    for kind, seconds in sorted(recoveries(records).items()):
        yield f"recoveries: {kind}", f"{len(seconds):,}"
        yield (
            "  until started again, p50 / p99 (s)",
            (f"{percentile(seconds, 0.5):.2f} / {percentile(seconds, 0.99):.2f}"),
        )
    statuses = Counter((answer.what, answer.status) for answer in records.answers)
    for (what, status), count in sorted(statuses.items()):
        yield f"requests: {what}, {status or 'no answer'}", f"{count:,}"


def never_started(records: Records) -> set[Token]:
    """Supervisor and processes that die together leave nobody who knows which claims were started."""
    lost = {token for token, outcome in records.attempts.items() if outcome == "lost"}
    return lost - {effect.token for effect in starts(records)}


def recoveries(records: Records) -> dict[str, list[float]]:
    """By kind of kill: seconds from the end of a process that ran a task to the next start of that task.

    In ascending order. Caps, pauses, other faults and backoffs are part of them, and stepped clocks draw
    some out to the end of the run.
    """
    found: dict[str, list[float]] = {}
    overs = {effect.token for effect in records.effects if effect.event is not Event.START}
    begun = starts(records)
    for fault in records.faults:
        running = [one for one in begun if one.at < fault.began_at and one.token not in overs]
        for victim in running:
            if fault.killed and victim.pid in fault.pids:
                again = [one.at for one in begun if one.task == victim.task]
                later = [at - fault.began_at for at in again if at > fault.began_at]
                found.setdefault(fault.kind, []).extend(later[:1])
    return {kind: sorted(seconds) for kind, seconds in found.items() if seconds}


def percentile(ordered: Sequence[float], part: float) -> float:
    return ordered[min(int(part * len(ordered)), len(ordered) - 1)]
