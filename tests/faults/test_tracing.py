"""Spans of real worker processes get to where a project sends them, the last ones too."""

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from scheduling.states import TaskState
from tenants.models import Tenant
from tests.app import tasks
from tests.faults.conftest import Start
from tests.faults.kit import Effects, enqueue, wait_for_state


def test_what_was_traced_is_sent_before_the_process_ends(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    workers = start_workers("--processes=1", "--threads=2", environment={"TRACED": "1"})
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("tests")
    with tracer.start_as_current_span("request") as request:
        task_id = enqueue(tasks.noop, tenant=tenant_a)
    wait_for_state(task_id, TaskState.SUCCEEDED)
    workers.stop()
    assert trace.get_current_span() is trace.INVALID_SPAN
    trace_id = f"{request.get_span_context().trace_id:032x}"
    assert effects.lines() == ["stopping", f"run tests.app.tasks.noop {trace_id} succeeded"]
