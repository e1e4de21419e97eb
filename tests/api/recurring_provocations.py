"""The part of the table that is about recurring tasks."""

from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import OperationalError
from django.test import override_settings

from scheduling.api.v1.kinds import Kind
from scheduling.models import RecurringTask
from tests.api.refusals import (
    ADMITTED,
    EVERYBODY,
    NOBODYS,
    WITH_A_BODY,
    WITH_A_FILTER,
    Outcome,
    Provocation,
    for_another_tenant,
    plain,
    twice,
    with_a_misspelt_filter,
)
from tests.api.stage import Call, Exchange, Stage

DAILY = {
    "name": "daily-report",
    "task_name": "demo.echo",
    "payload": {"message": "hello"},
    "cron": "0 9 * * *",
    "timezone": "Europe/Berlin",
    "starts_at": "2099-01-01T00:00:00Z",
}
"""It begins so late that its next instant is always the same one."""
BACKFILL = {"start": "2025-03-28T00:00:00Z", "end": "2025-03-30T23:59:59Z"}
JUMP = "2025-03-28T12:00:00Z"
"""Just before the clocks of Berlin are set forward."""


def created(stage: Stage, **changed: Any) -> Any:
    made = stage.send(Call("createRecurringTask", body=DAILY | changed)).answer
    assert made.status_code == 201, made.content
    return made


def tag(stage: Stage, call: Call) -> str:
    """Of the recurring task as it stands."""
    return str(stage.send(Call("recurringTask", ids=call.ids)).answer["ETag"])


def as_it_stands(stage: Stage, call: Call) -> Exchange:
    return stage.send(call.saying({"If-Match": tag(stage, call)}))


def known(stage: Stage, call: Call) -> Exchange:
    return stage.send(call.saying({"If-None-Match": tag(stage, call)}))


def as_it_never_stood(stage: Stage, call: Call) -> Exchange:
    return stage.send(call.saying({"If-Match": '"99-0123456789abcdef"'}))


def under_a_name_that_is_taken(stage: Stage, call: Call) -> Exchange:
    created(stage, name="weekly-report")
    return as_it_stands(stage, call.but(body={"name": "weekly-report"}))


def where_there_is_no_place(stage: Stage, call: Call) -> Exchange:
    created(stage, name="weekly-report")
    with override_settings(RENTROLL=settings.RENTROLL | {"TENANT_MAX_RECURRING": 1}):
        return stage.send(call)


def declared_in_code(stage: Stage, call: Call) -> Exchange:
    RecurringTask.objects.update(declared_in_code=True)
    return stage.send(call)


def for_nobodys(stage: Stage, call: Call) -> Exchange:
    return stage.send(call.but(ids={"recurring_task_id": NOBODYS}))


def over_the_limit(stage: Stage, call: Call) -> Exchange:
    stage.fill_tenant()
    return stage.send(call)


def with_ticks(stage: Stage, call: Call) -> Exchange:
    stage.send(Call("backfillRecurringTask", ids=call.ids, body=BACKFILL))
    return stage.send(call.but(query={"limit": 2}))


def with_trouble_from_the_first(stage: Stage, call: Call, *, error: Exception) -> Exchange:
    """Nothing but the token is read."""
    stage.secret()
    with stage.database_raises(error, but_on=""):
        return stage.send(call)


def looked_at(stage: Stage, call: Call) -> Exchange:
    return stage.send(call.but(body={**call.body, "preview": True}))


ONE: Mapping[Outcome, Provocation] = {**EVERYBODY, Kind.UNKNOWN_RECURRING_TASK: for_nobodys}
FILTERED: Mapping[Outcome, Provocation] = {**ONE, Kind.INVALID_REQUEST: with_a_misspelt_filter}
SWITCHED: Mapping[Outcome, Provocation] = {
    **WITH_A_BODY,
    **ONE,
    Kind.CHANGED: as_it_never_stood,
    (200, "by-hand"): plain,
}
TABLE: Mapping[str, Mapping[Outcome, Provocation]] = {
    "createRecurringTask": {
        **WITH_A_BODY,
        Kind.WRONG_TENANT: for_another_tenant,
        Kind.NAME_TAKEN: twice,
        Kind.TOO_MANY_RECURRING_TASKS: where_there_is_no_place,
        (201, "daily"): plain,
    },
    "listRecurringTasks": {
        **WITH_A_FILTER,
        (200, "page"): lambda stage, call: stage.send(
            call.but(query={"task_name": "demo.echo", "limit": 10})
        ),
    },
    "previewRule": {
        **WITH_A_BODY,
        Kind.INTERNAL_ERROR: partial(with_trouble_from_the_first, error=RuntimeError()),
        Kind.UNAVAILABLE: partial(with_trouble_from_the_first, error=OperationalError()),
        (200, "over-a-jump"): plain,
    },
    "recurringTask": {**ONE, (200, "daily"): plain, (304, "known"): known},
    "editRecurringTask": {
        **WITH_A_BODY,
        **ONE,
        Kind.CHANGED: as_it_never_stood,
        Kind.PRECONDITION_REQUIRED: lambda stage, call: stage.send(call.but(headers={})),
        Kind.NAME_TAKEN: under_a_name_that_is_taken,
        (200, "later"): as_it_stands,
    },
    "deleteRecurringTask": {
        **ONE,
        Kind.CHANGED: as_it_never_stood,
        Kind.DECLARED_IN_CODE: declared_in_code,
        (204, "deleted"): as_it_stands,
    },
    "pauseRecurringTask": SWITCHED,
    "resumeRecurringTask": SWITCHED,
    "runRecurringTask": {
        **WITH_A_BODY,
        **ONE,
        **ADMITTED,
        Kind.LIMIT_EXCEEDED: over_the_limit,
        Kind.OVERLAPPING: twice,
        (201, "by-hand"): plain,
    },
    "backfillRecurringTask": {
        **WITH_A_BODY,
        **ONE,
        Kind.TEMPORARY_REDUCED_CAPACITY: ADMITTED[Kind.TEMPORARY_REDUCED_CAPACITY],
        (200, "done"): plain,
        (200, "preview"): looked_at,
    },
    "previewRecurringTask": {
        **FILTERED,
        (200, "next-two"): lambda stage, call: stage.send(call.but(query={"count": 2})),
    },
    "listTicks": {**FILTERED, (200, "page"): with_ticks},
}


def usual(operation: str, stage: Stage) -> Call:
    """A request to the operation that would succeed."""
    bodies: dict[str, Any] = {
        "createRecurringTask": DAILY,
        "previewRule": {"cron": "30 2 * * *", "timezone": "Europe/Berlin"}
        | {"after": JUMP, "count": 3},
        "editRecurringTask": {"cron": "0 10 * * *"},
        "pauseRecurringTask": {"reason": "a bad release"},
        "resumeRecurringTask": {"reason": "mended"},
        "runRecurringTask": {"reason": "asked for"},
        "backfillRecurringTask": BACKFILL | {"reason": "the host was away"},
    }
    is_new = operation in ("createRecurringTask", "previewRule")
    row = None if is_new else created(stage).json()
    ids = (
        {"recurring_task_id": UUID(row["id"])} if row and operation != "listRecurringTasks" else {}
    )
    headers = {"If-Match": "*"} if operation == "editRecurringTask" else {}
    return Call(operation, ids=ids, body=bodies.get(operation), headers=headers)
