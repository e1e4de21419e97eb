"""Dead letters by the many: what is asked, and what is answered."""

from typing import Any

from scheduling.api.v1.kinds import Kind
from scheduling.api.v1.openapi.parts import (
    ADMISSION,
    BODY,
    CALLER,
    NAMES_A_TENANT,
    Operation,
    answer,
    operation,
)
from scheduling.api.v1.openapi.schemas import (
    ID,
    INSTANT,
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
from scheduling.api.v1.serializers import LARGEST_BATCH
from scheduling.options import LABEL_LENGTH_MAX
from scheduling.states import DeadReason

WHICH: dict[str, Schema] = {
    "tenant": SLUG,
    "name": text(minLength=1, maxLength=200),
    "queue": text(minLength=1, maxLength=100),
    "label": text(minLength=1, maxLength=LABEL_LENGTH_MAX),
    "error_class": text(minLength=1, maxLength=200),
    "dead_reason": one_of(DeadReason),
    "finished_after": INSTANT,
    "finished_before": INSTANT,
}
SCHEMAS: dict[str, Schema] = {
    "DeadLetterFilter": an_object(WHICH, required=()),
    "DeadLetters": {
        "description": "Either `ids` or a `filter`; an empty filter is every dead letter.",
        "oneOf": [
            an_object(
                {"ids": {"type": "array", "items": ID, "minItems": 1, "maxItems": LARGEST_BATCH}}
                | {"preview": {"type": "boolean"}, "reason": REASON},
                required=["ids"],
            ),
            an_object(
                {
                    "filter": ref("DeadLetterFilter"),
                    "limit": integer(minimum=1, maximum=LARGEST_BATCH),
                    "preview": {"type": "boolean"},
                    "reason": REASON,
                },
                required=["filter"],
            ),
        ],
    },
    "Preview": an_object(
        {
            "matching": integer(minimum=0, description="dead letters, counted up to a bound"),
            "is_exact": {"type": "boolean", "description": "false: there are more"},
            "tasks": {"type": "array", "items": ref("Summary"), "description": "the first few"},
        }
    ),
    "Swept": an_object(
        {
            "done": integer(minimum=0),
            "next": or_null(ref("DeadLetters"))
            | {"description": "what to send to go on; null when nothing is left"},
            "full": {
                "type": "array",
                "items": SLUG,
                "description": "tenants that have no room for what was left",
            },
        }
    ),
}


def sweep(name: str, summary: str, *more: Kind) -> dict[str, Operation]:
    answers: dict[str, Any] = {"200": answer("What was done, or would be", "SweptOrPreview")}
    kinds = (*CALLER, *NAMES_A_TENANT, *BODY, *more)
    return {"post": operation(name, summary, kinds, answers, body="DeadLetters")}


SCHEMAS["SweptOrPreview"] = {"oneOf": [ref("Swept"), ref("Preview")]}
PATHS: dict[str, dict[str, Operation]] = {
    "/v1/dead-letters/redrive": sweep(
        "redriveDeadLetters",
        "Queue dead letters again, as many as fit; ask for a preview first.",
        *ADMISSION,
    ),
    "/v1/dead-letters/discard": sweep(
        "discardDeadLetters", "Delete dead letters with their history; ask for a preview first."
    ),
}
