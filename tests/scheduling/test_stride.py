"""Whose turn it is: tenants in proportion to their weights, and each tenant's lanes in turn."""

from collections import Counter
from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduling.ledger.dialects import LaneShare
from scheduling.ledger.stride import Round, plan

PLENTY: Mapping[int, int] = {}


def lane(
    lane_id: int,
    tenant_id: int,
    *,
    weight: int = 1,
    virtual_time: float = 0.0,
    served_at: float = 0.0,
    room: int | None = None,
) -> LaneShare:
    return LaneShare(
        lane_id,
        tenant_id,
        f"t{tenant_id}",
        f"q{lane_id}",
        virtual_time,
        served_at,
        weight,
        room,
    )


def tenants_in(round_: Round, lanes: Iterable[LaneShare]) -> list[int]:
    owner = {one.lane_id: one.tenant_id for one in lanes}
    return [owner[lane_id] for lane_id in round_.order]


def shares(
    lanes: list[LaneShare], limit: int, supply: Mapping[int, int] = PLENTY
) -> dict[int, int]:
    return dict(Counter(tenants_in(plan(lanes, limit, 0.0, supply), lanes)))


def test_with_no_lanes_nobody_is_served() -> None:
    assert plan([], 5, 7.0, PLENTY) == Round(reached=7.0)


def test_weights_of_1_2_and_4_share_seven_turns() -> None:
    lanes = [lane(number, number, weight=weight) for number, weight in ((1, 1), (2, 2), (3, 4))]
    assert shares(lanes, 70) == {1: 10, 2: 20, 3: 40}


def test_equals_take_turns() -> None:
    lanes = [lane(1, 1), lane(2, 2)]
    assert plan(lanes, 6, 0.0, PLENTY).order == [1, 2, 1, 2, 1, 2]


def test_the_lanes_of_a_tenant_take_turns_within_its_share() -> None:
    lanes = [lane(1, 1), lane(2, 1), lane(3, 1), lane(4, 2)]
    assert shares(lanes, 12) == {1: 6, 2: 6}
    assert Counter(plan(lanes, 12, 0.0, PLENTY).order) == {1: 2, 2: 2, 3: 2, 4: 6}


def test_the_lane_served_least_recently_goes_first() -> None:
    served_at = {1: 3.0, 2: 1.0, 3: 2.0}
    lanes = [lane(one, 1, virtual_time=3.0, served_at=at) for one, at in served_at.items()]
    assert plan(lanes, 3, 3.0, PLENTY).order == [2, 3, 1]


def test_a_tenant_that_fell_behind_is_given_no_more_than_its_turn() -> None:
    lanes = [lane(1, 1, virtual_time=0.0), lane(2, 2, virtual_time=100.0)]
    assert Counter(tenants_in(plan(lanes, 10, 100.0, PLENTY), lanes)) == {1: 5, 2: 5}


def test_a_tenant_that_ran_ahead_waits_no_longer_than_its_turn() -> None:
    lanes = [lane(1, 1, virtual_time=0.0), lane(2, 2, virtual_time=1_000_000.0)]
    assert 2 in tenants_in(plan(lanes, 3, 0.0, PLENTY), lanes)


def one_by_one(lanes: list[LaneShare], count: int) -> list[int]:
    """The lanes served by so many claims of one task each, which write back what they move."""
    served: list[int] = []
    reached = 0.0
    for _ in range(count):
        round_ = plan(lanes, 1, reached, PLENTY)
        served += round_.order
        reached = round_.reached
        lanes = [
            lane(
                one.lane_id,
                one.tenant_id,
                weight=one.weight,
                virtual_time=round_.turns.get(one.tenant_id, one.virtual_time),
                served_at=round_.served_at.get(one.lane_id, one.served_at),
            )
            for one in lanes
        ]
    return served


def test_a_tenant_that_ran_ahead_waits_no_longer_for_claims_of_one_task() -> None:
    """Brought back anew by each claim, it would be one turn away for ever."""
    lanes = [lane(1, 1, weight=10), lane(2, 2, virtual_time=1_000_000.0, served_at=1_000_000.0)]
    assert Counter(one_by_one(lanes, 44))[2] == 4


