"""Owns how a browser is served: by this process, with all our middleware in front of the console."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from django.test.testcases import LiveServerThread


@contextmanager
def serving() -> Iterator[str]:
    """The address of a server on the database that Django is set up for."""
    thread = LiveServerThread("127.0.0.1", static_handler=cast("Any", _plainly))
    thread.daemon = True
    thread.start()
    thread.is_ready.wait()
    if thread.error:
        raise thread.error
    yield f"http://127.0.0.1:{thread.port}"
    thread.terminate()


def _plainly(application: Any) -> Any:
    """WhiteNoise is to serve static files, as it does for everybody."""
    return application
