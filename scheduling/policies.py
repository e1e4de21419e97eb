"""The words that recurring tasks and their ticks are told in. Pure: no database, no Django models."""

from datetime import timedelta
from enum import StrEnum


class Overlap(StrEnum):
    """What becomes of a tick whose predecessor is not over: its task still waits or runs."""

    SKIP = "skip"
    """It makes no task."""
    BUFFER_ONE = "buffer_one"
    """One of them waits until the predecessor is over; further ones make no task."""
    ALLOW = "allow"
    """It makes a task all the same."""
    CANCEL_OTHER = "cancel_other"
    """The predecessor is cancelled; the newest such tick waits until that is over."""


class Catchup(StrEnum):
    """What becomes of ticks that nobody fired when it was their time."""

    NONE = "none"
    ONE = "one"
    """The newest of them is fired and stands for the others."""
    ALL = "all"
    """Each of them is fired: one after the other, unless they may overlap."""


class TickOutcome(StrEnum):
    """What became of a tick."""

    FIRED = "fired"
    """It made a task."""
    SKIPPED_OVERLAP = "skipped_overlap"
    """Its predecessor was not over."""
    SKIPPED_CATCHUP = "skipped_catchup"
    """Nobody fired it in time, and it was not to be made up for."""
    SKIPPED_DST = "skipped_dst"
    """Clocks were put forward past it, or back, so that its time of day came a second time and ran the first time."""
    COALESCED = "coalesced"
    """Nobody fired it in time; a later one stands for it."""
    MISSED = "missed"
    """It could not be fired: too late for its window, while paused, with its tenant at a limit."""


class Origin(StrEnum):
    """Who wanted a tick."""

    RULE = "rule"
    RUN_NOW = "run_now"
    """Somebody, once: no instant of the rule."""
    BACKFILL = "backfill"
    """Somebody, for an instant of the rule that has passed without a task."""


PUNCTUAL = timedelta(seconds=60)
"""A tick that is looked at sooner after its instant is in time: so long may a restart take, whatever the catch-up."""
CATCHUP_WINDOW = timedelta(days=1)
"""How late a tick may still be made up for, unless the recurring task says otherwise."""
