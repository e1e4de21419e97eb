"""procrastinate on PostgreSQL."""

import time
from contextlib import ExitStack
from types import TracebackType
from typing import NoReturn, Self

from procrastinate import App, PsycopgConnector, SyncPsycopgConnector

from benchmarks import props
from benchmarks.peers import sending
from benchmarks.peers.command import become

app = App(connector=PsycopgConnector(conninfo=props.address()))


@app.task(name="noop")  # type: ignore[untyped-decorator]
async def noop(number: int, sent_at: float) -> None:
    props.note_start(number, sent_at)


class Sender(sending.Sender):
    def __enter__(self) -> Self:
        with ExitStack() as opened:
            connector = SyncPsycopgConnector(conninfo=props.address())
            self._app = opened.enter_context(app.replace_connector(connector))
            opened.enter_context(self._app.open())
            self._opened = opened.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._opened.close()

    def prepare(self) -> None:
        self._app.schema_manager.apply_schema()

    def enqueue(self, number: int) -> None:
        self._app.tasks["noop"].defer(number=number, sent_at=time.monotonic())


def work(setting: str) -> NoReturn:
    become("-m", "procrastinate", "-a", "benchmarks.peers.procrastinate.app", "worker", "-c", "10")
