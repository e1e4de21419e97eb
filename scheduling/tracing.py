"""Owns how a task is kept part of the trace in which it was enqueued: by a `traceparent`, as the W3C writes it.

That much needs no other package. With the extra `otel` it is also told which span is current here; without it
nothing of OpenTelemetry is imported.
"""

import re

try:
    from opentelemetry import trace
except ImportError:
    IS_INSTALLED = False
else:
    IS_INSTALLED = True

TRACEPARENT = re.compile(
    r"(?P<version>(?!ff)[0-9a-f]{2})-(?P<trace>(?!0{32})[0-9a-f]{32})"
    r"-(?P<span>(?!0{16})[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})(?P<rest>-.*)?",
    re.ASCII,
)


def valid(text: str | None) -> str | None:
    """A `traceparent` that somebody sent, in our version of it. None for none, and for what is to be ignored."""
    found = TRACEPARENT.fullmatch(text.strip()) if text else None
    if found is None or (found["version"] == "00" and found["rest"]):
        return None
    return f"00-{found['trace']}-{found['span']}-{found['flags']}"


def current() -> str | None:
    """The `traceparent` of the span that is current here. None: there is no span."""
    if not IS_INSTALLED:
        return None
    here = trace.get_current_span().get_span_context()
    if not here.is_valid:
        return None
    return f"00-{here.trace_id:032x}-{here.span_id:016x}-{here.trace_flags:02x}"
