"""What goes in and out of the API, as JSON Schema. Bounds come from where they are enforced."""

from typing import Any

from scheduling import options
from scheduling.api.v1.kinds import Kind
from scheduling.api.v1.serializers import (
    LARGEST_BATCH,
    LARGEST_PAGE,
    LONGEST_PAUSE_SECONDS,
    PAGE,
)
from scheduling.ledger import Why
from scheduling.lists.narrowing import STATES
from scheduling.states import DeadReason, Outcome, TaskState

Schema = dict[str, Any]

WORD = "^[A-Za-z0-9_][A-Za-z0-9_.:-]*$"


def text(**more: Any) -> Schema:
    return {"type": "string", **more}


def integer(**more: Any) -> Schema:
    return {"type": "integer", **more}


def one_of(values: Any) -> Schema:
    return {"type": "string", "enum": [str(value) for value in values]}


def or_null(schema: Schema) -> Schema:
    if "$ref" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    nullable = {**schema, "type": [schema["type"], "null"]}
    return {**nullable, "enum": [*schema["enum"], None]} if "enum" in schema else nullable


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def an_object(properties: dict[str, Schema], *, required: Any = None, **more: Any) -> Schema:
    """With these members and no others, all of them always there unless `required` says which."""
    needed = list(properties) if required is None else list(required)
    closed = {"type": "object", "properties": properties, "additionalProperties": False, **more}
    return closed | ({"required": needed} if needed else {})


NAME = text(pattern=WORD, maxLength=options.NAME_LENGTH_MAX)
QUEUE = text(pattern=WORD, maxLength=options.QUEUE_LENGTH_MAX)
SLUG = text(pattern="^[-a-zA-Z0-9_]+$", maxLength=64)
INSTANT = text(format="date-time")
ID = text(format="uuid")
JSON = {"description": "any JSON"}
ANY_OBJECT = {"type": "object"}
BEYOND_A_LINE = r"\u0000-\u001f\u007f-\u009f\u2028\u2029"
LABEL = text(
    pattern=rf"^[^\s{BEYOND_A_LINE}]([^{BEYOND_A_LINE}]*[^\s{BEYOND_A_LINE}])?$",
    maxLength=options.LABEL_LENGTH_MAX,
)
POSITIVE = {"type": "number", "exclusiveMinimum": 0}

