"""Fixtures of the workers' tests."""

import pytest

from tests.workers.kit import Clock


@pytest.fixture
def moved_clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)
