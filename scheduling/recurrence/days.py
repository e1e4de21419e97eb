"""The two day fields of a rule in words. Steps are told value by value: that leaves nothing to guess."""

from collections.abc import Sequence

from scheduling.recurrence.cron import DAY_OF_MONTH, DAY_OF_WEEK

_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_ORDINALS = ("first", "second", "third", "fourth", "fifth")


def in_words(day: str, weekday: str) -> str:
    """What follows the time of day, such as ", on day 13 of the month, or on Friday". Nothing, if that is every day."""
    dates, weekdays = _dates(day), _weekdays(weekday)
    if not dates:
        return _weekdays_alone(weekday, weekdays) if weekdays else ""
    told = f", on {dates} of the month"
    if not weekdays:
        return told
    if day.startswith("*") or weekday.startswith("*"):
        return f"{told}, if that is {_joined([_one(each) for each in weekdays], 'or')}"
    return f"{told}, or on {_joined(weekdays)}"


def _weekdays_alone(weekday: str, told: Sequence[str]) -> str:
    if "L" in weekday or "#" in weekday:
        return f", on {_joined(told)}"
    is_a_range = len(told) == 1 and " through " in told[0]
    return f", {told[0]}" if is_a_range else f", only on {_joined(told)}"


def _one(weekday: str) -> str:
    """As a predicate: a Monday."""
    return f"a {weekday}" if weekday in _DAYS else weekday


def _dates(text: str) -> str:
    """Of a field that leaves none out, nothing."""
    if text in ("*", "*/1"):
        return ""
    items = text.split(",")
    told = [one for item in items if item != "L" for one in _values_or_range(item)]
    if told:
        is_one = len(told) == 1 and "through" not in told[0]
        told = [f"{'day' if is_one else 'days'} {told[0]}", *told[1:]]
    return _joined([*told, *(["the last day"] if "L" in items else [])])


def _values_or_range(item: str) -> list[str]:
    values = DAY_OF_MONTH.values(item)
    if "-" in item and "/" not in item and len(values) > 1:
        return [f"{values[0]} through {values[-1]}"]
    return [str(value) for value in values]


def _weekdays(text: str) -> list[str]:
    """Each once. Of a field that leaves none out, nothing."""
    if text in ("*", "*/1"):
        return []
    return list(dict.fromkeys(one for item in text.split(",") for one in _weekdays_of(item)))


def _weekdays_of(item: str) -> list[str]:
    number, nth, place = item.partition("#")
    if nth:
        return [f"the {_ORDINALS[int(place) - 1]} {_DAYS[int(number) % 7]} of the month"]
    if item.endswith("L"):
        return [f"the last {_DAYS[int(item[0]) % 7]} of the month"]
    values = [_DAYS[value % 7] for value in DAY_OF_WEEK.values(item)]
    if "-" in item and "/" not in item and len(values) > 1:
        return [f"{values[0]} through {values[-1]}"]
    return values


def _joined(told: Sequence[str], word: str = "and") -> str:
    *others, last = told
    return f"{', '.join(others)} {word} {last}" if others else last
