"""Hosts that are connected by cables, and a way to pull those: namespaces of this machine's network.

Nothing of it is seen outside. The namespaces take everything that is in them along when they go.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest

SUBNET = "192.168.77"
SERVER = f"{SUBNET}.1"
SWITCH = "switch"
"""The bridge that connects all hosts. It is in the namespace of the server, and has its address."""


@dataclass(frozen=True)
class Host:
    """A network of its own, and process ids of its own: nobody on one host can tell who lives on another."""

    name: str
    plug: str
    """The other end of its cable."""
    server: str

    @property
    def command(self) -> list[str]:
        """What runs another command on this host. Ended by a signal, it takes along all that runs there."""
        return [*inside(self.name), "unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]

    @contextmanager
    def cut_off(self) -> Iterator[None]:
        """The cable is pulled, for as long as the block lasts. What either side sends just vanishes."""
        self._set_plug("down")
        try:
            yield
        finally:
            self._set_plug("up")

    def _set_plug(self, state: str) -> None:
        run("ip", "-n", self.server, "link", "set", self.plug, state)


@dataclass(frozen=True)
class Network:
    server: str
    """The namespace of the server."""
    hosts: tuple[Host, Host]


@contextmanager
def two_hosts() -> Iterator[Network]:
    """A server at SERVER and two hosts that reach it. Skips where this machine does not let us."""
    if reason := why_not():
        pytest.skip(reason)
    prefix = f"rentroll-{os.getpid()}"
    with ExitStack() as namespaces:
        server = namespaces.enter_context(namespace(f"{prefix}-server"))
        run("ip", "-n", server, "link", "add", SWITCH, "type", "bridge")
        bring_up(server, SWITCH, SERVER)
        one, two = (namespaces.enter_context(namespace(f"{prefix}-{n}")) for n in ("one", "two"))
        yield Network(server, (connect(one, server, 2), connect(two, server, 3)))


def why_not() -> str:
    """Why there can be no such network here; empty if there can be one."""
    if sys.platform != "linux":
        return "Needs network namespaces, which only Linux has."
    if missing := [name for name in ("ip", "unshare") if not shutil.which(name)]:
        return f"Needs {' and '.join(missing)}, which is not installed."
    trial = f"rentroll-{os.getpid()}-trial"
    if complaint := complaint_of("ip", "netns", "add", trial):
        return f"Needs the right to make network namespaces, as root has it: {complaint}"
    run("ip", "netns", "del", trial)
    return ""


@contextmanager
def namespace(name: str) -> Iterator[str]:
    run("ip", "netns", "add", name)
    try:
        run("ip", "-n", name, "link", "set", "lo", "up")
        yield name
    finally:
        run("ip", "netns", "del", name)


def connect(name: str, server: str, number: int) -> Host:
    """A cable between a host and the switch."""
    host = Host(name, plug=f"port{number}", server=server)
    run(
        *("ip", "-n", server, "link", "add", host.plug, "type", "veth"),
        *("peer", "name", "eth0", "netns", name),
    )
    run("ip", "-n", server, "link", "set", host.plug, "master", SWITCH, "up")
    bring_up(name, "eth0", f"{SUBNET}.{number}")
    return host


def bring_up(name: str, link: str, address: str) -> None:
    run("ip", "-n", name, "address", "add", f"{address}/24", "dev", link)
    run("ip", "-n", name, "link", "set", link, "up")


def inside(name: str) -> list[str]:
    return ["ip", "netns", "exec", name]


def run(*command: str) -> None:
    complaint = complaint_of(*command)
    assert not complaint, f"{' '.join(command)}: {complaint}"


def complaint_of(*command: str) -> str:
    """What the command says when it fails; empty if it does not."""
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stderr.strip() or f"exit code {done.returncode}" if done.returncode else ""
