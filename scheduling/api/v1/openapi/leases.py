"""The leases of remote workers: what is asked, and what is answered."""

from scheduling.api.v1 import lease_serializers as bounds
from scheduling.api.v1.openapi.parts import (
    BODY,
    CALLER,
    NAMES_A_TENANT,
    Operation,
    answer,
    operation,
)
from scheduling.api.v1.openapi.schemas import (
    ANY_OBJECT,
    ID,
    INSTANT,
    JSON,
    QUEUE,
    SLUG,
    Schema,
    an_object,
    integer,
    one_of,
    or_null,
    ref,
    text,
)
from scheduling.ledger.progress import NOTE_LIMIT
from scheduling.options import TIMEOUT_SECONDS_MAX
from scheduling.states import Outcome, TaskState

WORKER = ID | {"description": "one life of a worker: as answered to its first claim"}
LEASE_SECONDS = {
    "type": "number",
    "minimum": bounds.SHORTEST_LEASE,
    "maximum": bounds.LONGEST_LEASE,
    "default": bounds.USUAL_LEASE,
}
DELAY = {"type": "number", "minimum": 0, "maximum": bounds.LONGEST_DELAY}
COUNT = integer(minimum=0, maximum=bounds.LARGEST_COUNT)
NOTE = text(maxLength=NOTE_LIMIT)
FENCE: dict[str, Schema] = {
    "task_id": ID,
    "generation": integer(minimum=1, maximum=bounds.LARGEST_GENERATION),
}


def some(schema: Schema) -> Schema:
    return {"type": "array", "items": schema, "minItems": 1, "maxItems": bounds.LARGEST_BATCH}


def said(outcome: Outcome, properties: dict[str, Schema], *required: str) -> Schema:
    """A settlement with what belongs to its outcome."""
    return an_object(
        {**FENCE, "outcome": {"const": str(outcome)}, **properties},
        required=[*FENCE, "outcome", *required],
    )


def or_refused(name: str, done: dict[str, Schema]) -> dict[str, Schema]:
    """An answer to a batch: each of its leases by itself."""
    refused = an_object({**FENCE, "problem": ref("Problem")})
    items = {"oneOf": [an_object({**FENCE, **done}), refused]}
    return {name: an_object({"leases": {"type": "array", "items": items}})}


WORK: dict[str, Schema] = {
    "id": ID,
    "generation": integer(minimum=1, description="with the id, the fencing token"),
    "name": text(),
    "queue": text(),
    "payload": ANY_OBJECT,
    "attempt": integer(minimum=1),
    "max_attempts": integer(minimum=1),
    "timeout_seconds": or_null({"type": "number", "maximum": TIMEOUT_SECONDS_MAX}),
    "deadline": or_null(INSTANT),
    "due_at": INSTANT,
    "expires_at": INSTANT,
    "idempotency_key": or_null(text()),
    "traceparent": or_null(text(description="of the span in which it was enqueued")),
    "tenant": text(description="told to operators"),
}
SCHEMAS: dict[str, Schema] = {
    "Claim": an_object(
        {
            "worker": ID | {"description": "left out: a new one"},
            "queues": some(QUEUE) | {"description": "remote ones; left out: all of them"},
            "max": integer(minimum=1, maximum=bounds.LARGEST_BATCH, default=1),
            "lease_seconds": LEASE_SECONDS,
            "wait": {"type": "number", "minimum": 0, "maximum": bounds.LONGEST_WAIT, "default": 0}
            | {"description": "seconds in which work may come in"},
            "tenant": SLUG | {"description": "whose tasks; an operator may leave it out"},
        },
        required=(),
    ),
    "Work": an_object(WORK, required=[name for name in WORK if name != "tenant"]),
    "Claimed": an_object({"worker": ID, "tasks": {"type": "array", "items": ref("Work")}}),
    "Renew": an_object(
        {
            "worker": WORKER,
            "leases": some(an_object({**FENCE, "progress": ref("NewProgress")}, required=FENCE)),
            "lease_seconds": LEASE_SECONDS,
        },
        required=["worker", "leases"],
    ),
    "NewProgress": {
        "description": "How far the handler has come; shown with the task while it runs.",
        "oneOf": [
            an_object(
                {"fraction": {"type": "number", "minimum": 0, "maximum": 1}, "note": NOTE},
                required=["fraction"],
            ),
            an_object({"done": COUNT, "total": COUNT, "note": NOTE}, required=["done", "total"]),
        ],
    },
    **or_refused("Renewed", {"expires_at": INSTANT, "cancel_requested": {"type": "boolean"}}),
    "Settlement": {
        "oneOf": [
            said(Outcome.SUCCEEDED, {"result": JSON}),
            said(
                Outcome.FAILED,
                {
                    "error": ref("ErrorWithTraceback"),
                    "permanent": {"type": "boolean", "description": "no other attempt can help"},
                    "retry_in_seconds": DELAY | {"description": "left out: as for any task"},
                },
                "error",
            ),
            said(Outcome.SNOOZED, {"delay_seconds": DELAY}, "delay_seconds"),
            said(Outcome.RELEASED, {}),
        ]
    },
    "ErrorWithTraceback": an_object(
        {
            "class": text(minLength=1, maxLength=bounds.CLASS_LENGTH),
            "message": text(maxLength=bounds.MESSAGE_LENGTH),
            "traceback": text(maxLength=bounds.TRACEBACK_LENGTH),
        },
        required=["class"],
    ),
    "Settle": an_object({"worker": WORKER, "leases": some(ref("Settlement"))}),
    **or_refused("Settled", {"state": one_of(TaskState), "due_at": or_null(INSTANT)}),
}
PATHS: dict[str, dict[str, Operation]] = {
    "/v1/leases": {
        "post": operation(
            "claimTasks",
            "Lease tasks of remote queues to a worker.",
            (*CALLER, *NAMES_A_TENANT, *BODY),
            {"200": answer("What it is to run, perhaps nothing", "Claimed")},
            body="Claim",
        )
    },
    "/v1/leases/renew": {
        "post": operation(
            "renewLeases",
            "Extend leases; each is answered by itself, a lost one with the problem `stale-lease`.",
            (*CALLER, *BODY),
            {"200": answer("What became of each, in the order asked", "Renewed")},
            body="Renew",
        )
    },
    "/v1/leases/settle": {
        "post": operation(
            "settleLeases",
            "Say what became of tasks; each is answered by itself, as in renewing.",
            (*CALLER, *BODY),
            {"200": answer("What became of each, in the order asked", "Settled")},
            body="Settle",
        )
    },
}
