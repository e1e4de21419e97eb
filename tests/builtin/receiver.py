"""An HTTP server on loopback that answers as it is told and remembers what it got."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass(frozen=True)
class Answer:
    """One answer to give. `status` 0 hangs up without any."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b"thanks"


@dataclass(frozen=True)
class Received:
    """One request that came in."""

    method: str
    path: str
    headers: Message
    body: bytes


class Receiver(ThreadingHTTPServer):
    """Gives the answers in their order, the last one again and again."""

    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = deque([Answer()])
        self.received: list[Received] = []

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def will_answer(self, *answers: Answer) -> None:
        self.answers = deque(answers)

    def next_answer(self) -> Answer:
        return self.answers.popleft() if len(self.answers) > 1 else self.answers[0]


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def answer(self) -> None:
        length = int(self.headers.get("content-length", 0))
        body = self.rfile.read(length)
        self.server.received.append(Received(self.command, self.path, self.headers, body))
        answer = self.server.next_answer()
        self.close_connection = True
        if not answer.status:
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_DELETE = do_GET = do_HEAD = do_PATCH = do_POST = do_PUT = answer  # noqa: N815  # named by http.server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # named by http.server
        """Tests read `received`; nobody reads a log."""


@contextmanager
def receiver_on_loopback() -> Iterator[Receiver]:
    with Receiver() as receiver:
        thread = Thread(target=receiver.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield receiver
        finally:
            receiver.shutdown()
            thread.join()
