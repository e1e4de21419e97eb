"""Imported by Python itself, in the processes whose clock is set.

`time.sleep` waits for an instant of the monotonic clock, which libfaketime 0.9 takes for one of the clock that
it sets, and refuses. Waiting for nothing to happen is the same, and counted from now.
"""

import select
import time


def sleep(seconds: float) -> None:
    select.select((), (), (), seconds)


time.sleep = sleep  # type: ignore[assignment]  # its parameter is by position only