def test_the_lanes_of_a_tenant_that_ran_ahead_take_turns_again() -> None:
    far = 1_000_000.0
    lanes = [lane(one, 1, virtual_time=far, served_at=far) for one in (1, 2)]
    assert Counter(one_by_one(lanes, 10)) == {1: 5, 2: 5}


def test_only_those_lanes_are_brought_back_that_were_served_later_than_their_tenant_stands() -> (
    None
):
    served_at = {1: 10.0, 2: 9.0, 3: 0.5}
    lanes = [lane(one, 1, virtual_time=10.0, served_at=at) for one, at in served_at.items()]
    assert plan(lanes, 0, 0.0, PLENTY) == Round(turns={1: 1.0}, served_at={1: 1.0, 2: 1.0})
    assert plan(lanes, 4, 0.0, PLENTY).order == [3, 1, 2, 3]
    assert plan(lanes[:2], 2, 0.0, PLENTY).order == [1, 2], "who is brought back as far is in turn"


def test_a_tenant_stands_where_the_lane_stands_that_has_come_furthest() -> None:
    lanes = [lane(1, 1, virtual_time=1.0), lane(2, 1, virtual_time=1.5), lane(3, 2)]
    assert plan(lanes, 1, 1.0, PLENTY).order == [3]


def test_a_capped_tenant_is_served_no_further_than_its_room_over_all_its_lanes() -> None:
    lanes = [lane(1, 1, room=2), lane(2, 1, room=2), lane(3, 2)]
    assert shares(lanes, 10) == {1: 2, 2: 8}


@pytest.mark.parametrize("room", [0, -3])
def test_a_tenant_without_room_is_not_served(room: int) -> None:
    lanes = [lane(1, 1, room=room), lane(2, 2)]
    assert shares(lanes, 4) == {2: 4}


def test_a_lane_is_asked_for_no_more_than_it_is_known_to_have() -> None:
    lanes = [lane(1, 1), lane(2, 1), lane(3, 2)]
    assert Counter(plan(lanes, 12, 0.0, {1: 1, 2: 2}).order) == {1: 1, 2: 2, 3: 9}
    assert plan(lanes, 12, 0.0, {1: 0, 2: 0, 3: 0}).order == []


def test_serving_moves_the_tenant_on_by_one_over_its_weight() -> None:
    round_ = plan([lane(1, 1, weight=4)], 3, 10.0, PLENTY)
    assert round_.turns == {1: 10.75}
    assert round_.served_at == {1: 10.75}
    assert round_.reached == 10.5


def test_one_task_at_a_time_is_the_same_order_as_many_at_once() -> None:
    lanes = [lane(1, 1, weight=3), lane(2, 1, weight=3), lane(3, 2, weight=2), lane(4, 3)]
    assert one_by_one(lanes, 60) == plan(lanes, 60, 0.0, PLENTY).order


weights = st.lists(st.integers(1, 20), min_size=1, max_size=6)


@given(weights)
def test_no_waiting_tenant_is_ever_more_than_one_turn_from_its_share(weights: list[int]) -> None:
    """At every prefix: no further behind than one turn of its own and one of everybody else's."""
    lanes = [lane(number, number, weight=weight) for number, weight in enumerate(weights)]
    order = tenants_in(plan(lanes, 200, 0.0, PLENTY), lanes)
    served: Counter[int] = Counter()
    for count, tenant_id in enumerate(order, start=1):
        served[tenant_id] += 1
        for number, weight in enumerate(weights):
            share = count * weight / sum(weights)
            assert abs(served[number] - share) <= len(weights)


@given(weights, st.integers(1, 30), st.dictionaries(st.integers(0, 5), st.integers(0, 4)))
def test_a_round_is_as_full_as_the_supply_allows(
    weights: list[int], limit: int, supply: dict[int, int]
) -> None:
    lanes = [lane(number, number, weight=weight) for number, weight in enumerate(weights)]
    there = sum(supply.get(one.lane_id, limit) for one in lanes)
    round_ = plan(lanes, limit, 0.0, supply)
    assert len(round_.order) == min(limit, there)
    assert all(round_.counts[one] <= supply.get(one, limit) for one in round_.counts)
