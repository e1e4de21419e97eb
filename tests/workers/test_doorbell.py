"""Rings and signals wake whoever waits."""

import os
import selectors
import signal
from collections.abc import Iterator

import pytest

from scheduling.workers.doorbell import Doorbell


@pytest.fixture
def answering() -> Iterator[Doorbell]:
    """A bell that SIGUSR1 rings, until the test is over."""
    bell = Doorbell()
    before = signal.getsignal(signal.SIGUSR1)
    bell.answer([signal.SIGUSR1])
    yield bell
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGUSR1, before)


def is_ringing(bell: Doorbell) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(bell, selectors.EVENT_READ)
        return bool(selector.select(0))


def test_many_rings_are_one_until_somebody_hushes() -> None:
    bell = Doorbell()
    bell.ring()
    bell.ring()
    assert is_ringing(bell)
    assert os.read(bell.fileno(), 10) == b"\0"

    assert bell.hush() == frozenset()
    bell.ring()
    assert is_ringing(bell)
    bell.hush()
    assert not is_ringing(bell)


def test_signal_is_heard_with_its_number(answering: Doorbell) -> None:
    os.kill(os.getpid(), signal.SIGUSR1)
    answering.ring()

    assert is_ringing(answering)
    assert answering.hush() == {signal.SIGUSR1}
    assert answering.hush() == frozenset()
