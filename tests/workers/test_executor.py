"""One claim, one handler, one verdict, whatever the handler does."""

import asyncio
import json
import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, NoReturn

import pytest

from scheduling import under_way
from scheduling.compat import task, task_finished, task_started
from scheduling.context import Context
from scheduling.errors import TaskTimeout
from scheduling.ledger.values import Claim, Fail, Release, Stop, Succeed, Verdict
from scheduling.workers import announcements
from scheduling.workers.coroutines import Coroutines
from scheduling.workers.executor import Executor
from scheduling.workers.held import Held
from scheduling.workers.timeouts import Watch
from tenants.current import current
from tests.workers.kit import a_claim, held


class Watched(Executor):
    """An executor with a watch that nothing has to be told to."""

    def __init__(self) -> None:
        self.all_held: list[Held] = []
        watch = Watch(lambda: self.all_held, lambda _: None)
        watch.start()
        super().__init__(watch, Coroutines())

    def execute(self, held: Held) -> Verdict:
        self.all_held.append(held)
        return super().execute(held)


@pytest.fixture
def executor() -> Executor:
    return Watched()


def claim_of(declared: Any, *args: Any, **options: Any) -> Claim:
    return a_claim(declared.module_path, *args, **options)


def failure(verdict: Verdict) -> str:
    assert isinstance(verdict, Fail)
    return verdict.failure.cls


@task()
def add(a: int, b: int = 0) -> int:
    return a + b


class Lazy(dict[str, int]):
    """A mapping that finds out late that it cannot be read."""

    def items(self) -> NoReturn:
        raise ConnectionError("gone")


class Rude(Exception):
    """An exception whose text ends the program."""

    def __str__(self) -> NoReturn:
        raise SystemExit(9)


@task()
def give_what_cannot_be_read() -> Lazy:
    return Lazy(a=1)


@task()
def be_rude() -> NoReturn:
    raise Rude


@task(backoff=lambda attempt: sys.exit(9))
def exit_in_its_backoff() -> NoReturn:
    raise ValueError


@task()
def raise_what_has_no_storable_name() -> NoReturn:
    raise type("Name", (Exception,), {"__qualname__": "\0"})


@task()
async def add_slowly(a: int, b: int = 0) -> int:
    await asyncio.to_thread(int)
    return a + b


@task()
def tell(context: Context) -> list[Any]:
    tenant = current()
    return [context.attempt, context.fencing_token, tenant and tenant.slug]


@task()
async def tell_slowly(context: Context) -> list[Any]:
    tenant = current()
    return [context.attempt, context.fencing_token, tenant and tenant.slug]


@task()
def raise_(name: str) -> NoReturn:
    raise ENDINGS[name]


@task()
async def raise_slowly(name: str) -> NoReturn:
    raise ENDINGS[name]


@task()
def type_error_inside() -> None:
    add.func("one", 1)


@task()
def spin() -> NoReturn:
    while True:
        pass


@task()
async def sleep() -> None:
    await asyncio.Event().wait()


@task()
def heed(context: Context) -> str:
    return "stopped early" if context.cancelled else "finished"


ENDINGS = {
    "exit": SystemExit(0),
    "exit with text": SystemExit("text"),
    "interrupt": KeyboardInterrupt(),
    "memory": MemoryError(),
    "generator": GeneratorExit(),
    "cancelled": asyncio.CancelledError(),
    "error": ValueError("no luck"),
}


@pytest.mark.parametrize("declared", [add, add_slowly])
def test_result_of_the_handler_is_its_success(executor: Executor, declared: Any) -> None:
    assert executor.execute(held(claim_of(declared, 1, 2))) == Succeed("3")


@pytest.mark.parametrize("declared", [tell, tell_slowly])
def test_handler_knows_its_attempt_and_acts_for_its_tenant(
    executor: Executor, declared: Any
) -> None:
    verdict = executor.execute(held(claim_of(declared, attempt=2, generation=9)))

    assert isinstance(verdict, Succeed)
    assert json.loads(verdict.result_json) == [2, 9, "tenant-a"]
    assert current() is None


