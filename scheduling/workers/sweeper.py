"""Works off what operators began to do to many dead letters."""

from scheduling import clock, sweeps

PERIOD = 5.0
"""Seconds between two looks for one that nobody rang for."""
BREATH = 0.05
"""Seconds between two steps, for everybody else who writes."""
PATIENCE = 0.5
"""Seconds to leave one alone that cannot go on now."""


class Sweeper:
    """One in every worker process. Whichever is first takes the next step, and the others the one after it."""

    def __init__(self) -> None:
        self.due_at = 0.0
        self._last = 0

    def look_now(self) -> None:
        """One was begun."""
        self.due_at = 0.0

    def run(self) -> None:
        """One step of one sweep, each in turn; the next after whatever else the pool has to do."""
        wait = PERIOD
        sweep_id = sweeps.following(self._last)
        if sweep_id is not None:
            wait = BREATH if sweeps.step(sweep_id) else PATIENCE
        self._last = sweep_id or 0
        self.due_at = clock.monotonic() + wait
