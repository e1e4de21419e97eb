"""A program of somebody else's project: enqueues, waits for the worker, looks around, and says as JSON what it saw."""

import json
import sys
from importlib import metadata
from typing import Any, cast

import django

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402  # Django's order
from django.db import connections, transaction  # noqa: E402
from django.test import Client  # noqa: E402

import scheduling  # noqa: E402
from scheduling.models import Task  # noqa: E402
from scheduling.states import TaskState  # noqa: E402

TERMINAL = {TaskState.SUCCEEDED, TaskState.DEAD, TaskState.CANCELLED}


def enqueue() -> str:
    """As the page says, and in one transaction with a row of theirs."""
    from orders.models import Order  # type: ignore[import-not-found]  # theirs

    with transaction.atomic():
        Order.objects.create(number=4711)
        found: dict[str, Any] = {}
        exec(sys.argv[1], found)  # noqa: S102  # the snippet
    return str(found["result"].id)


def main() -> None:
    api = Client(headers={"Authorization": f"Bearer {sys.argv[2]}"})
    document = api.get("/rentroll/v1/openapi.json").json()
    task_id = enqueue()
    answer = api.get(f"/rentroll/v1/tasks/{task_id}", {"wait": "30"})
    staff = Client()
    person = get_user_model()._default_manager.create(email="ana@shop.example", is_superuser=True)
    staff.force_login(cast("Any", person))
    connections["archive"].ensure_connection()
    pages = [
        "/console/",
        "/console/scheduling/task/",
        f"/console/scheduling/task/{task_id}/change/",
        "/console/scheduling/deadletter/",
        "/console/scheduling/recurringtask/",
        "/console/tenants/tenant/1/change/",
        "/console/password_change/",
        "/admin/",
        "/admin/orders/order/",
        "/rentroll/v1/docs",
        "/rentroll/readyz",
    ]
    print(  # noqa: T201  # to whoever sent it
        json.dumps(
            {
                "where": scheduling.__file__,
                "versions": [
                    metadata.version("rentroll"),
                    scheduling.__version__,
                    document["info"]["version"],
                ],
                "servers": document["servers"],
                "task": answer.json(),
                "tasks": [one.id for one in Task.objects.all()],
                "refused": [
                    [refused.status_code, refused["Content-Type"], refused.json()]
                    for refused in (
                        Client().get("/rentroll/v1/tasks"),
                        api.get("/rentroll/v1/tasks", {"limit": "0"}),
                        api.get("/rentroll/v1/no-such-thing"),
                    )
                ],
                "pages": {page: shown(staff, page) for page in pages},
            },
            default=str,
        )
    )


def shown(client: Client, page: str) -> tuple[int, str]:
    answer = client.get(page)
    return answer.status_code, answer.content.decode()


main()
