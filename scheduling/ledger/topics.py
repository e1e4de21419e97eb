"""What workers are woken for. Their first letters differ: the named pipes carry no more."""

from datetime import timedelta

WORK = "work"
"""A lane became ready."""
DUE = "due"
"""Something is due before the next slow look."""
CANCEL = "cancel"
"""Somebody asked a running task to stop."""
PAUSE = "pause"
"""The kill switch was thrown."""
TICK = "tick"
"""A recurring task has another next tick than before."""

SWEEP = "sweep"
"""An operator began to redrive or discard many."""

TOPICS = frozenset({WORK, DUE, CANCEL, PAUSE, TICK, SWEEP})

SLOWEST_LOOK = timedelta(seconds=1)
"""How long a waiting worker goes at most without looking, woken or not."""
