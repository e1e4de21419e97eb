"""Tasks to try an installation out with."""

from datetime import timedelta
from typing import Any

from scheduling.compat import task
from scheduling.context import Context
from scheduling.errors import PermanentFailure

SLEEP_SECONDS_MAX = 24 * 3600


@task(name="demo.echo")
def echo(**payload: Any) -> dict[str, Any]:
    """Give back what it got."""
    return payload


@task(name="demo.sleep")
def sleep(context: Context, seconds: float) -> dict[str, float]:
    """Take that long, unless asked to stop."""
    if not 0 <= seconds <= SLEEP_SECONDS_MAX:
        raise PermanentFailure(f"seconds must be from 0 to {SLEEP_SECONDS_MAX}, not {seconds:g}.")
    if context.wait(timedelta(seconds=seconds)):
        raise InterruptedError("Asked to stop before the time was up.")
    return {"seconds": seconds}


@task(name="demo.flaky")
def flaky(context: Context, failures: int) -> dict[str, int]:
    """Fail that many attempts, then succeed."""
    if context.attempt <= failures:
        raise RuntimeError(f"Attempt {context.attempt} of {failures} that fail.")
    return {"attempt": context.attempt}
