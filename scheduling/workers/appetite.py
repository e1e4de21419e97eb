"""How many tasks a worker process claims ahead of its free slots. Pure.

A commit costs as much as many short tasks, so short tasks are claimed in batches. What is claimed ahead
is work no other process can start, and whoever comes next waits for it. So it is only ever what the slots
get through while the ledger is asked for more, as measured on the claims just made and the tasks just run:
some milliseconds. A long task among them ends the claiming ahead.
"""

from collections.abc import Collection

HORIZON = 0.010
"""Seconds of work to hold beyond what is running, at most."""
HORIZON_LEAST = 0.004
"""Seconds, however short claims are."""
CLAIM_TIMES = 15
"""As many of the latest claims are worth looking at."""
CLAIMS_WITHIN = 4
"""The next claim begins when half of what was claimed ahead is left, and settling takes as long as a claim."""
MOST_AHEAD = 256
SHORT = 0.001
"""Seconds. What takes less on average is over before another thread has been woken for it."""
FEWEST_SAMPLES = 4
"""With fewer run times than this nothing is known, and nothing is claimed ahead."""
SAMPLES = 64
"""As many of the latest run times are worth looking at."""
PATIENCE = 0.050
"""Seconds after which what was claimed ahead and could not be started is handed back."""


def horizon(claim_times: Collection[float]) -> float:
    """Seconds of work to hold, given how long the latest claims took, in seconds."""
    if not claim_times:
        return HORIZON
    typical = sorted(claim_times)[len(claim_times) // 2]
    return min(max(CLAIMS_WITHIN * typical, HORIZON_LEAST), HORIZON)


def ahead(run_times: Collection[float], moving_slots: int, seconds: float = HORIZON) -> int:
    """How many to hold beyond the free slots: so many seconds of work, given the latest run times in seconds.

    `moving_slots` are those not stuck in a long task: only they will get to what is held.
    """
    if len(run_times) < FEWEST_SAMPLES:
        return 0
    mean = sum(run_times) / len(run_times)
    return int(min(moving_slots * seconds / max(mean, 1e-6), MOST_AHEAD))


def are_short(run_times: Collection[float]) -> bool:
    """Whether tasks are short by the latest run times in seconds."""
    return len(run_times) >= FEWEST_SAMPLES and sum(run_times) < len(run_times) * SHORT
