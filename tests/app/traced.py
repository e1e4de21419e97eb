"""How a project sends the spans of its workers somewhere, as docs/tracing.md shows it. Here: to the effects."""

from collections.abc import Sequence
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from scheduling.signals import worker_process_started, worker_process_stopping
from tests.app.effects import append


class ToEffects(SpanExporter):
    """A line for each span: its name, its trace, what became of it."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        for span in spans:
            assert span.context is not None
            outcome = (span.attributes or {}).get("rentroll.outcome")
            append(f"{span.name} {span.context.trace_id:032x} {outcome}")
        return SpanExportResult.SUCCESS


def configure(**kwargs: Any) -> None:
    provider = TracerProvider()
    never_by_itself = 60_000
    provider.add_span_processor(
        BatchSpanProcessor(ToEffects(), schedule_delay_millis=never_by_itself)
    )
    trace.set_tracer_provider(provider)


def say_so(**kwargs: Any) -> None:
    append("stopping")


def connect() -> None:
    worker_process_started.connect(configure)
    worker_process_stopping.connect(say_so)