@pytest.mark.parametrize("declared", [raise_, raise_slowly])
@pytest.mark.parametrize("name", ENDINGS)
def test_no_ending_gets_past_the_executor(executor: Executor, declared: Any, name: str) -> None:
    verdict = executor.execute(held(claim_of(declared, name)))

    assert failure(verdict).endswith(type(ENDINGS[name]).__name__)
    assert executor.execute(held(claim_of(add_slowly, 1))) == Succeed("1")


def test_traceback_begins_at_the_handler(executor: Executor) -> None:
    verdict = executor.execute(held(claim_of(raise_, "error")))

    assert isinstance(verdict, Fail)
    head, first_frame, *_ = verdict.failure.traceback.splitlines()
    assert head == "Traceback (most recent call last):"
    assert "test_executor.py" in first_frame


def test_handler_that_is_not_there_is_unknown(executor: Executor) -> None:
    verdict = executor.execute(held(a_claim("reports.retired")))

    assert isinstance(verdict, Fail)
    assert verdict.unknown_handler
    assert verdict.retry_in is not None


@pytest.mark.parametrize("declared", [add, add_slowly])
@pytest.mark.parametrize("args", [(), (1, 2, 3)])
def test_handler_of_another_signature_is_unknown(
    executor: Executor, declared: Any, args: tuple[int, ...]
) -> None:
    verdict = executor.execute(held(claim_of(declared, *args)))

    assert isinstance(verdict, Fail)
    assert verdict.unknown_handler


def test_type_error_inside_the_handler_is_its_own_failure(executor: Executor) -> None:
    verdict = executor.execute(held(claim_of(type_error_inside)))

    assert isinstance(verdict, Fail)
    assert not verdict.unknown_handler


@pytest.mark.parametrize("stored", ["{", "{}", "7"])
def test_arguments_that_somebody_corrupted_are_a_failure_for_good(
    executor: Executor, stored: str
) -> None:
    verdict = executor.execute(held(claim_of(add, args_json=stored)))

    assert isinstance(verdict, Fail)
    assert verdict.retry_in is None


@pytest.mark.parametrize(
    ("claim", "ended"),
    [
        (a_claim("reports.retired"), ": scheduling.errors.UnknownHandler"),
        (claim_of(add, args_json="{"), ", for good: "),
        (claim_of(raise_, "error"), ": builtins.ValueError"),
    ],
    ids=["no handler", "no arguments", "failed"],
)
def test_an_attempt_that_failed_is_one_line_whether_or_not_a_handler_began(
    claim: Claim, ended: str, executor: Executor, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger=announcements.__name__):
        executor.execute(held(claim))

    (told,) = [one.message for one in caplog.records if one.name == announcements.__name__]
    assert told.startswith(f"{claim.name} {claim.task_id} failed on attempt 1 of 3{ended}")


@pytest.mark.parametrize("declared", [spin, sleep])
def test_handler_whose_time_is_up_is_interrupted(executor: Executor, declared: Any) -> None:
    mine = held(claim_of(declared, timeout_seconds=0.05))

    assert failure(executor.execute(mine)) == "scheduling.errors.TaskTimeout"
    assert mine.cancelled.is_set()
    assert mine.running is None


def test_handler_past_its_deadline_is_interrupted_at_once(executor: Executor) -> None:
    claim = claim_of(spin, deadline=a_claim().acquired_at - timedelta(seconds=1))

    assert failure(executor.execute(held(claim))) == "scheduling.errors.TaskTimeout"


def asked_to_stop(declared: Any) -> Held:
    mine = held(claim_of(declared))
    mine.cancel_requested = True
    mine.cancelled.set()
    return mine


def test_handler_that_heeds_a_cancellation_is_stopped_not_succeeded(executor: Executor) -> None:
    assert executor.execute(asked_to_stop(heed)) == Stop()


def test_handler_that_finishes_without_looking_has_succeeded(executor: Executor) -> None:
    assert executor.execute(asked_to_stop(tell)) == Succeed('[1,1,"tenant-a"]')


