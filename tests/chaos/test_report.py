"""The figures of a run."""

import pytest

from tests.chaos.records import Effect, Event, Fault, Records
from tests.chaos.report import percentile, recoveries


def effect(event: Event, generation: int, at: float, pid: int = 1) -> Effect:
    return Effect("a", generation, 1, "acme", event, at=at, wall=0.0, pid=pid)


def test_recovery_lasts_from_the_kill_of_the_holder_to_the_next_start() -> None:
    records = Records(
        lease=1.0,
        effects=[
            effect(Event.START, 1, 1.0),
            effect(Event.START, 2, 2.5, pid=2),
            effect(Event.END, 2, 3.0, pid=2),
            effect(Event.START, 3, 9.0, pid=2),
        ],
        faults=[
            Fault("kill", 2.0, 2.0, frozenset({1}), killed=True),
            Fault("kill", 4.0, 4.0, frozenset({2}), killed=True),
        ],
    )

    assert recoveries(records) == {"kill": [0.5]}


@pytest.mark.parametrize(("part", "value"), [(0.0, 1.0), (0.5, 3.0), (0.99, 4.0)])
def test_percentile_is_one_of_the_values(part: float, value: float) -> None:
    assert percentile([1.0, 2.0, 3.0, 4.0], part) == value
