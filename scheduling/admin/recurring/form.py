"""The form of a recurring task. What the ledger or the task itself refuses stands at the field at fault."""

import re
from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar, NamedTuple

from django import forms
from django.forms import BoundField
from django.forms.utils import ErrorList

from scheduling import clock
from scheduling.admin.recurring.fields import Choice, Instant, Payload, Seconds, Text, Whole
from scheduling.errors import InvalidTask
from scheduling.ledger.recurring.form import EDITABLE, RULE, faults_of_its_end, fill
from scheduling.making import OF_THE_TASK, what_is_made
from scheduling.models import RecurringTask
from scheduling.policies import Catchup, Overlap
from scheduling.recurrence import Recurrence
from tenants.forms import TenantField

USUAL: Mapping[str, Any] = {
    "payload": {},
    "timezone": "UTC",
    "jitter_seconds": 0,
    "catchup_window_seconds": RecurringTask._meta.get_field("catchup_window_seconds").default,
}
"""What an empty field means. Any other means nothing, or what the task declares."""
ANY_RULE: Mapping[str, Any] = {"cron": "* * * * *", "every_seconds": None, "anchor": None}
DECLARED = "as the task declares"

OVERLAPS: Mapping[str, str] = {
    Overlap.SKIP: "skip: it makes no task",
    Overlap.BUFFER_ONE: "buffer_one: one of them waits until it is over",
    Overlap.ALLOW: "allow: it makes a task all the same",
    Overlap.CANCEL_OTHER: "cancel_other: the one before is cancelled, the newest waits for that",
}
CATCHUPS: Mapping[str, str] = {
    Catchup.NONE: "none: they are skipped",
    Catchup.ONE: "one: the newest is fired, and stands for the others",
    Catchup.ALL: "all: each is fired, one after the other",
}


class Group(NamedTuple):
    """Fields that belong together, under a heading."""

    key: str
    title: str
    fields: list[BoundField]


class RuleForm(forms.Form):
    """When it is due: what a preview needs to know."""

    cron = Text(
        label="Cron expression",
        help_text="Five fields: minute, hour, day of month, month, day of week. Or, instead:",
        empty="30 2 * * MON-FRI",
    )
    every_seconds = Seconds(label="Every", help_text="An interval in real time, such as 90s or 6h.")
    anchor = Instant(
        label="Counted from",
        help_text="Of an interval. Empty: whole hours begin on the hour.",
        empty="2027-01-01T00:00:00Z",
    )
    timezone = Text(
        label="Time zone", help_text="An IANA name.", suggested="known-zones", empty="UTC"
    )
    starts_at = Instant(
        label="Starts at", help_text="The first tick is then or later.", empty="at once"
    )
    ends_at = Instant(label="Ends at", help_text="The last tick is before.", empty="never")

    def __init__(self, *args: Any, row: RecurringTask | None = None, **kwargs: Any) -> None:
        self.row = row
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.widget.attrs["aria-describedby"] = f"fault-{name} help-{name}"

    def values(self) -> dict[str, Any]:
        """By the names of the ledger. What could not be read is left out."""
        return {
            name: USUAL.get(name) if value is None else value
            for name, value in self.cleaned_data.items()
            if name in EDITABLE and name not in self.errors
        }

    def clean(self) -> dict[str, Any]:
        self.refuse(self.faults_of(self.values()))
        return self.cleaned_data

    def faults_of(self, values: Mapping[str, Any]) -> dict[str, str]:
        """What the ledger would refuse. Of a rule that could only be read in part, nothing can be said."""
        is_whole = RULE.isdisjoint(self.errors)
        if not is_whole:
            others = {name: value for name, value in values.items() if name not in RULE}
            values = {**others, **ANY_RULE}
        self.filled = copy(self.row) if self.row else RecurringTask()
        try:
            fill(self.filled, values)
        except InvalidTask as error:
            return {
                name: fault for name, fault in error.errors.items() if is_whole or name not in RULE
            }
        return {}

    def refuse(self, faults: Mapping[str, str]) -> None:
        """Each at its field; of a place within a field with the place said."""
        for place, fault in faults.items():
            name = re.split(r"[.\[]", place, maxsplit=1)[0]
            if name not in self.fields:
                self.add_error(None, f"{place}: {fault}")
            elif name not in self.errors:
                self.add_error(name, fault if name == place else f"{place}: {fault}")

    @property
    def rule(self) -> Recurrence | None:
        """As it was typed, if it can be followed."""
        return None if RULE & self.errors.keys() else self.filled.recurrence

    @property
    def rule_faults(self) -> list[tuple[str, ErrorList | None]]:
        """Of every field that a rule is made of, what is wrong with it."""
        return [(name, self.errors.get(name)) for name in RuleForm.base_fields]


