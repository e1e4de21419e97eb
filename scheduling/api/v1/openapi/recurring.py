"""Recurring tasks: what is asked, and what is answered."""

from typing import Any

from scheduling import options
from scheduling.api.v1 import recurring_serializers as bounds
from scheduling.api.v1.kinds import Kind
from scheduling.api.v1.openapi.parts import (
    BODY,
    CALLER,
    NAMES_A_TENANT,
    NEXT,
    Operation,
    answer,
    headers,
    operation,
    parameter,
)
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
    number,
    one_of,
    or_null,
    ref,
    text,
)
from scheduling.api.v1.recurring_shown import MOST_SKIPPED
from scheduling.api.v1.serializers import LARGEST_PAGE, PAGE
from scheduling.ledger.recurring.form import FAILURES_MAX, FURTHEST_SECONDS
from scheduling.policies import Catchup, Origin, Overlap, TickOutcome
from scheduling.recurrence import LONGEST_INTERVAL, Dst

RULE: dict[str, Schema] = {
    "cron": or_null(text(maxLength=255)) | {"description": "five fields; or else `every_seconds`"},
    "every_seconds": or_null(number(minimum=1, maximum=int(LONGEST_INTERVAL.total_seconds()))),
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
    "priority": or_null(number(minimum=options.PRIORITY_MIN, maximum=options.PRIORITY_MAX)),
    "max_attempts": or_null(number(minimum=1, maximum=options.ATTEMPTS_MAX)),
    "timeout_seconds": or_null(POSITIVE | {"maximum": options.TIMEOUT_SECONDS_MAX}),
    "deadline_seconds": or_null(POSITIVE | {"maximum": FURTHEST_SECONDS})
    | {"description": "so long after it was made a task is dead"},
    **RULE,
    "jitter_seconds": or_null(number(minimum=0, maximum=FURTHEST_SECONDS))
    | {"description": "each tick is fired up to so much later"},
    "overlap": or_null(one_of(Overlap)),
    "catchup": or_null(one_of(Catchup)),
    "catchup_window_seconds": or_null(number(minimum=0, maximum=FURTHEST_SECONDS)),
    "pause_after_failures": or_null(number(minimum=1, maximum=FAILURES_MAX)),
}
SHOWN: dict[str, Schema] = {
    "id": ID,
    "name": text(),
    "task_name": text(),
    "queue": text(),
    "priority": number(),
    "max_attempts": number(minimum=1),
    "timeout_seconds": or_null(POSITIVE),
    "deadline_seconds": or_null(POSITIVE),
    "cron": or_null(text()),
    "every_seconds": or_null(number(minimum=1)),
    "anchor": or_null(INSTANT),
    "timezone": text(),
    "in_words": or_null(text()) | {"description": "null: the rule cannot be followed any more"},
    "starts_at": or_null(INSTANT),
    "ends_at": or_null(INSTANT),
    "jitter_seconds": number(minimum=0),
    "overlap": one_of(Overlap),
    "catchup": one_of(Catchup),
    "catchup_window_seconds": number(minimum=0),
    "pause_after_failures": or_null(number(minimum=1)),
    "paused": {"type": "boolean"},
    "paused_reason": text(),
    "disabled_reason": text(description="why it cannot fire; empty: it can"),
    "failures": number(minimum=0, description="dead tasks in a row"),
    "next_at": or_null(INSTANT),
    "last_at": or_null(INSTANT),
    "declared_in_code": {"type": "boolean"},
    "created_at": INSTANT,
    "tenant": text(description="told to operators"),
}
TOLD_TO_ALL = [name for name in SHOWN if name != "tenant"]
EXTENT: dict[str, Schema] = {
    "after": INSTANT | {"description": "now if left out"},
    "count": number(minimum=1, maximum=bounds.LARGEST_PREVIEW, default=bounds.USUAL_PREVIEW),
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
            "count": number(minimum=1, description="how many ticks came to this"),
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
            "limit": number(minimum=1, maximum=bounds.LARGEST_BACKFILL),
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
            "left_alone": number(minimum=0, description="instants that had a task already"),
            "next_start": or_null(INSTANT)
            | {"description": "where to go on; null: all were looked at"},
        }
    ),
}

RECURRING_TASK_ID = parameter("recurring_task_id", ID, "path")
IF_MATCH = parameter("If-Match", text(), "header")
IF_NONE_MATCH = parameter("If-None-Match", text(), "header")
TAGGED = {"headers": headers({"ETag": text()})}
CREATED = {"headers": headers({"ETag": text(), "Location": text()})}
ONE = (*CALLER, Kind.UNKNOWN_RECURRING_TASK)
EDITED = (*ONE, *BODY, Kind.CHANGED)


def switch(name: str, summary: str) -> dict[str, Operation]:
    return {
        "post": operation(
            name,
            summary,
            EDITED,
            {"200": answer("As it stands now", "RecurringTask", **TAGGED)},
            parameters=[RECURRING_TASK_ID, IF_MATCH],
            body="Why",
            is_body_needed=False,
        )
    }


