"""When a recurring task is due: a rule, and the instants it names. Pure: no Django, no database, no clock.

`cron` owns the grammar and knows no zones, `zones` the zones and knows no rules; `walks` leads through both, `rule` is what others hold.
"""

from scheduling.recurrence.errors import InvalidRecurrence
from scheduling.recurrence.rule import EPOCH, LONGEST_INTERVAL, Recurrence
from scheduling.recurrence.walks import Dst, Instant

__all__ = ["EPOCH", "LONGEST_INTERVAL", "Dst", "Instant", "InvalidRecurrence", "Recurrence"]