@pytest.mark.parametrize(
    ("declared", "args"), [(add, [1]), (raise_, ["error"])], ids=["add", "raise"]
)
def test_a_handler_that_ends_after_its_claim_was_handed_back_has_neither_succeeded_nor_failed(
    declared: Any, args: list[Any], executor: Executor, caplog: pytest.LogCaptureFixture
) -> None:
    mine = held(claim_of(declared, *args))
    mine.handed_back = True

    with caplog.at_level("INFO", logger=announcements.__name__):
        assert executor.execute(mine) == Release()

    (told,) = [one.message for one in caplog.records if one.name == announcements.__name__]
    assert told.endswith("was handed back before its handler ended; attempt 1 of 3 is not counted.")


def test_timeout_is_no_cancellation(executor: Executor) -> None:
    mine = held(claim_of(heed))
    mine.cancelled.set()

    assert executor.execute(mine) == Succeed('"stopped early"')


def test_task_timeout_is_not_caught_by_handlers_that_go_on_after_any_error() -> None:
    assert not issubclass(TaskTimeout, Exception)


Received = list[tuple[str, Any]]


@pytest.fixture
def received() -> Iterator[Received]:
    """What the framework's signals told, oldest first."""
    told: Received = []
    announcements.without_the_framework()

    def note_start(task_result: Any, **kwargs: Any) -> None:
        told.append(("started", task_result))

    def note_end(task_result: Any, **kwargs: Any) -> None:
        told.append(("finished", task_result))

    task_started.connect(note_start)
    task_finished.connect(note_end)
    yield told
    task_started.disconnect(note_start)
    task_finished.disconnect(note_end)


@pytest.mark.parametrize(
    ("args", "options", "status"),
    [
        ((add, 1, 2), {}, "SUCCESSFUL"),
        ((raise_, "error"), {}, "READY"),
        ((raise_, "error"), {"attempt": 3}, "FAILED"),
    ],
)
def test_receivers_are_told_of_the_start_and_of_what_came_of_it(
    executor: Executor,
    received: Received,
    args: tuple[Any, ...],
    options: dict[str, Any],
    status: str,
) -> None:
    executor.execute(held(claim_of(*args, **options)))

    (first, start), (second, end) = received
    assert (first, start.status) == ("started", "RUNNING")
    assert (second, end.status) == ("finished", status)
    if status == "SUCCESSFUL":
        assert end.return_value == 3
    else:
        assert [error.exception_class for error in end.errors] == [ValueError]


def test_receiver_that_raises_does_not_reach_the_handler(
    executor: Executor, received: Received
) -> None:
    def break_(**kwargs: Any) -> NoReturn:
        raise RuntimeError

    task_started.connect(break_)
    try:
        assert executor.execute(held(claim_of(add, 1))) == Succeed("1")
    finally:
        task_started.disconnect(break_)


@pytest.mark.parametrize(
    ("declared", "error"),
    [
        (give_what_cannot_be_read, "builtins.ConnectionError"),
        (be_rude, f"{__name__}.Rude"),
        (exit_in_its_backoff, "builtins.ValueError"),
        (raise_what_has_no_storable_name, f"{__name__}.\\u0000"),
    ],
)
def test_what_a_handler_leaves_behind_is_code_too_and_ends_no_more_than_its_attempt(
    executor: Executor, declared: Any, error: str
) -> None:
    assert failure(executor.execute(held(claim_of(declared)))) == error


@task()
def tell_what_is_under_way() -> list[Any]:
    attempt = under_way.attempt()
    assert attempt is not None
    return [str(attempt.task_id), attempt.attempt, attempt.generation, attempt.tenant]


@task()
async def tell_it_on_the_loop() -> list[Any]:
    told: list[Any] = tell_what_is_under_way.func()
    return told


@pytest.mark.parametrize("declared", [tell_what_is_under_way, tell_it_on_the_loop])
def test_a_handlers_log_can_name_its_attempt(executor: Executor, declared: Any) -> None:
    claim = claim_of(declared)
    verdict = executor.execute(held(claim))
    assert isinstance(verdict, Succeed), verdict
    assert json.loads(verdict.result_json) == [
        str(claim.task_id),
        claim.attempt,
        claim.generation,
        claim.tenant,
    ]
    assert under_way.attempt() is None