class RecurringForm(RuleForm):
    """All of it, to be created or edited. `version` is the edition that was looked at."""

    tenant = TenantField(required=True)
    name = Text(help_text="Unique in the tenant.", empty="nightly-report")
    task_name = Text(label="Task", help_text="What is to be run.", suggested="known-tasks")
    payload = Payload(
        help_text="The task's arguments, by name: a JSON object.", empty='{"number": 7}'
    )
    queue = Text(empty=DECLARED)
    priority = Whole(help_text="-100 to 100; higher goes first.", empty=DECLARED)
    max_attempts = Whole(empty=DECLARED)
    timeout_seconds = Seconds(label="Timeout", help_text="Of one attempt.", empty=DECLARED)
    deadline_seconds = Seconds(
        label="Deadline",
        help_text="So long after it was made, no attempt starts any more.",
        empty=DECLARED,
    )
    jitter_seconds = Seconds(
        label="Jitter",
        help_text="Each tick is fired up to so much later, always as much.",
        empty="none",
    )
    overlap = Choice(
        list(OVERLAPS.items()),
        label="Overlap",
        help_text="What becomes of a tick while the task before it is not over.",
        initial=Overlap.SKIP,
    )
    catchup = Choice(
        list(CATCHUPS.items()),
        label="Catch-up",
        help_text="What becomes of ticks that nobody fired when it was their time.",
        initial=Catchup.ONE,
    )
    catchup_window_seconds = Seconds(
        label="Catch-up window", help_text="How late a tick may still be made up for.", empty="1d"
    )
    pause_after_failures = Whole(
        label="Pause after failures", help_text="Dead tasks in a row.", empty="never"
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    GROUPS: ClassVar = {
        "made": ("What is run", ("tenant", "name", "task_name", "payload")),
        "rule": (
            "When",
            ("cron", "every_seconds", "anchor", "timezone", "starts_at", "ends_at"),
        ),
        "policies": (
            "When it is not as planned",
            (
                "overlap",
                "catchup",
                "catchup_window_seconds",
                "jitter_seconds",
                "pause_after_failures",
            ),
        ),
        "options": (
            "How its tasks are run",
            ("queue", "priority", "max_attempts", "timeout_seconds", "deadline_seconds"),
        ),
    }

    def __init__(self, *args: Any, row: RecurringTask | None = None, **kwargs: Any) -> None:
        initial = shown(row) if row else {}
        super().__init__(*args, row=row, initial=initial | kwargs.pop("initial", {}), **kwargs)
        if row:
            del self.fields["tenant"]

    @property
    def groups(self) -> list[Group]:
        return [
            Group(key, title, [self[name] for name in names if name in self.fields])
            for key, (title, names) in self.GROUPS.items()
        ]

    def clean(self) -> dict[str, Any]:
        values, faults = self.values(), dict[str, str]()
        if not {"task_name", "payload"} & self.errors.keys():
            made, faults = what_is_made(values)
            values |= made
        self.asked = {
            name: value
            for name, value in values.items()
            if value is not None or name not in OF_THE_TASK
        }
        self.refuse(faults | self.faults_of(self.asked))
        if self.row is None and not self.errors:
            self.refuse(faults_of_its_end(self.filled, clock.now()))
        return self.cleaned_data


def shown(row: RecurringTask) -> dict[str, Any]:
    """What stands in the form of one that is edited."""
    values = {name: getattr(row, name) for name in EDITABLE}
    if not row.jitter_seconds:
        values["jitter_seconds"] = None
    return values | {"version": row.version}
