"""Recurring tasks: what may be asked, and how it is answered."""

from typing import Any

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
from scheduling.api.v1.openapi.recurring_schemas import EXTENT
from scheduling.api.v1.openapi.schemas import ID, SLUG, integer, one_of, text
from scheduling.api.v1.serializers import LARGEST_PAGE, PAGE
from scheduling.policies import TickOutcome

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
                parameter("limit", integer(minimum=1, maximum=LARGEST_PAGE, default=PAGE)),
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
                parameter("limit", integer(minimum=1, maximum=LARGEST_PAGE, default=PAGE)),
            ],
        )
    },
}
