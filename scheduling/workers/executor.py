"""From a claim to a verdict: resolve the task, perform it, and put what came of it into words."""

import logging
from functools import cache
from inspect import iscoroutinefunction
from typing import Any

from scheduling import under_way
from scheduling.context import Context
from scheduling.declaring import registry
from scheduling.declaring.ledger_task import LedgerTask
from scheduling.errors import InvalidTask, UnknownHandler
from scheduling.ledger.values import Release, Stop, Verdict
from scheduling.workers import announcements, spans, verdicts
from scheduling.workers.coroutines import Coroutines, Running
from scheduling.workers.held import Held, Interruptible
from scheduling.workers.timeouts import Interrupt, Watch
from tenants.current import acting_for
from tenants.models import Tenant

logger = logging.getLogger(__name__)

is_coroutine_function = cache(iscoroutinefunction)


class Executor:
    """Runs handlers for the slots of one process. Nothing a handler does or raises gets past `execute`."""

    def __init__(self, watch: Watch, coroutines: Coroutines) -> None:
        self._watch = watch
        self._coroutines = coroutines

    def execute(self, held: Held) -> Verdict:
        """Run the claim's handler, in this thread or on the event loop, and say what came of it."""
        token = under_way.begin(held.claim)
        held.span = spans.begin(held.claim)
        try:
            return self._resolve_and_run(held)
        finally:
            if held.span is not None:
                held.span.leave()
            under_way.end(token)

    def _resolve_and_run(self, held: Held) -> Verdict:
        claim = held.claim
        try:
            task = registry.get(claim.name)
            args, kwargs = claim.arguments()
        except UnknownHandler as error:
            verdict = verdicts.of_unknown_handler(claim, error)
        except ValueError as error:
            verdict = verdicts.of_corrupt_arguments(error)
        else:
            return self._run(Execution(held, task, args, kwargs))
        announcements.log(claim, verdict)
        return verdict

    def _run(self, execution: "Execution") -> Verdict:
        held, task, context = execution.held, execution.task, execution.context
        announcements.started(task, context)
        try:
            with acting_for(owner(held.claim.tenant_id, held.claim.tenant)):
                result = self._perform(execution)
            verdict = execution.returned(
                result
            )  # a result may be a mapping of the handler's making
        except BaseException as error:  # noqa: BLE001  # SystemExit ends an attempt, not the worker
            verdict = execution.failed(error)
            announcements.finished(task, context, held.claim, verdict)
        else:
            announcements.finished(task, context, held.claim, verdict)
        return verdict

    def _perform(self, execution: "Execution") -> Any:
        held = execution.held
        held.start_clock()
        if is_coroutine_function(execution.task.func):
            return self._await(held, self._coroutines.start(execution.call()))
        if held.overdue_at is None:
            return execution.call()
        interrupt = Interrupt()
        try:
            self._keep_time(held, interrupt)
            interrupt.open()
            return execution.call()
        finally:
            held.running = None
            interrupt.close()

    def _await(self, held: Held, coroutine: Running) -> Any:
        try:
            self._keep_time(held, coroutine)
            return coroutine.result()
        finally:
            held.running = None

    def _keep_time(self, held: Held, running: Interruptible) -> None:
        held.running = running
        if held.overdue_at is not None:
            self._watch.expect(held.overdue_at)


class Execution:
    """One handler with what it is called with."""

    __slots__ = ("args", "context", "held", "kwargs", "task")

    def __init__(
        self, held: Held, task: LedgerTask, args: list[Any], kwargs: dict[str, Any]
    ) -> None:
        self.held = held
        self.task = task
        self.args = args
        self.kwargs = kwargs
        self.context = Context(held.claim, task, held.cancelled, held.lease_lost)
        held.context = self.context

    def call(self) -> Any:
        if self.task.takes_context:
            return self.task.func(self.context, *self.args, **self.kwargs)
        return self.task.func(*self.args, **self.kwargs)

    def returned(self, result: Any) -> Verdict:
        """One that returned because it was asked to stop has not succeeded, unless it had settled before.

        Nor has one that was handed back meanwhile: the ledger was told so, and takes no other word of it.
        """
        if self.context.success:
            return self.context.success
        if self.held.handed_back:
            return Release()
        if self.held.cancel_requested and self.held.cancelled.was_seen:
            return Stop()
        return verdicts.of_result(result)

    def failed(self, error: BaseException) -> Verdict:
        if self.context.success:
            logger.error(
                "%s %s raised %s after it had settled, and has succeeded all the same.",
                self.held.claim.name,
                self.held.claim.task_id,
                verdicts.class_and_place(error),
            )
            return self.context.success
        if self.held.handed_back:
            return Release()
        if self.held.cancel_requested:
            return Stop()
        if isinstance(error, TypeError) and was_not_entered(error):
            try:
                registry.bind(self.task, self.args, self.kwargs)
            except InvalidTask as misfit:
                return verdicts.of_unknown_handler(self.held.claim, misfit)
        return verdicts.of_error(self.held.claim, self.task, error)


def was_not_entered(error: BaseException) -> bool:
    """Whether the call itself failed: the arguments are those of another version of the handler."""
    return verdicts.handlers_part(error.__traceback__) is None


def owner(tenant_id: int, slug: str) -> Tenant:
    """The tenant as a claim knows it, for one execution. What else is asked of the row is read then."""
    return Tenant.from_db(None, ["id", "slug"], [tenant_id, slug])
