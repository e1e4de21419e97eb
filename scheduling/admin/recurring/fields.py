"""Form fields for what a recurring task is made of, as people type it.

They only read. Whether so much may be is for the ledger to say, in the words in which the API says it.
"""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from scheduling import durations, payload
from scheduling.errors import InvalidTask
from scheduling.instants import parse_instant

_NUMBER = re.compile(r"-?\d{1,12}(\.\d{1,6})?", re.ASCII)
_WHOLE = re.compile(r"-?\d{1,12}", re.ASCII)


class Text(forms.CharField):
    """Empty: None."""

    widget: forms.Widget = forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})

    def __init__(self, *, suggested: str = "", empty: str = "", **kwargs: Any) -> None:
        """`suggested` is the id of a `<datalist>`, `empty` what stands in the field when nothing does."""
        super().__init__(required=False, **kwargs)
        self.widget.attrs |= {"list": suggested} if suggested else {}
        self.widget.attrs |= {"placeholder": empty} if empty else {}

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        return self.read(text) if text else None

    def read(self, text: str) -> Any:
        return text


class Choice(Text):
    """One of a few words; any other is refused by whoever knows them."""

    def __init__(self, choices: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(widget=forms.Select(choices=choices), **kwargs)


class Whole(Text):
    """What is no whole number goes on as it was typed, to be refused."""

    def read(self, text: str) -> int | str:
        return int(text) if _WHOLE.fullmatch(text) else text


class Seconds(Text):
    """A duration such as `90s`, `10m` or `1h30m`; a number alone is of seconds."""

    def read(self, text: str) -> int | float:
        number = text.removesuffix("s").rstrip()
        if _WHOLE.fullmatch(number):
            return int(number)
        if _NUMBER.fullmatch(number):
            return float(number)
        try:
            return int(durations.parse(text).total_seconds())
        except ValueError as error:
            raise ValidationError(str(error)) from error

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, int | float):
            return value
        if value <= 0 or value % 1:
            return f"{value:g}s"
        return durations.spelled(timedelta(seconds=value))


class Instant(Text):
    """A date and time with its zone, as the API has them."""

    def read(self, text: str) -> datetime:
        try:
            return parse_instant(text, "at")
        except InvalidTask as error:
            raise ValidationError(error.errors["at"]) from error

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, datetime):
            return value
        return value.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


class Payload(Text):
    """A JSON object. Empty: one without members."""

    widget = forms.Textarea(attrs={"rows": 5, "spellcheck": "false"})

    def read(self, text: str) -> Any:
        try:
            return payload.loads(text.encode(errors="surrogatepass"))
        except InvalidTask as error:
            faults = [
                fault if place == "body" else f"{place}: {fault}"
                for place, fault in error.errors.items()
            ]
            raise ValidationError(faults) from error

    def prepare_value(self, value: Any) -> Any:
        return (
            value
            if isinstance(value, str | None)
            else json.dumps(value, indent=2, ensure_ascii=False)
        )
