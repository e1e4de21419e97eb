"""Recurring tasks: keeping them, firing their ticks, and accounting for each of those.

`rule` says which ticks have come and `judge` what is to become of each; `plan` puts that into rows, `make` makes
the tasks and `account` writes all of it in one transaction, with the row locked. `fire` does that for whatever is
due, `release` for ticks that had to wait. `keep`, `pausing` and `by_hand` are what people ask for.
"""

from scheduling.ledger.recurring.by_hand import backfill, backfill_preview, run_now
from scheduling.ledger.recurring.fire import fire_due
from scheduling.ledger.recurring.form import check_recurring
from scheduling.ledger.recurring.keep import (
    create_recurring,
    delete_recurring,
    edit_recurring,
    retire_recurring,
    retired_recurring,
)
from scheduling.ledger.recurring.look_back import tick_of
from scheduling.ledger.recurring.pausing import pause_recurring
from scheduling.ledger.recurring.pruning import prune_ticks
from scheduling.ledger.recurring.values import Backfilled, Fired, NewRecurring

__all__ = [
    "Backfilled",
    "Fired",
    "NewRecurring",
    "backfill",
    "backfill_preview",
    "check_recurring",
    "create_recurring",
    "delete_recurring",
    "edit_recurring",
    "fire_due",
    "pause_recurring",
    "prune_ticks",
    "retire_recurring",
    "retired_recurring",
    "run_now",
    "tick_of",
]
