"""Where `async def` handlers run: one event loop per worker process, in a thread of its own.

A slot waits for its coroutine, so coroutines count against the slots like everything else.
"""

import asyncio
from collections.abc import Coroutine
from functools import cached_property
from threading import Thread
from typing import Any, Protocol

from asgiref.sync import sync_to_async

from scheduling.errors import TaskTimeout
from scheduling.workers import leftovers


class Running(Protocol):
    """A coroutine under way."""

    def result(self) -> Any:
        """Wait for the end; return or raise what the coroutine did, TaskTimeout if it was interrupted."""

    def interrupt(self) -> None:
        """Raise TaskTimeout in it, if it has not ended. Returns at once."""


class Coroutines:
    """The event loop, started by the first coroutine that needs it."""

    def start(self, coroutine: Coroutine[Any, Any, Any]) -> Running:
        """Set it going in the context (variables) of the caller."""
        return RunningCoroutine(coroutine, self._loop)

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        Thread(target=loop.run_forever, name="event-loop", daemon=True).start()
        return loop


class RunningCoroutine:
    """A handler on the event loop."""

    def __init__(
        self, coroutine: Coroutine[Any, Any, Any], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._loop = loop
        self._task: asyncio.Task[Any] | None = None
        self._timed_out = False
        self._end = asyncio.run_coroutine_threadsafe(self._run(coroutine), loop)

    def result(self) -> Any:
        result, error = self._end.result()
        if self._timed_out and isinstance(error, asyncio.CancelledError):
            raise TaskTimeout from error
        if error is not None:
            raise error
        return result

    def interrupt(self) -> None:
        self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        self._timed_out = True
        if self._task is not None:
            self._task.cancel()

    async def _run(self, coroutine: Coroutine[Any, Any, Any]) -> tuple[Any, BaseException | None]:
        self._task = asyncio.current_task()
        try:
            return await coroutine, None
        except BaseException as error:  # noqa: BLE001  # a SystemExit let out would end the loop
            return None, error
        finally:
            if leftovers.are_elsewhere():  # in the thread that `sync_to_async` takes the ORM to
                await sync_to_async(leftovers.clear)()
