"""A trace goes on from where a task was enqueued through each attempt at it."""

import asyncio
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from scheduling import ledger, tracing
from scheduling.compat import task
from scheduling.context import Context
from scheduling.models import Task
from scheduling.testing import run_due_tasks
from scheduling.workers import spans
from tenants.models import Tenant
from tests.installation import MANAGE
from tests.workers.kit import Process, a_claim


class Tracing:
    """A provider as a project would set one, and the spans that have ended."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("tests")

    def ended(self, name: str) -> list[ReadableSpan]:
        return [one for one in self.exporter.get_finished_spans() if one.name == name]


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> Tracing:
    """For one test: what is really set stays for the life of a process."""
    tracing = Tracing()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: tracing.provider)
    return tracing


def enqueue(declared: Any, *args: Any, tenant: Tenant, **options: Any) -> UUID:
    return UUID(declared.using(tenant=tenant, **options).enqueue(*args).id)


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


@task(name="traced.echo")
def echo(word: str) -> str:
    return word


@task(name="traced.fail", max_attempts=2, backoff=lambda attempt: timedelta(0))
def fail(word: str) -> None:
    raise ValueError(f"no luck with {word}")


@task(name="traced.settle", takes_context=True)
def settle(context: Context) -> None:
    with context.settle("done"):
        pass


@task(name="traced.coroutine", takes_context=True)
async def coroutine(context: Context) -> str | None:
    await asyncio.sleep(0)
    with trace.get_tracer("handler").start_as_current_span("inside"):
        return context.traceparent


@pytest.mark.django_db(transaction=True)
@pytest.mark.ledger
def test_an_attempt_is_a_child_of_where_its_task_was_enqueued(
    traced: Tracing, tenant_a: Tenant
) -> None:
    with traced.tracer.start_as_current_span("request") as request:
        task_id = enqueue(echo, "secret", tenant=tenant_a)
    process = Process()
    process.execute(*process.claim())
    assert traced.ended("run traced.echo") == []  # the ledger does not know yet
    process.hand.settle()

    (attempt,) = traced.ended("run traced.echo")
    enqueued = request.get_span_context()
    assert attempt.context is not None
    assert attempt.parent is not None
    assert attempt.context.trace_id == enqueued.trace_id
    assert attempt.parent.span_id == enqueued.span_id
    assert [link.context.span_id for link in attempt.links] == [enqueued.span_id]
    assert attempt.kind is SpanKind.CONSUMER
    assert attributes(attempt) == {
        "messaging.system": "rentroll",
        "messaging.operation.type": "process",
        "messaging.operation.name": "run",
        "messaging.destination.name": "default",
        "messaging.message.id": str(task_id),
        "rentroll.tenant": "tenant-a",
        "rentroll.task": "traced.echo",
        "rentroll.attempt": 1,
        "rentroll.generation": 1,
        "rentroll.outcome": "succeeded",
    }
    assert attempt.status.status_code is StatusCode.UNSET


@pytest.mark.django_db(transaction=True)
@pytest.mark.ledger
def test_each_attempt_is_told_and_what_an_error_says_is_not(
    traced: Tracing, tenant_a: Tenant
) -> None:
    with traced.tracer.start_as_current_span("request"):
        enqueue(fail, "secret", tenant=tenant_a)
    run_due_tasks(may_fail=True)
    attempts = traced.ended("run traced.fail")
    assert [attributes(one)["rentroll.attempt"] for one in attempts] == [1, 2]
    assert len({one.context.trace_id for one in attempts if one.context}) == 1
    for one in attempts:
        assert attributes(one)["rentroll.outcome"] == "failed"
        assert attributes(one)["error.type"] == "builtins.ValueError"
        assert one.status.status_code is StatusCode.ERROR
        assert "luck" not in one.to_json()
        assert "secret" not in one.to_json()


@pytest.mark.django_db(transaction=True)
@pytest.mark.ledger
def test_what_a_coroutine_does_is_part_of_its_attempt(traced: Tracing, tenant_a: Tenant) -> None:
    task_id = enqueue(coroutine, tenant=tenant_a)
    process = Process()
    process.execute(*process.claim())
    process.hand.settle()
    (attempt,), (inside,) = traced.ended("run traced.coroutine"), traced.ended("inside")
    assert attempt.parent is None  # nobody traced the one who enqueued it
    assert attempt.links == ()
    assert attempt.context is not None
    assert inside.context is not None
    assert inside.parent is not None
    assert inside.parent.span_id == attempt.context.span_id
    told = Task.objects.get(pk=task_id).result
    assert told == f"00-{attempt.context.trace_id:032x}-{inside.context.span_id:016x}-03"


@pytest.mark.django_db(transaction=True)
@pytest.mark.ledger
def test_an_attempt_that_settles_itself_has_succeeded(traced: Tracing, tenant_a: Tenant) -> None:
    enqueue(settle, tenant=tenant_a)
    process = Process()
    process.execute(*process.claim())
    process.hand.settle()
    (attempt,) = traced.ended("run traced.settle")
    assert attributes(attempt)["rentroll.outcome"] == "succeeded"


@pytest.mark.django_db(transaction=True)
@pytest.mark.ledger
def test_a_stale_settlement_is_told_as_stale(traced: Tracing, tenant_a: Tenant) -> None:
    """Its handler has succeeded, and the ledger has refused to hear of it."""
    enqueue(echo, "hello", tenant=tenant_a)
    process = Process()
    (held,) = process.claim()
    ledger.reap(ledger.held_leases())
    process.execute(held)
    process.hand.settle()
    (attempt,) = traced.ended("run traced.echo")
    assert attributes(attempt)["rentroll.outcome"] == "stale"
    assert attributes(attempt)["error.type"] == "scheduling.errors.StaleLease"
    assert attempt.status.status_code is StatusCode.ERROR


@pytest.mark.django_db(transaction=True)
@pytest.mark.ledger
def test_an_attempt_whose_lease_another_has_is_told_as_stale_once_it_ends(
    traced: Tracing, tenant_a: Tenant
) -> None:
    enqueue(echo, "hello", tenant=tenant_a)
    process = Process()
    (held,) = process.claim()
    ledger.reap(ledger.held_leases())
    process.hand.drop(held)
    process.execute(held)
    (attempt,) = traced.ended("run traced.echo")
    assert attributes(attempt)["rentroll.outcome"] == "stale"


@pytest.mark.django_db(transaction=True)
@pytest.mark.ledger
def test_an_attempt_that_could_not_renew_in_time_has_failed(
    traced: Tracing, tenant_a: Tenant
) -> None:
    enqueue(echo, "hello", tenant=tenant_a)
    process = Process()
    (held,) = process.claim()
    held.lose()
    process.execute(held)
    process.hand.settle()
    (attempt,) = traced.ended("run traced.echo")
    assert attributes(attempt)["rentroll.outcome"] == "failed"
    assert attributes(attempt)["error.type"] == "scheduling.errors.StaleLease"


def test_a_provider_that_fails_keeps_no_task_from_running(
    traced: Tracing, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(SpanProcessor):
        def on_start(self, *args: Any, **kwargs: Any) -> None:
            raise RuntimeError("broken")

    traced.provider.add_span_processor(Broken())
    assert spans.begin(a_claim()) is None
    assert "cannot be traced" in caplog.text


def test_nothing_is_made_where_nobody_traces() -> None:
    assert spans.begin(a_claim()) is None
    assert tracing.current() is None


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", True),
        (" 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00 ", True),
        ("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", True),
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", False),
        ("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", False),
        ("00-00000000000000000000000000000000-b7ad6b7169203331-01", False),
        ("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", False),
        ("00-0AF7651916CD43DD8448EB211C80319C-B7AD6B7169203331-01", False),
        ("", False),
        (None, False),
    ],
)
def test_what_is_no_traceparent_is_ignored(sent: str | None, kept: bool) -> None:
    expected = f"00-{sent.strip()[3:55]}" if sent and kept else None
    assert tracing.valid(sent) == expected


# In processes of their own


def python(program: str, *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=MANAGE.parent,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


WITHOUT = """
import sys
sys.modules["opentelemetry"] = None  # importing it fails, as where it is not installed
import django
django.setup()
from scheduling import tracing
from scheduling.workers import executor, spans
assert not tracing.IS_INSTALLED
assert tracing.current() is None and spans.begin(None) is None
spans.flush()
print(sorted(name for name in sys.modules if name.startswith("opentelemetry")))
"""
FORKED = """
import os, sys
import django
django.setup()
from tests.app import traced
from tests.workers.kit import a_claim
from scheduling.ledger.values import Succeed
from scheduling.workers import fork, spans

def work():
    span = spans.begin(a_claim())
    span.leave()
    span.end(Succeed())
    spans.flush()
    return 0

traced.configure()
_, status = os.waitpid(fork.fork(work), 0)
assert os.waitstatus_to_exitcode(status) == 0
"""


def test_without_the_extra_nothing_of_it_is_imported() -> None:
    assert python(WITHOUT) == "['opentelemetry']\n"


def test_a_provider_set_before_the_fork_sends_the_spans_of_the_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The threads of an exporter do not cross a fork. The SDK starts them again."""
    monkeypatch.setenv("EFFECTS", str(tmp_path / "effects"))
    python(FORKED)
    (line,) = (tmp_path / "effects").read_text().splitlines()
    name, _, outcome = line.rsplit(" ", 2)
    assert (name, outcome) == ("run demo.echo", "succeeded")
