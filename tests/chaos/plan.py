"""Which faults come when. Pure: the same seed and length give the same plan."""

import random
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

LEASE = 2.0
"""Seconds. Short, so that a run sees many of them end."""
TERM = timedelta(seconds=LEASE)
GAP = 0.8
"""Seconds between two faults, on average. Many last longer, and so overlap."""


class Kind(StrEnum):
    KILL_CHILD = "kill a worker process"
    KILL_SUPERVISOR = "kill a supervisor"
    KILL_GROUP = "kill a supervisor and its processes"
    STOP_CHILD = "stop a worker process, shorter than a lease"
    STOP_CHILD_LONG = "stop a worker process, longer than a lease"
    STOP_SUPERVISOR = "stop a supervisor"
    ROLL = "restart a supervisor by SIGTERM"
    KILL_WEB_WORKER = "kill a web worker"
    KILL_WEB = "kill the web server"
    STOP_WEB_WORKER = "stop a web worker"
    STOP_WEB = "stop the web server"
    ROLL_WEB = "restart the web server by SIGTERM"
    STEP_CLOCK = "step a wall clock"
    HOLD_SNAPSHOT = "hold a snapshot"
    FILL_DISK = "fill the disk"
    RESTART_DATABASE = "restart the database"
    DROP_CONNECTIONS = "drop connections"


WEIGHTS = {
    Kind.KILL_CHILD: 5,
    Kind.KILL_SUPERVISOR: 2,
    Kind.KILL_GROUP: 2,
    Kind.STOP_CHILD: 4,
    Kind.STOP_CHILD_LONG: 4,
    Kind.STOP_SUPERVISOR: 1,
    Kind.ROLL: 2,
    Kind.KILL_WEB_WORKER: 3,
    Kind.KILL_WEB: 1,
    Kind.STOP_WEB_WORKER: 2,
    Kind.STOP_WEB: 1,
    Kind.ROLL_WEB: 1,
    Kind.STEP_CLOCK: 4,
    Kind.HOLD_SNAPSHOT: 1,
    Kind.FILL_DISK: 2,
    Kind.RESTART_DATABASE: 2,
    Kind.DROP_CONNECTIONS: 2,
}
LASTS = {
    Kind.STOP_CHILD: (0.1 * LEASE, 0.8 * LEASE),
    Kind.STOP_CHILD_LONG: (1.2 * LEASE, 3.0 * LEASE),
    Kind.STOP_SUPERVISOR: (0.5, 4.0),
    Kind.STOP_WEB_WORKER: (0.2, 3.0),
    Kind.STOP_WEB: (0.2, 3.0),
    Kind.HOLD_SNAPSHOT: (2.0, 10.0),
    Kind.FILL_DISK: (0.5, 3.0),
    Kind.RESTART_DATABASE: (0.0, 2.0),
}
"""Seconds, at least and at most. The other faults take no time of their own."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A fault to come."""

    at: float
    """Seconds after the beginning."""
    kind: Kind
    lasts: float
    draw: float
    """From 0 to 1: whom it strikes of those there are, or which way it goes."""


def plan(seed: str, seconds: float, possible: Collection[Kind]) -> list[Planned]:
    """In the order of their time. Every possible kind comes once before chance decides.

    What is not possible here is left out of the plan and changes nothing else about it.
    """
    rng = random.Random(f"{seed}: faults")
    kinds = list(Kind)
    rng.shuffle(kinds)
    planned = []
    at = 0.0
    while (at := at + rng.uniform(0.1, 2 * GAP - 0.1)) < seconds:
        kind = kinds.pop() if kinds else rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        planned.append(Planned(at, kind, rng.uniform(*LASTS.get(kind, (0, 0))), rng.random()))
    return [fault for fault in planned if fault.kind in possible]
