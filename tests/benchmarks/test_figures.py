"""The benchmarks' arithmetic. What they measure is nobody's business here: nothing depends on time."""

import json

import pytest

from benchmarks.figures import (
    Report,
    Row,
    at_least,
    at_most,
    drain_rate,
    jain,
    percentile,
)


def report(*rows: Row) -> Report:
    return Report(benchmark="throughput", database="sqlite", rows=rows)


@pytest.mark.parametrize(("percent", "expected"), [(50, 50), (99, 99), (100, 100), (0.1, 1)])
def test_a_percentile_is_the_nearest_rank(percent: float, expected: float) -> None:
    assert percentile(range(100, 0, -1), percent) == expected


def test_the_p99_of_few_values_is_the_worst_of_them() -> None:
    assert percentile([3, 1, 2], 99) == 3


def test_there_is_no_percentile_of_nothing() -> None:
    with pytest.raises(ValueError, match="no sample"):
        percentile([], 50)


def test_equal_shares_have_jains_index_one() -> None:
    assert jain([7, 7, 7]) == pytest.approx(1)


def test_one_who_takes_all_leaves_an_nth() -> None:
    assert jain([12, 0, 0, 0]) == pytest.approx(0.25)


def test_unequal_shares_lie_between() -> None:
    assert jain([1, 2, 3]) == pytest.approx(36 / 42)


def test_shares_of_nothing_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="Nobody"):
        jain([0, 0])


def test_a_drain_is_measured_without_its_warm_up() -> None:
    slow_start = [0.0, 100.0]
    then_ten_a_second = [200 + n / 10 for n in range(18)]
    assert drain_rate(slow_start + then_ten_a_second) == pytest.approx(10)


def test_a_drain_is_measured_in_the_order_of_the_starts() -> None:
    assert drain_rate([4, 2, 3, 1, 5]) == pytest.approx(1)


@pytest.mark.parametrize("starts", [[], [1.0], [1.0, 1.0]])
def test_too_few_starts_have_no_rate(starts: list[float]) -> None:
    with pytest.raises(ValueError, match="too few"):
        drain_rate(starts)


def test_the_median_of_the_rounds_counts() -> None:
    row = Row(figure="tasks/s", ours=[10, 1000, 30], rival="huey", theirs=[5, 15, 10])
    assert (row.our_figure, row.their_figure, row.ratio) == (30, 10, 3)


@pytest.mark.parametrize(
    ("ours", "must", "reached"),
    [
        (30, at_least(3), True),
        (29, at_least(3), False),
        (15, at_most(1.5), True),
        (16, at_most(1.5), False),
        (16, None, None),
    ],
)
def test_a_bar_beside_a_rival_is_for_the_ratio(ours: float, must: object, reached: object) -> None:
    row = Row(figure="any", ours=[ours], rival="other", theirs=[10], must=must)  # type: ignore[arg-type]
    assert row.is_reached is reached


def test_a_bar_without_a_rival_is_for_the_figure() -> None:
    assert Row(figure="p99, ms", ours=[4.9], must=at_most(5)).is_reached is True
    assert Row(figure="p99, ms", ours=[5.1], must=at_most(5)).is_reached is False


def test_the_last_line_tells_ratios_by_rival() -> None:
    told = json.loads(
        report(
            Row(figure="tasks/s", ours=[16_000], rival="huey", theirs=[2_600], must=at_least(3)),
            Row(figure="tasks/s", ours=[16_000], rival="django-tasks-db", theirs=[400]),
            Row(figure="p99, ms", ours=[2], must=at_most(3)),
        ).as_json()
    )
    assert told["benchmark"] == "throughput"
    assert told["database"] == "sqlite"
    assert told["ours"] == 16_000
    assert told["peers"] == {"huey": 2_600, "django-tasks-db": 400}
    assert told["ratios"] == {"huey": pytest.approx(6.154), "django-tasks-db": 40}
    assert [figure["reached"] for figure in told["figures"]] == [True, None, True]


def test_the_first_row_of_a_rival_is_the_one_in_the_ratios() -> None:
    told = json.loads(
        report(
            Row(figure="p99, ms", ours=[2], rival="alone", theirs=[1]),
            Row(figure="p50, ms", ours=[3], rival="alone", theirs=[1]),
        ).as_json()
    )
    assert told["ratios"] == {"alone": 2}
    assert [figure["ratio"] for figure in told["figures"]] == [2, 3]


def test_a_rival_that_measured_nothing_leaves_valid_json() -> None:
    told = json.loads(report(Row(figure="any", ours=[1], rival="idle", theirs=[0])).as_json())
    assert told["ratios"] == {"idle": None}


def test_the_report_is_one_line_of_json() -> None:
    assert "\n" not in report(Row(figure="any", ours=[1])).as_json()


def test_the_table_shows_bars_and_whether_they_are_reached() -> None:
    table = report(
        Row(figure="tasks/s", ours=[16_000], rival="huey", theirs=[2_000], must=at_least(3)),
        Row(figure="tasks/s", ours=[16_000], rival="celery", theirs=[4_000], must=at_least(8)),
        Row(figure="tasks/s", ours=[16_000]),
    ).as_table()
    _, headings, reached, missed, unasked = table.splitlines()
    assert headings.split()[:3] == ["figure", "ours", "rival"]
    assert reached.split() == ["tasks/s", "16,000", "huey", "2,000", "8", "≥", "3", "yes"]
    assert missed.split() == ["tasks/s", "16,000", "celery", "4,000", "4", "≥", "8", "NO"]
    assert unasked.split() == ["tasks/s", "16,000"]
