"""The plan of faults: the same for a seed, and complete."""

from tests.chaos.plan import Kind, plan


def test_seed_gives_the_same_plan_again_and_another_seed_another() -> None:
    assert plan("1", 60, list(Kind)) == plan("1", 60, list(Kind))
    assert plan("1", 60, list(Kind)) != plan("2", 60, list(Kind))


def test_what_is_not_possible_changes_nothing_about_the_rest() -> None:
    possible = set(Kind) - {Kind.FILL_DISK}

    assert plan("1", 60, possible) == [
        fault for fault in plan("1", 60, list(Kind)) if fault.kind in possible
    ]


def test_every_kind_comes_in_a_run_of_a_minute() -> None:
    assert {fault.kind for fault in plan("1", 60, list(Kind))} == set(Kind)


def test_no_fault_begins_after_the_end() -> None:
    assert all(0 < fault.at < 10 for fault in plan("1", 10, list(Kind)))
