"""When a recurring task is due: zones, jumps of the clocks, intervals, windows. The grammar has a file of its own."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import islice

import pytest

from scheduling.recurrence import EPOCH, Dst, Instant, InvalidRecurrence, Recurrence

NAIVE = datetime.fromisoformat("2027-01-01T00:00")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def due(
    cron: str, timezone: str, after: str, count: int = 1, *, skipped: bool = False
) -> list[str]:
    """The instants, as UTC down to the minute, each with what the clocks do to it."""
    rule = Recurrence(cron=cron, timezone=timezone)
    instants = islice(rule.after(utc(after), skipped=skipped), count)
    return [f"{each.at:%Y-%m-%dT%H:%MZ} {each.dst}".rstrip() for each in instants]


def test_a_fixed_time_that_the_clocks_leave_out_runs_once_right_after_the_jump() -> None:
    assert due("30 2 * * *", "Europe/Berlin", "2027-03-27T12:00", 2) == [
        "2027-03-28T01:00Z moved",
        "2027-03-29T00:30Z",
    ]
    assert due("0 2 * * *", "America/New_York", "2025-03-08T12:00", 2) == [
        "2025-03-09T07:00Z moved",
        "2025-03-10T06:00Z",
    ]
    assert due("0,30 2 * * *", "Europe/Berlin", "2027-03-27T12:00", 2) == [
        "2027-03-28T01:00Z moved",
        "2027-03-29T00:00Z",
    ]


def test_a_fixed_time_that_the_clocks_show_twice_runs_once() -> None:
    assert due("30 2 * * *", "Europe/Berlin", "2027-10-30T12:00", 3, skipped=True) == [
        "2027-10-31T00:30Z repeated",
        "2027-10-31T01:30Z skipped",
        "2027-11-01T01:30Z",
    ]
    assert due("30 1 * * *", "America/New_York", "2027-11-06T12:00", 2) == [
        "2027-11-07T05:30Z repeated",
        "2027-11-08T06:30Z",
    ]


@pytest.mark.parametrize("after", ["2027-10-31T00:30", "2027-10-31T00:45", "2027-10-31T01:15"])
def test_a_restart_between_the_two_showings_neither_repeats_a_time_nor_loses_its_account(
    after: str,
) -> None:
    assert due("30 2 * * *", "Europe/Berlin", after, 2, skipped=True) == [
        "2027-10-31T01:30Z skipped",
        "2027-11-01T01:30Z",
    ]


def test_a_star_means_every_real_interval_through_the_hour_that_comes_twice() -> None:
    assert due("0 * * * *", "US/Pacific", "2026-11-01T07:00", 3) == [
        "2026-11-01T08:00Z both",
        "2026-11-01T09:00Z both",
        "2026-11-01T10:00Z",
    ]
    quarters = due("*/15 * * * *", "Europe/Berlin", "2027-10-30T23:45", 9)
    assert quarters == [
        f"{utc('2027-10-31T00:00') + n * timedelta(minutes=15):%Y-%m-%dT%H:%MZ} both"
        for n in range(8)
    ] + ["2027-10-31T02:00Z"]


def test_an_interval_whose_times_are_left_out_is_skipped_once_and_accounted_for() -> None:
    assert due("0 */2 * * *", "Europe/Berlin", "2027-03-27T23:00", 3, skipped=True) == [
        "2027-03-28T01:00Z skipped",
        "2027-03-28T02:00Z",
        "2027-03-28T04:00Z",
    ]
    assert due("*/15 * * * *", "Europe/Berlin", "2027-03-28T00:45", 2, skipped=True) == [
        "2027-03-28T01:00Z",
        "2027-03-28T01:15Z",
    ]


def test_half_an_hour_is_a_jump_like_any_other() -> None:
    put_back = due("*/15 2 * * *", "Australia/Lord_Howe", "2027-04-03T13:00", 4)
    assert put_back == [f"2027-04-03T{at}Z" for at in ("15:30", "15:45", "16:00", "16:15")]
    put_on = due("*/15 3 * * *", "Australia/Lord_Howe", "2027-10-02T13:00", 4)
    assert put_on == [f"2027-10-02T{at}Z" for at in ("16:00", "16:15", "16:30", "16:45")]


def test_a_lost_day_is_a_jump_like_any_other() -> None:
    assert due("30 2 * * *", "Pacific/Apia", "2011-12-29T00:00", 3) == [
        "2011-12-29T12:30Z",
        "2011-12-30T10:00Z moved",
        "2011-12-30T12:30Z",
    ]


def test_midnight_may_be_the_hour_that_is_left_out() -> None:
    assert due("0 0 * * *", "America/Santiago", "2027-09-04T12:00", 2) == [
        "2027-09-05T04:00Z moved",
        "2027-09-06T03:00Z",
    ]
    assert due("*/30 0 * * *", "America/Santiago", "2027-09-04T12:00", 2, skipped=True) == [
        "2027-09-05T04:00Z skipped",
        "2027-09-06T03:00Z",
    ]


@pytest.mark.parametrize(
    ("cron", "after", "expected"),
    [
        ("0 9 29 2 *", "2096-02-29T09:00", "2104-02-29T09:00Z"),
        ("0 0 31 * *", "2026-01-31T00:00", "2026-03-31T00:00Z"),
        ("0 0 L * *", "2027-01-31T00:00", "2027-02-28T00:00Z"),
        ("0 0 29 2 */7", "2088-02-29T00:00", "2128-02-29T00:00Z"),
        ("0 9 * * FRIL", "2027-01-01T00:00", "2027-01-29T09:00Z"),
        ("0 9 * * mon#2", "2027-01-01T00:00", "2027-01-11T09:00Z"),
        ("0 0 13 * FRI", "2027-01-09T00:00", "2027-01-13T00:00Z"),
        ("0 0 */2 * MON", "2027-01-02T00:00", "2027-01-11T00:00Z"),
    ],
)
def test_days_follow_the_calendar(cron: str, after: str, expected: str) -> None:
    assert due(cron, "UTC", after) == [expected]


def test_an_instant_knows_its_local_time() -> None:
    rule = Recurrence(cron="30 2 * * *", timezone="Europe/Berlin")
    assert rule.first(utc("2027-03-27T12:00")) == Instant(
        utc("2027-03-28T01:00"), datetime(2027, 3, 28, 3, tzinfo=rule.zone), Dst.MOVED
    )


def test_where_one_asks_from_does_not_matter() -> None:
    rule = Recurrence(cron="*/20 1-3 * * *", timezone="Europe/Berlin")
    all_of_them = [each.at for each in islice(rule.after(utc("2027-10-30T00:00")), 60)]
    step = timedelta(minutes=7, seconds=3)
    for n in range(300):
        start = utc("2027-10-30T00:00") + n * step
        found = rule.first(start)
        assert found
        assert found.at == next(at for at in all_of_them if at > start)


def test_an_interval_keeps_step_with_its_anchor_through_jumps_and_centuries() -> None:
    rule = Recurrence(
        every=timedelta(minutes=50), anchor=utc("2027-01-01T00:00"), timezone="Europe/Berlin"
    )
    first = rule.first(utc("2027-03-28T00:00"))
    assert first
    assert (first.at - utc("2027-01-01T00:00")) % timedelta(minutes=50) == timedelta()
    assert first.at - utc("2027-03-28T00:00") <= timedelta(minutes=50)

    quarters = Recurrence(every=timedelta(minutes=15))
    assert quarters.anchor == EPOCH
    assert quarters.first(utc("2027-03-28T00:07")) == Instant(
        utc("2027-03-28T00:15"), utc("2027-03-28T00:15")
    )

    each_second = Recurrence(every=timedelta(seconds=1), anchor=datetime(1, 1, 4, tzinfo=UTC))
    assert each_second.first(utc("2027-03-28T00:07") - timedelta(microseconds=1)) == Instant(
        utc("2027-03-28T00:07"), utc("2027-03-28T00:07")
    )


def test_a_window_begins_with_its_start_and_leaves_out_its_end() -> None:
    rule = Recurrence(
        cron="0 * * * *", starts_at=utc("2027-01-01T10:00"), ends_at=utc("2027-01-01T13:00")
    )
    assert [each.at.hour for each in rule.after(utc("2020-01-01T00:00"))] == [10, 11, 12]
    assert [each.at.hour for each in rule.after(utc("2027-01-01T10:00"))] == [11, 12]
    assert rule.first(utc("2027-01-01T12:00")) is None


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/Santiago", "UTC"])
@pytest.mark.parametrize(
    "rule", [{"cron": "* * * * *"}, {"cron": "0 0 1 1 *"}, {"every": timedelta(days=30)}]
)
def test_the_calendar_may_end(zone: str, rule: dict[str, object]) -> None:
    recurrence = Recurrence(**rule, timezone=zone)  # type: ignore[arg-type]
    far_east, far_west = (timezone(timedelta(hours=hours)) for hours in (14, -12))
    assert recurrence.first(datetime.min.replace(tzinfo=far_east))
    assert recurrence.first(datetime.max.replace(tzinfo=far_west)) is None
    last_ones = list(islice(recurrence.after(datetime(9999, 12, 28, 20, tzinfo=UTC)), 300))
    assert len(last_ones) < 300


@pytest.mark.parametrize(
    ("rule", "field"),
    [
        ({}, "cron"),
        ({"cron": "* * * * *", "every": timedelta(hours=1)}, "cron"),
        ({"cron": "* * * * *", "anchor": EPOCH}, "anchor"),
        ({"every": timedelta()}, "every_seconds"),
        ({"every": timedelta(seconds=-5)}, "every_seconds"),
        ({"every": timedelta(seconds=1.5)}, "every_seconds"),
        ({"every": timedelta(days=36_501)}, "every_seconds"),
        ({"every": timedelta(hours=1), "anchor": NAIVE}, "anchor"),
        ({"every": timedelta(hours=1), "anchor": datetime.min.replace(tzinfo=UTC)}, "anchor"),
        ({"cron": "* * * * *", "starts_at": NAIVE}, "starts_at"),
        ({"cron": "* * * * *", "starts_at": datetime.max.replace(tzinfo=UTC)}, "starts_at"),
        ({"cron": "* * * * *", "starts_at": EPOCH, "ends_at": EPOCH}, "ends_at"),
        (
            {
                "cron": "0 0 29 2 *",
                "starts_at": datetime(2097, 1, 1, tzinfo=UTC),
                "ends_at": datetime(2104, 2, 29, tzinfo=UTC),
            },
            "ends_at",
        ),
        *(
            ({"cron": "* * * * *", "timezone": zone}, "timezone")
            for zone in [
                "",
                "CEST",
                "+02:00",
                "Mars/Base",
                "Europe",
                "localtime",
                "posixrules",
                "../../etc/passwd",
                "/etc/passwd",
                "Europe/Berlin\0",
                "x" * 10_000,
            ]
        ),
    ],
)
def test_a_rule_that_cannot_be_followed_is_refused_by_its_field(
    rule: dict[str, object], field: str
) -> None:
    with pytest.raises(InvalidRecurrence) as refused:
        Recurrence(**rule)  # type: ignore[arg-type]
    assert refused.value.field == field
    assert len(refused.value.message) < 200


@pytest.mark.parametrize(
    ("written", "spelled"),
    [("europe/berlin", "Europe/Berlin"), ("US/PACIFIC", "US/Pacific"), ("utc", "UTC")],
)
def test_a_zone_may_be_written_in_any_case_and_by_an_alias(written: str, spelled: str) -> None:
    assert Recurrence(cron="* * * * *", timezone=written).timezone == spelled


def test_an_instant_without_a_zone_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="zone"):
        Recurrence(cron="* * * * *").after(NAIVE)


def test_an_interval_is_told_in_words() -> None:
    rule = Recurrence(every=timedelta(minutes=90), anchor=utc("2027-01-01T08:00"))
    assert rule.in_words() == "Every 1h30m, counted from 2027-01-01 08:00:00 UTC"
