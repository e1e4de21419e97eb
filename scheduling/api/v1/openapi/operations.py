"""What can be asked of the API, and every answer to it."""

from scheduling.api.v1.idempotency import MAX_LENGTH
from scheduling.api.v1.kinds import Kind
from scheduling.api.v1.openapi import dead_letters, leases, recurring
from scheduling.api.v1.openapi.parts import (
    ACCEPTED,
    ADMISSION,
    BODY,
    CALLER,
    NAMES_A_TENANT,
    NEXT,
    ONE_TASK,
    RATE_LIMIT,
    TASK_ID,
    Operation,
    answer,
    headers,
    links_by,
    operation,
    parameter,
)
from scheduling.api.v1.openapi.schemas import COVERING, FILTERS, SLUG, text
from scheduling.api.v1.until_over import SECONDS_MAX

TRACEPARENT = parameter(
    "traceparent", text(description="W3C Trace Context; one that is invalid is left out"), "header"
)
KEY = r'^("([ !#-\[\]-~]|\\["\\])+"|[!#-~]([ -~]*[!-~])?)$'
"""Quoted or bare."""
REPLAY = {"headers": headers({"Idempotency-Replayed": text(), **RATE_LIMIT})}
PATHS: dict[str, dict[str, Operation]] = {
    "/v1/tasks": {
        "post": operation(
            "enqueueTask",
            "Accept a task. It is on disk before the answer is sent.",
            (
                *CALLER,
                *NAMES_A_TENANT,
                *BODY,
                *ADMISSION,
                Kind.IDEMPOTENCY_KEY_IN_USE,
                Kind.IDEMPOTENCY_KEY_REUSED,
            ),
            {
                "201": answer("Accepted", "Task", **ACCEPTED),
                "200": answer("The same task as before, by its key", "Task", **ACCEPTED),
            },
            parameters=[
                parameter(
                    "Idempotency-Key",
                    text(minLength=1, maxLength=MAX_LENGTH, pattern=KEY),
                    "header",
                ),
                TRACEPARENT,
            ],
            body="NewTask",
        ),
        "get": operation(
            "listTasks",
            "Tasks, newest first, without payload and result. A page may be short, and still have a next.",
            (*CALLER, *NAMES_A_TENANT),
            {
                "200": answer(
                    "A page", "Page", links={"task": links_by("$response.body#/tasks/0/id")["task"]}
                )
            },
            parameters=[parameter(name, schema) for name, schema in FILTERS.items()],
        ),
    },
    "/v1/tasks/batch": {
        "post": operation(
            "enqueueTasks",
            "Accept many tasks: all of them, or on any refusal none.",
            (
                *CALLER,
                *NAMES_A_TENANT,
                *BODY,
                *ADMISSION,
                Kind.IDEMPOTENCY_KEY_IN_USE,
                Kind.IDEMPOTENCY_KEY_REUSED,
            ),
            {
                "201": answer(
                    "Accepted, in the order of the batch",
                    "AcceptedBatch",
                    headers=headers(RATE_LIMIT),
                ),
                "200": answer("The same tasks as before, by their keys", "AcceptedBatch", **REPLAY),
            },
            parameters=[TRACEPARENT],
            body="NewBatch",
        ),
    },
    "/v1/tasks/{task_id}": {
        "get": operation(
            "task",
            "A task, with its newest attempts; held until it is over if one waits.",
            (*ONE_TASK, Kind.INVALID_REQUEST),
            {"200": answer("The task", "TaskWithAttempts", **NEXT)},
            parameters=[
                TASK_ID,
                parameter("wait", {"type": "number", "minimum": 0, "maximum": SECONDS_MAX}),
            ],
        )
    },
    "/v1/tasks/{task_id}/explain": {
        "get": operation(
            "explainTask",
            "Why a task is not running, in a sentence and as data.",
            ONE_TASK,
            {"200": answer("The first reason that a worker would meet", "Explanation")},
            parameters=[TASK_ID],
        )
    },
    "/v1/tasks/{task_id}/cancel": {
        "post": operation(
            "cancelTask",
            "Cancel a task that is queued; ask one that runs to stop.",
            (*ONE_TASK, *BODY, Kind.WRONG_STATE),
            {
                "200": answer("Cancelled", "Task", **NEXT),
                "202": answer("Asked to stop", "Task", **NEXT),
            },
            parameters=[TASK_ID],
            body="Why",
            is_body_needed=False,
        )
    },
    "/v1/tasks/{task_id}/redrive": {
        "post": operation(
            "redriveTask",
            "Queue a dead letter again, with a fresh allowance.",
            (*ONE_TASK, *BODY, *ADMISSION, Kind.WRONG_STATE),
            {"200": answer("Queued", "Task", **NEXT)},
            parameters=[TASK_ID],
            body="Why",
            is_body_needed=False,
        )
    },
    "/v1/limits": {
        "get": operation(
            "limits",
            "What a tenant may use, and uses.",
            (*CALLER, *NAMES_A_TENANT),
            {"200": answer("Limits; null is none", "Limits")},
            parameters=[parameter("tenant", SLUG)],
        )
    },
    "/v1/queues": {
        "get": operation(
            "listQueues",
            "The queues that a tenant has used, by name, and what is in them.",
            (*CALLER, *NAMES_A_TENANT),
            {"200": answer("A page", "Queues")},
            parameters=[
                parameter("tenant", SLUG),
                parameter("after", text(minLength=1, maxLength=100)),
            ],
        )
    },
    "/v1/execution-control": {
        "get": operation(
            "executionControl",
            "Whether anything is kept from starting.",
            (*CALLER, *NAMES_A_TENANT),
            {"200": answer("What stands", "Receipt")},
            parameters=[parameter(name, schema) for name, schema in COVERING.items()],
        ),
        "put": operation(
            "controlExecution",
            "The kill switch: pause or resume, from the instant of the answer on.",
            (*CALLER, *NAMES_A_TENANT, *BODY),
            {"200": answer("What stands now", "Receipt")},
            body="Switch",
        ),
    },
    **dead_letters.PATHS,
    **leases.PATHS,
    **recurring.PATHS,
}
