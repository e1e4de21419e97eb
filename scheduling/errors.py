"""What can go wrong, in words for people. Pure: each edge maps these to its own form (problem+json, exit code)."""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID


class RentrollError(Exception):
    """The base of everything Rentroll raises on purpose."""


class InvalidTask(RentrollError):
    """A task that cannot be accepted as it stands. `errors` maps each field to what is wrong with it."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        self.errors = dict(errors)
        super().__init__("; ".join(f"{field}: {what}" for field, what in self.errors.items()))


class TenantRequired(RentrollError):
    """Work was enqueued with no tenant to own it."""

    def __init__(self) -> None:
        super().__init__(
            "No tenant owns this task. Enqueue inside `with tenants.current.acting_for(tenant):`, or use "
            "`task.using(tenant=…)`, or name one in the DEFAULT_TENANT setting."
        )


class LimitExceeded(RentrollError):
    """Tasks that are more than one of their tenant's limits takes now; nothing was stored. `limit` names the field of Tenant.

    Of `count` tasks it would have taken `left`. Of more than `quota` at once it takes none, however long one waits.
    Of a rate `quota` is its burst, and `window` the time in which that grows back.
    """

    def __init__(
        self,
        limit: str,
        *,
        allowed: int | float,
        retry_after: timedelta,
        count: int = 1,
        left: int = 0,
        quota: int | None = None,
        window: timedelta | None = None,
    ) -> None:
        self.limit = limit
        self.allowed = allowed
        self.retry_after = retry_after
        self.count = count
        self.left = left
        self.quota = int(allowed) if quota is None else quota
        self.window = window
        super().__init__(self._told())

    @property
    def is_for_ever(self) -> bool:
        """No wait helps: so many at once are more than the limit as a whole."""
        return self.count > self.quota

    def _told(self) -> str:
        limit = f"{self.limit} of {self.allowed:g}"
        again = f"try again in {self.retry_after.total_seconds():.3g} s."
        if self.is_for_ever:
            return f"{self.count} tasks at once are more than the tenant's {limit} ever takes; send fewer."
        if self.left:
            taken = "1 more task fits" if self.left == 1 else f"{self.left} more tasks fit"
            return f"{taken} the tenant's {limit} now, and {self.count} were asked for; send fewer, or {again}"
        return f"The tenant is over its {limit}; {again}"


class Overloaded(RentrollError):
    """The system as a whole takes no more work for now, whoever asks; nothing was stored."""

    def __init__(self, what: str, *, retry_after: timedelta) -> None:
        self.retry_after = retry_after
        super().__init__(f"{what} Try again in {retry_after.total_seconds():.3g} s.")


class IdempotencyMismatch(RentrollError):
    """The idempotency key stands for a different task: `task_id`, or one of the same batch (None).

    Nothing was stored.
    """

    def __init__(self, key: str, task_id: UUID | None) -> None:
        self.key = key
        self.task_id = task_id
        super().__init__(
            f"Idempotency key {key!r} already stands for another task ({task_id})."
            if task_id
            else f"Idempotency key {key!r} stands for two different tasks of one batch."
        )


class UnknownTask(RentrollError):
    """No task with that id, or none that the caller may see."""

    def __init__(self, task_id: UUID | str) -> None:
        self.task_id = task_id
        super().__init__(f"There is no task {task_id}.")


class WrongState(RentrollError):
    """The verb does not apply to a task in its present state; nothing was changed."""

    def __init__(self, task_id: UUID, state: str, verb: str) -> None:
        self.task_id = task_id
        self.state = state
        self.verb = verb
        stands = "has" if state == "succeeded" else "is"
        super().__init__(f"Task {task_id} {stands} {state}; it cannot be {verb}.")


class StaleLease(RentrollError):
    """A worker spoke for a lease it no longer holds; nothing was changed, and the refusal was recorded."""

    def __init__(self, task_id: UUID, generation: int, current: int | None = None) -> None:
        self.task_id = task_id
        self.generation = generation
        self.current = current
        now = (
            f"generation {current} holds it now"
            if current is not None
            else "its lease has ended, or was not renewed in time"
        )
        super().__init__(f"Generation {generation} no longer holds task {task_id}: {now}.")


class PermanentFailure(RentrollError):
    """Raised by a handler to say that another attempt cannot help: the task becomes a dead letter."""


class RetryAfter(RentrollError):
    """Raised by a handler that failed and knows when another attempt makes sense: charged, due after `delay`."""

    def __init__(self, delay: timedelta, message: str) -> None:
        self.delay = not_negative(delay)
        super().__init__(message)


class Snoozed(RentrollError):
    """Raised by `context.snooze(delay)`: this attempt ends here, uncharged, and the task is due again then."""

    def __init__(self, delay: timedelta) -> None:
        self.delay = not_negative(delay)
        super().__init__(f"Snoozed for {delay.total_seconds():g} s.")


def not_negative(delay: timedelta) -> timedelta:
    """The delay itself. Raises ValueError for one that points into the past."""
    if delay < timedelta():
        raise ValueError(f"A delay cannot be negative, and {delay.total_seconds():g} s is.")
    return delay


class TaskTimeout(BaseException):
    """Raised in a handler whose time is up. Not an Exception: a handler that goes on after any error ends too."""

    def __init__(self) -> None:
        super().__init__("The task ran longer than its timeout or past its deadline.")


class UnknownHandler(RentrollError):
    """No handler of that name is registered in this process."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"No task named {name!r} is known here.")


class UnknownRecurring(RentrollError):
    """No recurring task with that id, or none that the caller may see."""

    def __init__(self, recurring_id: UUID | str) -> None:
        self.recurring_id = recurring_id
        super().__init__(f"There is no recurring task {recurring_id}.")


class NameTaken(RentrollError):
    """The tenant has a recurring task of that name already; nothing was stored."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"The tenant has a recurring task {name!r} already.")


class TooManyRecurring(RentrollError):
    """The tenant has as many recurring tasks as any may have; nothing was stored."""

    def __init__(self, most: int) -> None:
        self.most = most
        super().__init__(
            f"A tenant may have {most} recurring tasks, and this one has. Delete one that is of no use any more."
        )


class Changed(RentrollError):
    """Somebody else changed it since the caller looked; nothing was changed now."""

    def __init__(self, version: int, current: int) -> None:
        self.version = version
        self.current = current
        super().__init__(
            f"It has been changed since: version {version} was asked for, and {current} is current."
        )


class DeclaredInCode(RentrollError):
    """A recurring task that code declares would be back at the next start; nothing was deleted."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"{name!r} is declared in code. Pause it, or take its declaration out of the code first."
        )


class Overlapping(RentrollError):
    """The recurring task allows one run at a time, and `task_id` is not over, or a tick waits for its turn (None)."""

    def __init__(self, name: str, task_id: UUID | None) -> None:
        self.name = name
        self.task_id = task_id
        busy = f"task {task_id} is not over" if task_id else "a tick of it waits for its turn"
        super().__init__(f"{name!r} allows one run at a time, and {busy}.")
