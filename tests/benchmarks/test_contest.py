"""Which of a peer's settings stands for it, and what happens to peers that cannot be measured."""

import pytest

from benchmarks.contest import Contest
from benchmarks.figures import at_least
from benchmarks.peers import CELERY, HUEY, OURS, Peer
from benchmarks.plan import Plan, Size
from benchmarks.stage import Database, Unavailable

PLAN = Plan(database=Database.SQLITE, rounds=2)


@pytest.fixture(autouse=True)
def all_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Peer, "check", lambda peer: None)


def held(rates: dict[str, float], *peers: Peer, plan: Plan = PLAN) -> tuple[Contest, list[str]]:
    """A contest in which each setting has a rate, and the order in which they were measured."""
    contest, order = Contest(), []

    def measure(peer: Peer, setting: str) -> dict[str, float]:
        order.append(setting if peer is HUEY else peer.name)
        if peer is CELERY:
            raise Unavailable("redis-server is not installed")
        return {"rate": rates.get(setting, 100)}

    contest.hold(plan, peers, measure)
    return contest, order


def test_everybody_is_measured_in_every_round_in_turn() -> None:
    _, order = held({}, HUEY)
    assert order == [OURS.name, *HUEY.settings] * 2


def test_the_best_setting_of_a_peer_counts() -> None:
    contest, _ = held({"4 processes": 20, "4 threads": 25}, HUEY)
    assert contest.best(HUEY, "rate") == ("4 threads", [25, 25])
    assert contest.best(HUEY, "rate", highest=False) == ("4 processes", [20, 20])


def test_a_row_has_our_figure_and_the_peers_best() -> None:
    contest, _ = held({"4 processes": 20, "4 threads": 25}, HUEY)
    [row] = contest.rows([(HUEY, "rate", at_least(3), None)])
    assert (row.ratio, row.is_reached) == (4, True)


def test_a_quick_contest_takes_the_first_setting_only() -> None:
    quick = Plan(database=Database.SQLITE, size=Size.QUICK, rounds=1)
    _, order = held({}, HUEY, plan=quick)
    assert order == [OURS.name, HUEY.settings[0]]


def test_a_peer_that_cannot_be_measured_is_asked_once_and_named_with_the_reason() -> None:
    contest, order = held({}, CELERY, HUEY)
    assert order.count(CELERY.name) == 1
    assert contest.rows([(CELERY, "rate", at_least(3), None)]) == []
    assert contest.notes() == ["celery is left out: redis-server is not installed."]
