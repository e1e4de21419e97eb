"""Programs that run together end together, and each is asked to stop once per request."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

PARENT = """
import sys
from pathlib import Path
from config.children import run_together

programs = {name: [sys.executable, "-c", code] for name, code in zip("ab", sys.argv[1:])}
print("blamed:", *run_together(programs, cwd=Path.cwd()), flush=True)
"""
LISTENER = """
import os, signal

def say(line):
    os.write(1, line.encode() + b"\\n")  # whole lines, though two children share the pipe

heard, hear = os.pipe()
os.set_blocking(hear, False)
signal.set_wakeup_fd(hear)
for awaited in (signal.SIGTERM, signal.SIGINT):
    signal.signal(awaited, lambda *_: None)
say("ready")

asked = 0
while asked < TIMES:
    received = signal.Signals(os.read(heard, 1)[0])
    say(received.name)
    asked += received == signal.SIGTERM
"""
PATIENT = LISTENER.replace("TIMES", "1")
STUBBORN = LISTENER.replace("TIMES", "2")
BROKEN = "raise SystemExit(3)"

OWNER = """
import socket, sys
from pathlib import Path
from config.children import run_together

listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
takes_one = f"import socket; socket.socket(fileno={listener.fileno()}).accept()"
programs = {"web": [sys.executable, "-c", takes_one], "other": [sys.executable, "-c", sys.argv[1]]}
print("blamed:", *run_together(programs, cwd=Path.cwd(), listeners={"web": listener}), flush=True)
"""

Parent = subprocess.Popen[str]


@pytest.fixture
def started(request: pytest.FixtureRequest) -> Iterator[Parent]:
    """A parent in a process group of its own, with the children that the test is parametrized with."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, *request.param],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as parent:
        yield parent
        if parent.poll() is None:
            os.killpg(parent.pid, signal.SIGKILL)


def await_ready(parent: Parent, count: int = 2) -> None:
    assert parent.stdout
    assert [parent.stdout.readline() for _ in range(count)] == ["ready\n"] * count


def rest_of_output(parent: Parent) -> list[str]:
    """Every line until nobody is left who could write one."""
    output, _ = parent.communicate()
    return output.splitlines()


@pytest.mark.parametrize("started", [(PATIENT, PATIENT)], indirect=True)
def test_sigterm_ends_all_and_blames_nobody(started: Parent) -> None:
    await_ready(started)
    started.terminate()
    assert rest_of_output(started) == ["SIGTERM", "SIGTERM", "blamed:"]


@pytest.mark.parametrize("started", [(PATIENT, PATIENT)], indirect=True)
def test_ctrl_c_reaches_a_child_once_though_the_terminal_sends_it_to_the_whole_group(
    started: Parent,
) -> None:
    await_ready(started)
    os.killpg(started.pid, signal.SIGINT)
    assert rest_of_output(started) == ["SIGTERM", "SIGTERM", "blamed:"]


@pytest.mark.parametrize("started", [(PATIENT, BROKEN)], indirect=True)
def test_a_child_that_ends_takes_the_others_with_it_and_is_blamed(started: Parent) -> None:
    assert rest_of_output(started)[-1] == "blamed: b ended with exit code 3"


@pytest.mark.parametrize("started", [(STUBBORN,)], indirect=True)
def test_a_second_signal_is_handed_on(started: Parent) -> None:
    await_ready(started, count=1)
    started.terminate()
    assert started.stdout
    assert started.stdout.readline() == "SIGTERM\n"
    started.terminate()
    assert rest_of_output(started) == ["SIGTERM", "blamed:"]


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux tells a child of its parent's death"
)
@pytest.mark.parametrize("started", [(PATIENT, PATIENT)], indirect=True)
def test_a_killed_parent_leaves_no_child_behind(started: Parent) -> None:
    await_ready(started)
    started.kill()
    assert rest_of_output(started) == ["SIGTERM", "SIGTERM"]


def test_a_listener_belongs_to_its_program_alone() -> None:
    """Nobody who is still there takes or keeps connections for it once it has ended."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, STUBBORN], stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout
        address = ("127.0.0.1", int(owner.stdout.readline()))
        await_ready(owner, count=1)
        socket.create_connection(address).close()
        assert (
            owner.stdout.readline() == "SIGTERM\n"
        )  # the web has ended, and the other stays for now
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)
        owner.terminate()
        assert rest_of_output(owner) == ["SIGTERM", "blamed: web ended with exit code 0"]
