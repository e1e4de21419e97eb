"""Going on when the ledger does not answer."""

import logging

import pytest
from django.db import OperationalError

from scheduling.workers.outage import FIRST_WAIT, LONGEST_WAIT, Outage
from tests.workers.kit import Clock


def test_waits_are_bounded_and_the_log_has_one_line_for_each_end(
    moved_clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    outage = Outage()
    for failures in range(1, 2000):
        outage.go_on(OperationalError("disk is full"))
        wait = outage.try_again_at - moved_clock.seconds
        assert 0 <= wait <= LONGEST_WAIT.total_seconds()
        assert failures > 1 or wait <= FIRST_WAIT.total_seconds()
    assert outage.is_on()
    moved_clock.pass_(90)

    outage.end()

    assert not outage.is_on()
    assert outage.try_again_at == 0.0
    first, last = caplog.messages
    assert "disk is full" in first
    assert "after 90.0 s" in last
