"""What a recurring task looks like, as it is sent and as it is shown."""

from scheduling import options
from scheduling.api.v1 import recurring_serializers as bounds
from scheduling.api.v1.openapi.schemas import (
    ANY_OBJECT,
    ID,
    INSTANT,
    NAME,
    POSITIVE,
    QUEUE,
    REASON,
    SLUG,
    Schema,
    an_object,
    integer,
    one_of,
    or_null,
    ref,
    text,
)
from scheduling.api.v1.recurring_shown import MOST_SKIPPED
from scheduling.ledger.recurring.form import FAILURES_MAX, FURTHEST_SECONDS
from scheduling.policies import Catchup, Origin, Overlap, TickOutcome
from scheduling.recurrence import LONGEST_INTERVAL, Dst

RULE: dict[str, Schema] = {
    "cron": or_null(text(maxLength=255)) | {"description": "five fields; or else `every_seconds`"},
    "every_seconds": or_null(integer(minimum=1, maximum=int(LONGEST_INTERVAL.total_seconds()))),
    "anchor": or_null(INSTANT) | {"description": "what an interval is counted from"},
    "timezone": or_null(text()) | {"description": "an IANA name; UTC if left out"},
    "starts_at": or_null(INSTANT) | {"description": "the first instant is then or later"},
    "ends_at": or_null(INSTANT) | {"description": "the last instant is before"},
}
EDITABLE: dict[str, Schema] = {
    "name": NAME,
    "task_name": NAME | {"description": "of a task that this installation offers"},
    "payload": or_null(ANY_OBJECT),
    "queue": or_null(QUEUE),
    "priority": or_null(integer(minimum=options.PRIORITY_MIN, maximum=options.PRIORITY_MAX)),
    "max_attempts": or_null(integer(minimum=1, maximum=options.ATTEMPTS_MAX)),
    "timeout_seconds": or_null(POSITIVE | {"maximum": options.TIMEOUT_SECONDS_MAX}),
    "deadline_seconds": or_null(POSITIVE | {"maximum": FURTHEST_SECONDS})
    | {"description": "so long after it was made a task is dead"},
    **RULE,
    "jitter_seconds": or_null(integer(minimum=0, maximum=FURTHEST_SECONDS))
    | {"description": "each tick is fired up to so much later"},
    "overlap": or_null(one_of(Overlap)),
    "catchup": or_null(one_of(Catchup)),
    "catchup_window_seconds": or_null(integer(minimum=0, maximum=FURTHEST_SECONDS)),
    "pause_after_failures": or_null(integer(minimum=1, maximum=FAILURES_MAX)),
}
SHOWN: dict[str, Schema] = {
    "id": ID,
    "name": text(),
    "task_name": text(),
    "queue": text(),
    "priority": integer(),
    "max_attempts": integer(minimum=1),
    "timeout_seconds": or_null(POSITIVE),
    "deadline_seconds": or_null(POSITIVE),
    "cron": or_null(text()),
    "every_seconds": or_null(integer(minimum=1)),
    "anchor": or_null(INSTANT),
    "timezone": text(),
    "in_words": or_null(text()) | {"description": "null: the rule cannot be followed any more"},
    "starts_at": or_null(INSTANT),
    "ends_at": or_null(INSTANT),
    "jitter_seconds": integer(minimum=0),
    "overlap": one_of(Overlap),
    "catchup": one_of(Catchup),
    "catchup_window_seconds": integer(minimum=0),
    "pause_after_failures": or_null(integer(minimum=1)),
    "paused": {"type": "boolean"},
    "paused_reason": text(),
    "disabled_reason": text(description="why it cannot fire; empty: it can"),
    "failures": integer(minimum=0, description="dead tasks in a row"),
    "next_at": or_null(INSTANT),
    "last_at": or_null(INSTANT),
    "declared_in_code": {"type": "boolean"},
    "created_at": INSTANT,
    "tenant": text(description="told to operators"),
}
TOLD_TO_ALL = [name for name in SHOWN if name != "tenant"]
EXTENT: dict[str, Schema] = {
    "after": INSTANT | {"description": "now if left out"},
    "count": integer(minimum=1, maximum=bounds.LARGEST_PREVIEW, default=bounds.USUAL_PREVIEW),
}
INSTANTS = {"type": "array", "items": INSTANT}
AN_INSTANT = an_object(
    {
        "at": INSTANT,
        "local": text(
            description="the same in the zone of the rule, whose offset had seconds in old times"
        ),
        "dst": or_null(one_of(each for each in Dst if each))
        | {"description": "what a jump of the clocks does to it"},
    }
)
SCHEMAS: dict[str, Schema] = {
    "NewRecurringTask": an_object(
        {**EDITABLE, "paused": {"type": ["boolean", "null"]}, "tenant": SLUG},
        required=["name", "task_name"],
        anyOf=[{"required": ["cron"]}, {"required": ["every_seconds"]}],
    ),
    "RecurringTaskChanges": an_object(EDITABLE, required=()),
    "RecurringSummary": an_object(SHOWN, required=TOLD_TO_ALL),
    "RecurringTask": an_object(SHOWN | {"payload": ANY_OBJECT}, required=[*TOLD_TO_ALL, "payload"]),
    "RecurringTasks": an_object(
        {
            "recurring_tasks": {"type": "array", "items": ref("RecurringSummary")},
            "next": or_null(text()),
        }
    ),
    "Rule": an_object({**RULE, **EXTENT}, required=()),
    "InstantOfARule": AN_INSTANT,
    "NextInstants": an_object(
        {
            "in_words": text(),
            "timezone": text(),
            "instants": {"type": "array", "items": ref("InstantOfARule")},
            "skipped": {
                "type": "array",
                "items": ref("InstantOfARule"),
                "maxItems": MOST_SKIPPED,
                "description": "those between them that a jump of the clocks keeps from running; "
                f"with {MOST_SKIPPED} of them, both lists end",
            },
        }
    ),
    "Tick": an_object(
        {
            "at": INSTANT | {"description": "when it was due by the rule"},
            "until": or_null(INSTANT) | {"description": "the last of a run of ticks"},
            "count": integer(minimum=1, description="how many ticks came to this"),
            "origin": one_of(Origin),
            "outcome": or_null(one_of(TickOutcome)) | {"description": "null: it waits"},
            "reason": text(),
            "task_id": or_null(ID),
            "decided_at": INSTANT,
        }
    ),
    "Ticks": an_object({"ticks": {"type": "array", "items": ref("Tick")}, "next": or_null(text())}),
    "Backfill": an_object(
        {
            "start": INSTANT,
            "end": INSTANT | {"description": "included"},
            "limit": integer(minimum=1, maximum=bounds.LARGEST_BACKFILL),
            "preview": {"type": "boolean"},
            "reason": REASON,
        },
        required=["start", "end"],
    ),
    "Backfilled": an_object(
        {
            "missing": INSTANTS | {"description": "those that had no task"},
            "fired": INSTANTS | {"description": "got one at once"},
            "waiting": INSTANTS | {"description": "will get one when their turn comes"},
            "left_alone": integer(minimum=0, description="instants that had a task already"),
            "next_start": or_null(INSTANT)
            | {"description": "where to go on; null: all were looked at"},
        }
    ),
}
