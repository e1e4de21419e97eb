"""Cron expressions: what is one, and what is not. Field by field, nothing is guessed."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduling.recurrence import InvalidRecurrence, Recurrence

ARABIC_FIVE, FULL_WIDTH_FIVE, DOTLESS_I = "\u0665", "\uff15", "\u0131"


@pytest.mark.parametrize(
    ("expression", "stored", "in_words"),
    [
        ("* * * * *", "* * * * *", "Every minute"),
        (" */5\t*  * * * ", "*/5 * * * *", "Every 5 minutes"),
        ("05 09 * * mon-fri", "05 09 * * MON-FRI", "At 09:05, Monday through Friday"),
        ("0 0 l * *", "0 0 L * *", "At 00:00, on the last day of the month"),
        ("0 9 * * friL", "0 9 * * 5L", "At 09:00, on the last Friday of the month"),
        ("0 9 * jan,Jul MON#1", "0 9 * JAN,JUL 1#1", "At 09:00, on the first Monday of the month, only in January and July"),
        ("0 0 * * 5-7", "0 0 * * 5-7", "At 00:00, Friday through Sunday"),
        ("10-50/20 8-18/2 * * *", "10-50/20 8-18/2 * * *", "Every 20 minutes, minutes 10 through 50 past the hour, every 2 hours, between 08:00 and 18:59"),
    ],
)  # fmt: skip
def test_what_is_accepted_and_how_it_is_told(expression: str, stored: str, in_words: str) -> None:
    rule = Recurrence(cron=expression)
    assert (rule.cron, rule.in_words()) == (stored, in_words)


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("", "has 0 of the five fields"),
        ("* * * *", "has 4 of the five fields"),
        ("* * * * * *", "has 6 of the five fields"),
        ("* * * * * * *", "has 7 of the five fields"),
        ("@reboot", "has 1 of the five fields"),
        ("@daily", "has 1 of the five fields"),
        ("60 * * * *", "minute '60': must be from 0 to 59"),
        ("-1 * * * *", "minute '-1': expected a number"),
        ("1- * * * *", "minute '1-': expected a number"),
        ("5-1 * * * *", "minute '5-1': the range runs backwards"),
        ("1,,2 * * * *", "minute '': expected a number"),
        ("*,5 * * * *", "minute '*,5': `*` stands alone"),
        ("*5 * * * *", "minute '*5': `*` stands alone"),
        ("*/0 * * * *", "minute '*/0': the step must be from 1 to 59"),
        ("*/90 * * * *", "minute '*/90': the step must be from 1 to 59"),
        ("*/ * * * *", "minute '*/': the step must be from 1 to 59"),
        ("*/1/2 * * * *", "minute '*/1/2': the step must be from 1 to 59"),
        ("5/15 * * * *", "minute '5/15': a step needs a range, such as 5-59/15"),
        ("0-10/11 * * * *", "minute '0-10/11': the step must be from 1 to 10"),
        ("007 * * * *", "minute '007': expected a number"),
        (f"{10**20} * * * *", "expected a number"),
        ("0 24 * * *", "hour '24': must be from 0 to 23"),
        ("0 1 0/10 * *", "day of month '0/10': must be from 1 to 31"),
        ("0 0 LW * *", "day of month 'LW': expected a number"),
        ("0 0 L-3 * *", "day of month 'L-3': expected a number"),
        ("0 0 ? * *", "day of month '?': expected a number"),
        ("0 0 15W * *", "day of month '15W': expected a number"),
        ("0 0 * 13 *", "month '13': must be from 1 to 12"),
        ("0 0 * FEBR *", "month 'FEBR': expected a number from 1 to 12 or a name from JAN to DEC"),
        ("0 0 * * 8", "day of week '8': must be from 0 to 7"),
        ("0 0 * * L", "day of week 'L': expected a number"),
        ("0 0 * * MON#6", "day of week 'MON#6': expected a number"),
        ("0 0 * * FRI-SUN", "the range runs backwards; Sunday at the end of a range is 7"),
        ("R R * * *", "minute 'R': expected a number"),
        ("H H * * *", "minute 'H': expected a number"),
        (f"{ARABIC_FIVE} * * * *", "holds characters that no rule is made of"),
        (f"{FULL_WIDTH_FIVE} * * * *", "holds characters that no rule is made of"),
        (f"0 0 * j{DOTLESS_I}n *", "holds characters that no rule is made of"),
        ("0 0 * *\n*", "holds characters that no rule is made of"),
        ("0 0 * * 1\0", "holds characters that no rule is made of"),
        ("* " * 5_000, "is longer than 255 characters"),
        ("0 0 31 2 *", "'0 0 31 2 *' never fires"),
        ("0 0 31 4,6,9,11 *", "never fires"),
        ("0 0 30 2 */2", "never fires"),
        ("0 0 */30 2 MON#5", "never fires"),
    ],
)  # fmt: skip
def test_what_is_refused_and_why(expression: str, complaint: str) -> None:
    with pytest.raises(InvalidRecurrence) as refused:
        Recurrence(cron=expression)
    assert refused.value.field == "cron"
    assert complaint in refused.value.message
    assert len(refused.value.message) < 200


@pytest.mark.parametrize(
    ("expression", "in_words"),
    [
        ("0 0 13 * FRI", "At 00:00, on day 13 of the month, or on Friday"),
        ("0 0 1-31/10 * MON-FRI", "At 00:00, on days 1, 11, 21 and 31 of the month, or on Monday through Friday"),
        ("0 0 */10 * MON", "At 00:00, on days 1, 11, 21 and 31 of the month, if that is a Monday"),
        ("0 0 */30 * 1#1,5L", "At 00:00, on days 1 and 31 of the month, if that is the first Monday of the month or the last Friday of the month"),
        ("0 9 * * 5L,1#2", "At 09:00, on the last Friday of the month and the second Monday of the month"),
        ("0 9 L,15 * *", "At 09:00, on day 15 and the last day of the month"),
        ("0 9 1-5,20 * *", "At 09:00, on days 1 through 5 and 20 of the month"),
        ("* * 29 2 */7", "Every minute, on day 29 of the month, if that is a Sunday, only in February"),
        ("0 0 13 * */1", "At 00:00, on day 13 of the month"),
        ("0 0 * * 0,7", "At 00:00, only on Sunday"),
        ("0 9 * * MON,WED-FRI", "At 09:00, only on Monday and Wednesday through Friday"),
        ("0 3,10-20/5 * */5 *", "At 03:00, 10:00, 15:00 and 20:00, only in January, June, and November"),
        ("0,5-9/2 3 * JAN-MAR,12 *", "At 0, 5, 7, and 9 minutes past the hour, at 03:00, only in January, February, March, and December"),
    ],
)  # fmt: skip
def test_what_it_says_in_words_is_what_it_does(expression: str, in_words: str) -> None:
    assert Recurrence(cron=expression).in_words() == in_words


NEVER_IN = [
    ("*/30 2 * 3 SUNL", "Europe/Berlin"),
    ("* 2 25-31 3 */7", "Europe/Berlin"),
    ("*/30 2 * 3 SUN#2", "America/New_York"),
    ("*/30 0 2-8 9 */7", "America/Santiago"),
]


@pytest.mark.parametrize(("expression", "zone"), NEVER_IN)
def test_an_interval_that_the_clocks_leave_out_every_time_is_refused(
    expression: str, zone: str
) -> None:
    assert Recurrence(cron=expression, timezone="UTC").first()
    with pytest.raises(InvalidRecurrence, match=f"never fires in {zone}") as refused:
        Recurrence(cron=expression, timezone=zone)
    assert refused.value.field == "cron"


@pytest.mark.parametrize(
    ("expression", "zone"),
    [
        ("*/30 2 24-31 3 */7", "Europe/Berlin"),  # on 24 March, when that is a Sunday
        ("* 2 29 2 */7", "Europe/Berlin"),
        ("*/30 2 * 10 SUN#1", "Australia/Lord_Howe"),  # at half past: the jump is half an hour
        ("*/30 2 * 3 SUNL", "Africa/Casablanca"),
        ("*/30 2 * 10 SUNL", "Europe/Berlin"),
    ],
)
def test_an_interval_that_the_clocks_leave_out_at_times_is_accepted(
    expression: str, zone: str
) -> None:
    rule = Recurrence(cron=expression, timezone=zone)
    for year in range(2027, 9900, 400):
        start = datetime(year, 1, 1, tzinfo=UTC)
        found = rule.first(start)
        assert found
        assert found.at - start < timedelta(days=366 * 41)


@given(st.text(max_size=60) | st.text(alphabet="0123456789*/,-#L \tMONJAN", max_size=40))
def test_any_text_is_accepted_or_refused_and_what_is_accepted_can_be_told_and_walked(
    expression: str,
) -> None:
    try:
        rule = Recurrence(cron=expression)
    except InvalidRecurrence:
        return
    assert rule.in_words()
    assert rule.first()


def _field(low: int, high: int, *others: str) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    span = st.tuples(number, number).map(sorted)
    stepped = span.filter(lambda ends: ends[0] < ends[1]).flatmap(
        lambda ends: st.integers(1, ends[1] - ends[0]).map(lambda by: f"{ends[0]}-{ends[1]}/{by}")
    )
    item = st.one_of(
        number.map(str), span.map(lambda ends: f"{ends[0]}-{ends[1]}"), stepped, st.sampled_from([*others, str(low)])
    )  # fmt: skip
    star = st.just("*") | st.integers(1, high - low).map(lambda by: f"*/{by}")
    return star | st.lists(item, min_size=1, max_size=4).map(",".join)


EXPRESSIONS = st.tuples(
    _field(0, 59),
    _field(0, 23),
    _field(1, 31, "L"),
    _field(1, 12, "JAN", "feb", "Mar-Dec"),
    _field(0, 7, "sun", "5L", "friL", "MON#2", "3#5", "tue-SAT"),
).map(" ".join)


@given(EXPRESSIONS)
def test_whatever_the_grammar_makes_is_understood(expression: str) -> None:
    try:
        rule = Recurrence(cron=expression)
    except InvalidRecurrence as refused:
        if "never fires" not in refused.message:
            raise
        return
    assert rule.in_words()
    assert rule.first()
    assert Recurrence(cron=rule.cron) == rule