NEW_TASK = an_object(
    {
        "name": NAME | {"description": "of a task that this installation offers"},
        "payload": ANY_OBJECT | {"description": "its arguments, by name; at most 64 levels deep"},
        "tenant": SLUG | {"description": "whose task it is; needed by an operator's token"},
        "queue": or_null(QUEUE),
        "priority": or_null(integer(minimum=options.PRIORITY_MIN, maximum=options.PRIORITY_MAX)),
        "due_at": or_null(INSTANT) | {"description": "not before; RFC 3339 with a zone"},
        "delay_seconds": {"type": ["number", "null"], "minimum": 0},
        "max_attempts": or_null(integer(minimum=1, maximum=options.ATTEMPTS_MAX)),
        "timeout_seconds": or_null(POSITIVE | {"maximum": options.TIMEOUT_SECONDS_MAX}),
        "deadline": or_null(INSTANT) | {"description": "dead from then on"},
        "label": or_null(LABEL) | {"description": "to find it again by; means nothing else"},
    },
    required=["name"],
)
IN_A_BATCH = NEW_TASK | {
    "properties": {
        **NEW_TASK["properties"],
        "idempotency_key": or_null(
            text(pattern="^[ -~]+$", maxLength=options.IDEMPOTENCY_KEY_LENGTH_MAX)
        ),
    }
}
ERROR = an_object({"class": text(), "message": text()})
SUMMARY: dict[str, Schema] = {
    "id": ID,
    "name": text(),
    "queue": text(),
    "state": one_of(TaskState),
    "phase": text(description="the state, or what a queued task waits for"),
    "priority": integer(),
    "due_at": or_null(INSTANT),
    "attempt": integer(minimum=0),
    "max_attempts": integer(minimum=1),
    "generation": integer(minimum=0),
    "created_at": INSTANT,
    "finished_at": or_null(INSTANT),
    "error": {
        "type": ["object", "null"],
        "description": "class and message of the last failed attempt; null once the task has succeeded",
    },
    "dead_reason": or_null(one_of(DeadReason)),
    "idempotency_key": or_null(text()),
    "label": or_null(text()),
    "tenant": text(description="told to operators"),
}
TOLD_TO_ALL = [name for name in SUMMARY if name != "tenant"]
DETAIL = SUMMARY | {"payload": ANY_OBJECT, "result": JSON}
PROGRESS = an_object(
    {
        "fraction": {"type": "number", "minimum": 0, "maximum": 1},
        "done": or_null(integer(minimum=0)),
        "total": or_null(integer(minimum=0)),
        "note": text(),
    }
)
UNDER_WAY: dict[str, Schema] = {
    "progress": or_null(ref("Progress")) | {"description": "what a running handler last said"},
    "attempts": {"type": "array", "items": ref("Attempt")},
}
ATTEMPT = an_object(
    {
        "attempt": integer(minimum=0),
        "generation": integer(minimum=1),
        "outcome": one_of(Outcome),
        "due_at": or_null(INSTANT),
        "started_at": INSTANT,
        "finished_at": or_null(INSTANT),
        "error": or_null(ref("Error")),
    }
)
COVERING = {
    "tenant": text(maxLength=64, minLength=1),
    "queue": text(maxLength=100, minLength=1),
    "name": text(maxLength=200, minLength=1),
}
REASON = text(maxLength=options.REASON_LENGTH_MAX, description="for the audit")
SWITCH = an_object(
    {
        "paused": {"type": "boolean"},
        "reason": REASON,
        "for_seconds": or_null(
            {"type": "number", "minimum": 0.001, "maximum": LONGEST_PAUSE_SECONDS}
        ),
        **COVERING,
    },
    required=["paused"],
)
RECEIPT = an_object(
    {
        "paused": {"type": "boolean"},
        "scope": text(),
        "reason": text(),
        "by": or_null(text()),
        "since": or_null(INSTANT),
        "expires_at": or_null(INSTANT),
        "in_flight": or_null(integer(minimum=0)),
    }
)
PROBLEM = {
    "type": "object",
    "description": "RFC 9457. Further members belong to the type.",
    "properties": {
        "type": one_of(f"/problems/{kind.slug}" for kind in Kind),
        "title": text(),
        "status": integer(minimum=400, maximum=599),
        "detail": text(),
        "instance": text(),
    },
    "required": ["type", "title", "status", "detail", "instance"],
}
SCHEMAS: dict[str, Schema] = {
    "NewTask": NEW_TASK,
    "NewBatch": an_object(
        {
            "tasks": {
                "type": "array",
                "items": IN_A_BATCH,
                "minItems": 1,
                "maxItems": LARGEST_BATCH,
            }
        }
    ),
    "AcceptedBatch": an_object(
        {
            "tasks": {
                "type": "array",
                "items": an_object({"id": ID, "replayed": {"type": "boolean"}}),
            }
        }
    ),
    "Error": ERROR,
    "Progress": PROGRESS,
    "Summary": an_object(SUMMARY, required=TOLD_TO_ALL),
    "Task": an_object(DETAIL, required=[*TOLD_TO_ALL, "payload", "result"]),
    "Attempt": ATTEMPT,
    "TaskWithAttempts": an_object(
        DETAIL | UNDER_WAY,
        required=[*TOLD_TO_ALL, "payload", "result", *UNDER_WAY],
    ),
    "Page": an_object(
        {"tasks": {"type": "array", "items": ref("Summary")}, "next": or_null(text())}
    ),
    "Explanation": an_object(
        {
            "task_id": ID,
            "state": one_of(TaskState),
            "why": one_of(Why),
            "sentence": text(description="for people"),
            "due_at": or_null(INSTANT),
            "deadline": or_null(INSTANT),
            "paused_by": {"type": "array", "items": ref("StandingPause")},
            "in_flight": or_null(integer(minimum=0)),
            "max_in_flight": or_null(integer(minimum=1)),
            "ahead_in_lane": or_null(integer(minimum=0)),
            "ahead_in_other_lanes": or_null(integer(minimum=0)),
            "workers": or_null(
                integer(
                    minimum=0,
                    description="processes of `runworkers` that serve its queue; null also for a "
                    "remote queue, whose workers are on no register",
                )
            ),
            "running_since": or_null(INSTANT),
            "leased_until": or_null(INSTANT),
            "worker": or_null(text(description="told to operators")),
        }
    ),
    "StandingPause": an_object(
        {"scope": text(), "reason": text(), "since": INSTANT, "expires_at": or_null(INSTANT)}
    ),
    "Limits": an_object(
        {
            "tenant": text(),
            "weight": integer(minimum=1, description="share beside other waiting tenants"),
            "max_queued": or_null(integer(minimum=1)),
            "unfinished": integer(minimum=0, description="what counts against max_queued"),
            "max_in_flight": or_null(integer(minimum=1)),
            "in_flight": integer(minimum=0),
            "rate_per_second": or_null({"type": "number", "exclusiveMinimum": 0}),
            "rate_burst": or_null(integer(minimum=1)),
            "rate_left": or_null(integer(minimum=0, description="accepted at once, of the burst")),
            "retention_seconds": POSITIVE
            | {
                "description": "how long finished tasks and their idempotency keys are kept; "
                "the tenant's own, or else the installation's"
            },
        }
    ),
    "Queues": an_object(
        {"queues": {"type": "array", "items": ref("Queue")}, "next": or_null(text())}
    ),
    "Queue": an_object(
        {
            "queue": text(),
            "paused": {"type": "boolean", "description": "all of it; names may be besides"},
            "ready": integer(minimum=0, description="due; these three are counted up to 10,000"),
            "not_due": integer(minimum=0),
            "held": integer(minimum=0, description="set aside by the kill switch"),
            "running": integer(minimum=0),
        }
    ),
    "Switch": SWITCH,
    "Why": an_object({"reason": REASON}, required=()),
    "Receipt": RECEIPT,
    "Problem": PROBLEM,
}
FILTERS: dict[str, Schema] = {
    "tenant": SLUG,
    "state": one_of(STATES),
    "name": text(minLength=1, maxLength=200),
    "queue": text(minLength=1, maxLength=100),
    "created_after": INSTANT,
    "created_before": INSTANT,
    "finished_after": INSTANT,
    "finished_before": INSTANT,
    "key": text(minLength=1, maxLength=255, description="the idempotency key"),
    "label": text(minLength=1, maxLength=options.LABEL_LENGTH_MAX),
    "cursor": ID,
    "limit": integer(minimum=1, maximum=LARGEST_PAGE, default=PAGE),
}