def gone(description: str, **more: Any) -> dict[str, Any]:
    """An answer without content."""
    return {"description": description, **more}


PATHS: dict[str, dict[str, Operation]] = {
    "/v1/recurring-tasks": {
        "post": operation(
            "createRecurringTask",
            "Make a task again and again, by a rule. Its first tick is the first instant from now on.",
            (*CALLER, *NAMES_A_TENANT, *BODY, Kind.NAME_TAKEN, Kind.TOO_MANY_RECURRING_TASKS),
            {"201": answer("Created", "RecurringTask", **CREATED)},
            body="NewRecurringTask",
        ),
        "get": operation(
            "listRecurringTasks",
            "Recurring tasks, newest first, without payload.",
            (*CALLER, *NAMES_A_TENANT),
            {"200": answer("A page", "RecurringTasks")},
            parameters=[
                parameter("tenant", SLUG),
                parameter("name", text(minLength=1, maxLength=200)),
                parameter("task_name", text(minLength=1, maxLength=200)),
                parameter("cursor", ID),
                parameter("limit", number(minimum=1, maximum=LARGEST_PAGE, default=PAGE)),
            ],
        ),
    },
    "/v1/recurring-tasks/preview": {
        "post": operation(
            "previewRule",
            "The next instants of a rule that is not stored.",
            (*CALLER, *BODY),
            {"200": answer("In its zone and in UTC", "NextInstants")},
            body="Rule",
        )
    },
    "/v1/recurring-tasks/{recurring_task_id}": {
        "get": operation(
            "recurringTask",
            "A recurring task, with its entity tag.",
            ONE,
            {
                "200": answer("As it stands", "RecurringTask", **TAGGED),
                "304": gone("As you have it", **TAGGED),
            },
            parameters=[RECURRING_TASK_ID, IF_NONE_MATCH],
        ),
        "patch": operation(
            "editRecurringTask",
            "Change what is sent, all of it or nothing; null is what it is when nothing is said.",
            (*EDITED, Kind.NAME_TAKEN, Kind.PRECONDITION_REQUIRED),
            {"200": answer("As it stands now", "RecurringTask", **TAGGED)},
            parameters=[RECURRING_TASK_ID, IF_MATCH],
            body="RecurringTaskChanges",
        ),
        "delete": operation(
            "deleteRecurringTask",
            "Delete it with its ticks; the tasks that they made stay.",
            (*ONE, Kind.CHANGED, Kind.DECLARED_IN_CODE),
            {"204": gone("Deleted")},
            parameters=[RECURRING_TASK_ID, IF_MATCH],
        ),
    },
    "/v1/recurring-tasks/{recurring_task_id}/pause": switch(
        "pauseRecurringTask", "Fire no more ticks; those that come meanwhile are missed."
    ),
    "/v1/recurring-tasks/{recurring_task_id}/resume": switch(
        "resumeRecurringTask", "Fire again, from the next tick on."
    ),
    "/v1/recurring-tasks/{recurring_task_id}/run": {
        "post": operation(
            "runRecurringTask",
            "Make a task at once, beside the ticks of the rule.",
            (
                *ONE,
                *BODY,
                Kind.OVERLAPPING,
                Kind.LIMIT_EXCEEDED,
                Kind.TEMPORARY_REDUCED_CAPACITY,
            ),
            {"201": answer("The task", "Task", headers=headers({"Location": text()}), **NEXT)},
            parameters=[RECURRING_TASK_ID],
            body="Why",
            is_body_needed=False,
        )
    },
    "/v1/recurring-tasks/{recurring_task_id}/backfill": {
        "post": operation(
            "backfillRecurringTask",
            "Make tasks for instants that have passed without one; ask for a preview first.",
            (*ONE, *BODY, Kind.TEMPORARY_REDUCED_CAPACITY),
            {"200": answer("What was done, or would be", "Backfilled")},
            parameters=[RECURRING_TASK_ID],
            body="Backfill",
        )
    },
    "/v1/recurring-tasks/{recurring_task_id}/preview": {
        "get": operation(
            "previewRecurringTask",
            "The next instants of its rule.",
            (*ONE, Kind.INVALID_REQUEST),
            {"200": answer("In its zone and in UTC", "NextInstants")},
            parameters=[RECURRING_TASK_ID, *(parameter(name, one) for name, one in EXTENT.items())],
        )
    },
    "/v1/recurring-tasks/{recurring_task_id}/ticks": {
        "get": operation(
            "listTicks",
            "What became of each instant, the newest first.",
            (*ONE, Kind.INVALID_REQUEST),
            {"200": answer("A page", "Ticks")},
            parameters=[
                RECURRING_TASK_ID,
                parameter("outcome", one_of([*TickOutcome, bounds.WAITING])),
                parameter("cursor", text(pattern=r"^-?[0-9]{1,18}\.[0-9]{1,18}$")),
                parameter("limit", number(minimum=1, maximum=LARGEST_PAGE, default=PAGE)),
            ],
        )
    },
}
