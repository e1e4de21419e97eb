"""Recurring tasks in the console: the list, the page of one, the form with its preview, and what is done by hand.

`form` and `fields` own what may be typed, `preview`, `strip`, `standing` and `zoned` how things are shown; `listing`,
`page`, `editing`, `acts` and `backfilling` are the pages. What changes anything is a verb of the ledger.
"""

from scheduling.admin.recurring.listing import RecurringAdmin

__all__ = ["RecurringAdmin"]
