"""Another tenant's task is no task at all, on every address, to the byte."""

from uuid import UUID, uuid4

import pytest

from scheduling import ledger
from scheduling.models import Task
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.api.kit import Api, Response, problem
from tests.ledger import kit

pytestmark = [pytest.mark.django_db, pytest.mark.ledger]

ROUTES = [
    ("GET", "/v1/tasks/{}"),
    ("GET", "/v1/tasks/{}/explain"),
    ("POST", "/v1/tasks/{}/cancel"),
    ("POST", "/v1/tasks/{}/redrive"),
]


def answered(response: Response, task_id: object) -> tuple[object, ...]:
    """All that a client can tell the answer by, with the id it sent itself struck out."""
    headers = {name: value for name, value in response.headers.items() if name != "Content-Length"}
    return response.status_code, headers, response.content.decode().replace(str(task_id), "…")


@pytest.fixture(params=list(TaskState))
def task_of_b(request: pytest.FixtureRequest, tenant_b: Tenant) -> UUID:
    """One in each state: what may be done to it differs, what a stranger is told must not."""
    return in_state(tenant_b, request.param)


@pytest.mark.parametrize(("method", "route"), ROUTES)
def test_it_is_answered_like_an_id_that_never_was(
    api_a: Api, task_of_b: UUID, method: str, route: str
) -> None:
    nobodys = uuid4()
    strangers = api_a.send(method, route.format(task_of_b))
    unknown = api_a.send(method, route.format(nobodys))
    assert problem(strangers) == (404, "unknown-task")
    assert answered(strangers, task_of_b) == answered(unknown, nobodys)


@pytest.mark.parametrize(("method", "route"), ROUTES)
def test_nothing_happens_to_it(api_a: Api, task_of_b: UUID, method: str, route: str) -> None:
    before = Task.objects.filter(pk=task_of_b).values().get()
    api_a.send(method, route.format(task_of_b))
    assert Task.objects.filter(pk=task_of_b).values().get() == before


@pytest.mark.parametrize("task_id", ["x", "1", "0" * 31, "%00", "%ED%A0%80", "..", "a" * 5000])
@pytest.mark.parametrize(("method", "route"), ROUTES)
def test_what_is_no_id_is_no_task_either(api_a: Api, method: str, route: str, task_id: str) -> None:
    status, kind = problem(api_a.send(method, route.format(task_id)))
    assert (status, kind) in {(404, "unknown-task"), (404, "not-found")}


def test_lists_show_a_tenant_its_own_tasks(
    api_a: Api, operator: Api, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    [of_a], [of_b] = kit.put(tenant_a), kit.put(tenant_b)
    assert listed(api_a, "/v1/tasks") == {str(of_a)}
    assert listed(operator, "/v1/tasks") == {str(of_a), str(of_b)}
    assert listed(operator, "/v1/tasks?tenant=tenant-b") == {str(of_b)}
    assert problem(api_a.get("/v1/tasks?tenant=tenant-b")) == (403, "wrong-tenant")
    assert problem(api_a.get("/v1/tasks?tenant=nobody")) == (403, "wrong-tenant")
    assert listed(api_a, f"/v1/tasks?cursor={UUID(int=2**128 - 1)}") == {str(of_a)}


def test_the_operator_sees_whose_task_it_is(operator: Api, tenant_a: Tenant) -> None:
    [of_a] = kit.put(tenant_a)
    assert operator.get(f"/v1/tasks/{of_a}").json()["tenant"] == "tenant-a"


def listed(api: Api, address: str) -> set[str]:
    return {task["id"] for task in api.get(address).json()["tasks"]}


def in_state(tenant: Tenant, state: TaskState) -> UUID:
    """A task that came into that state by the verbs of the ledger."""
    [task_id] = kit.put(tenant)
    match state:
        case TaskState.QUEUED:
            pass
        case TaskState.RUNNING:
            kit.take()
        case TaskState.SUCCEEDED:
            kit.say(kit.take(), ledger.Succeed())
        case TaskState.DEAD:
            kit.say(kit.take(), kit.failing(retry_in=None))
        case TaskState.CANCELLED:
            ledger.cancel([task_id])
    return task_id
