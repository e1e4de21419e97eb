"""What workers are woken for. Their first letters differ: the named pipes carry no more."""

WORK = "work"
"""A lane became ready."""
DUE = "due"
"""Something is due before the next slow look."""
CANCEL = "cancel"
"""Somebody asked a running task to stop."""
PAUSE = "pause"
"""The kill switch was thrown."""

TOPICS = frozenset({WORK, DUE, CANCEL, PAUSE})
