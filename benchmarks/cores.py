"""Which cores the two ends of a connection may use, so that neither takes time from the other."""

import os

SERVER, CLIENT = 0, -1


def stay_on(end: int) -> None:
    """Keep this process, and all it starts, on one core. Where there is only one there is no choice."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[end]})
