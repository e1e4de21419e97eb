"""Owns the span of each attempt: where a trace of OpenTelemetry goes on from the request that enqueued the task.

After the conventions for messaging: the kind is consumer, its parent is the span that was current when the
task was enqueued, and it links to that as well. It ends when the handler does, and is told only once the ledger
has said what becomes of that. Never in it: payload, result, and what an error says; its class is.

Nothing is made unless the extra `otel` is installed and somebody has set a tracer provider.
"""

import logging
from threading import Thread
from typing import Any

from scheduling import clock, tracing
from scheduling.ledger.values import Claim, Fail, Verdict

if tracing.IS_INSTALLED:
    from opentelemetry import context, trace
    from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, StatusCode

logger = logging.getLogger(__name__)

LONGEST_FLUSH = 2.0
"""Seconds that the end of a process waits for its exporters."""
STALE = "scheduling.errors.StaleLease"


class AttemptSpan:
    """Current in the thread that made it, and in the coroutine that it starts, until `leave`. Told by `end`."""

    __slots__ = ("_left_at", "_span", "_token")

    def __init__(self, claim: Claim) -> None:
        enqueued = enqueued_in(claim.trace_context)
        parent = context.Context()
        if enqueued is not None:
            parent = trace.set_span_in_context(NonRecordingSpan(enqueued), parent)
        self._span = trace.get_tracer("rentroll").start_span(
            f"run {claim.name}",
            context=parent,
            kind=SpanKind.CONSUMER,
            links=[Link(enqueued)] if enqueued else [],
            attributes=attributes_of(claim),
        )
        self._left_at: int | None = None
        self._token = context.attach(trace.set_span_in_context(self._span))

    def leave(self) -> None:
        """The handler has come to an end. In the thread that made the span."""
        self._left_at = clock.unix_nanoseconds()
        context.detach(self._token)

    def end(self, verdict: Verdict | None) -> None:
        """Say what became of it. None: the lease was another's by then, and nothing of it counts."""
        outcome, error = "stale", STALE
        if verdict is not None:
            outcome = verdict.outcome.value
            error = verdict.failure.cls if isinstance(verdict, Fail) else ""
        self._span.set_attribute("rentroll.outcome", outcome)
        if error:
            self._span.set_attribute("error.type", error)
            self._span.set_status(StatusCode.ERROR, error)
        self._span.end(self._left_at)


def begin(claim: Claim) -> AttemptSpan | None:
    """None where nobody traces. What goes wrong in OpenTelemetry is logged, and does not keep a task from running."""
    if not is_on():
        return None
    try:
        return AttemptSpan(claim)
    except Exception:
        logger.exception("The attempt at %s cannot be traced.", claim.task_id)
        return None


def is_on() -> bool:
    return tracing.IS_INSTALLED and not isinstance(
        trace.get_tracer_provider(), trace.ProxyTracerProvider
    )


def enqueued_in(traceparent: str | None) -> "SpanContext | None":
    """The span that was current when the task was enqueued. None: there was none."""
    found = tracing.TRACEPARENT.fullmatch(traceparent or "")
    if found is None:
        return None
    return SpanContext(
        int(found["trace"], 16),
        int(found["span"], 16),
        is_remote=True,
        trace_flags=trace.TraceFlags(int(found["flags"], 16)),
    )


def attributes_of(claim: Claim) -> dict[str, Any]:
    return {
        "messaging.system": "rentroll",
        "messaging.operation.type": "process",
        "messaging.operation.name": "run",
        "messaging.destination.name": claim.queue,
        "messaging.message.id": str(claim.task_id),
        "rentroll.tenant": claim.tenant,
        "rentroll.task": claim.name,
        "rentroll.attempt": claim.attempt,
        "rentroll.generation": claim.generation,
    }


def flush() -> None:
    """Before the process ends: let exporters send what they have, for as long as that is worth."""
    send = getattr(trace.get_tracer_provider(), "force_flush", None) if is_on() else None
    if send is not None:
        sending = Thread(target=send, name="flush-spans", daemon=True)
        sending.start()
        sending.join(LONGEST_FLUSH)
