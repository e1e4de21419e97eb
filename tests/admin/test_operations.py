"""What operators do to tasks they picked."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.test import Client

from scheduling import clock
from scheduling.admin import selection
from scheduling.admin.operations import Operation, perform
from scheduling.audit import Actor, Via
from scheduling.errors import Overloaded
from scheduling.ledger import capacity
from scheduling.models import OperatedTask, OperatorAction, Task
from tenants.models import Tenant
from tests.admin.conftest import SignIn
from tests.admin.kit import DEAD_LETTERS, TASKS, bury, page, put, recorded, text_of
from tests.ledger.kit import take

pytestmark = pytest.mark.ledger


def operate(client: Client, operation: str, ids: list[UUID], **fields: str) -> str:
    """Confirm an operation on those tasks; answers what the page that follows says."""
    posted = {"task": ids, "confirmed": "1", **fields}
    return text_of(client.post(f"{TASKS}{operation}/", posted, follow=True))


def states(ids: list[UUID]) -> list[str]:
    return [Task.objects.get(pk=task_id).state for task_id in ids]


def test_redriving_while_the_system_is_full_says_so_and_leaves_them(
    operator: Client, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = bury(tenant_a, 2)

    def no_room() -> None:
        raise Overloaded("The ledger's disk is nearly full.", retry_after=timedelta(seconds=5))

    monkeypatch.setattr(capacity, "require_room", no_room)
    told = "0 dead letters redriven. 2 left: nobody's work is taken now. The ledger's disk is nearly full."
    assert told in operate(operator, "redrive", ids)
    assert states(ids) == ["dead", "dead"]


@pytest.mark.parametrize("operation", ["redrive", "discard"])
def test_a_selection_is_asked_about_first(
    operator: Client, tenant_a: Tenant, operation: str
) -> None:
    ids = bury(tenant_a, 2)
    picked = {"action": operation, "_selected_action": ids, "index": "0"}
    answer = text_of(operator.post(f"{DEAD_LETTERS}?tenant=tenant-a", picked))
    assert f"{operation.capitalize()} 2 tasks?" in answer
    assert all(str(task_id) in answer for task_id in ids)
    assert states(ids) == ["dead", "dead"]


def test_cancelling_tells_what_became_of_each(operator: Client, tenant_a: Tenant) -> None:
    dead = bury(tenant_a)
    running = put(tenant_a)
    take(1)
    queued = put(tenant_a, 2)
    answer = operate(operator, "cancel", [*dead, *running, *queued])
    assert (
        "2 tasks cancelled. 1 running task asked to stop. 1 task left: already finished." in answer
    )
    assert states(queued) == ["cancelled", "cancelled"]
    assert Task.objects.get(pk=running[0]).cancel_requested_at is not None


def test_redriving_queues_dead_letters_and_nothing_else(operator: Client, tenant_a: Tenant) -> None:
    dead, queued = bury(tenant_a, 2), put(tenant_a)
    answer = operate(operator, "redrive", [*dead, *queued])
    assert "2 dead letters redriven. 1 task left: not dead." in answer
    assert states(dead) == ["queued", "queued"]


def test_redriving_over_the_limit_says_how_many_are_left(
    operator: Client, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    full, other = bury(tenant_a, 5), bury(tenant_b, 3)
    Tenant.objects.filter(pk=tenant_a.pk).update(max_queued=2)
    answer = operate(operator, "redrive", [*full, *other])
    assert "5 dead letters redriven. 3 left: tenant-a is over its max_queued of 2." in answer
    assert sorted(states(full)) == ["dead"] * 3 + ["queued"] * 2
    assert states(other) == ["queued"] * 3


def test_discarding_deletes_with_history(operator: Client, tenant_a: Tenant) -> None:
    ids = bury(tenant_a, 2)
    assert "2 dead letters discarded." in operate(operator, "discard", ids)
    assert not Task.objects.exists()


def test_each_task_remembers_who_did_what(operator: Client, tenant_a: Tenant) -> None:
    dead, queued = bury(tenant_a, 2), put(tenant_a)
    operate(operator, "redrive", [*dead, *queued])
    assert recorded() == ["redrive 2 dead letters redriven. 1 task left: not dead."]
    assert "ana redrive" in text_of(operator.get(page(dead[0])))
    assert "ana redrive" not in text_of(operator.get(page(queued[0])))


def test_the_page_of_a_task_offers_what_applies(operator: Client, tenant_a: Tenant) -> None:
    (dead,) = bury(tenant_a)
    (queued,) = put(tenant_a)
    assert operator.get(page(dead)).context["operations"] == ["redrive", "discard"]
    assert operator.get(page(queued)).context["operations"] == ["cancel"]


def test_who_may_only_look_can_do_nothing(sign_in: SignIn, tenant_a: Tenant) -> None:
    ids = bury(tenant_a)
    viewer = sign_in("view_task")
    assert viewer.get(page(ids[0])).context["operations"] == []
    assert "Redrive" not in text_of(viewer.get(DEAD_LETTERS))
    for operation in Operation:
        answer = viewer.post(f"{TASKS}{operation}/", {"task": ids, "confirmed": "1"})
        assert answer.status_code == 403
    assert states(ids) == ["dead"]


@pytest.mark.parametrize("mine", Operation)
def test_each_operation_has_a_permission_of_its_own(
    sign_in: SignIn, tenant_a: Tenant, mine: Operation
) -> None:
    """Also of whoever forges the form."""
    (dead,) = bury(tenant_a)
    (waiting,) = put(tenant_a, due_at=clock.now() + timedelta(hours=1))
    hand = sign_in(mine.permission.removeprefix("scheduling."))
    offered = {
        operation
        for task_id in (dead, waiting)
        for operation in hand.get(page(task_id)).context["operations"]
    }
    assert offered == {mine}
    allowed = {
        operation
        for operation in Operation
        if hand.post(f"{TASKS}{operation}/", {"task": [dead]}).status_code == 200
    }
    assert allowed == {mine}
    may_reschedule = hand.get(f"{TASKS}{waiting}/reschedule/").status_code == 200
    assert may_reschedule == (mine is Operation.RUN_NOW)


def test_what_waits_for_its_time_is_made_due_now(operator: Client, tenant_a: Tenant) -> None:
    waiting = put(tenant_a, due_at=clock.now() + timedelta(hours=1))
    running = put(tenant_a)
    take(1)
    answer = operate(operator, "run-now", [*waiting, *running], reason="the customer waits")
    assert "1 task rescheduled. 1 task left: not waiting, or with a deadline before that." in answer
    assert [claim.task_id for claim in take(2, now=clock.now())] == waiting
    action = OperatorAction.objects.get()
    assert (action.verb, action.reason) == ("run now", "the customer waits")


def test_a_link_does_nothing(operator: Client, tenant_a: Tenant) -> None:
    (task_id,) = bury(tenant_a)
    assert operator.get(f"{TASKS}discard/?task={task_id}&confirmed=1").status_code == 405
    assert states([task_id]) == ["dead"]


def test_who_is_not_signed_in_is_sent_to_sign_in(client: Client, tenant_a: Tenant) -> None:
    ids = bury(tenant_a)
    answer = client.post(f"{TASKS}discard/", {"task": ids, "confirmed": "1"})
    assert answer.status_code == 302
    assert answer["Location"].startswith("/admin/login/")
    assert states(ids) == ["dead"]


def test_a_task_that_is_gone_by_now_is_left_out(operator: Client, tenant_a: Tenant) -> None:
    ids = bury(tenant_a)
    assert "1 dead letter discarded." in operate(operator, "discard", [*ids, uuid4()])


def test_an_id_that_is_none_is_refused(operator: Client) -> None:
    posted = {"task": "not-an-id", "confirmed": "1"}
    assert operator.post(f"{TASKS}discard/", posted).status_code == 400
    for address, action in ((TASKS, "cancel"), (DEAD_LETTERS, "discard")):
        picked = {"action": action, "_selected_action": "not-an-id", "index": "0"}
        assert operator.post(address, picked).status_code == 400


@pytest.mark.parametrize("operation", [Operation.REDRIVE, Operation.DISCARD])
def test_who_comes_second_is_told_so_and_is_on_record_with_nothing_done(
    tenant_a: Tenant, operation: Operation
) -> None:
    """Both have read the tasks while they were dead."""
    bury(tenant_a, 2)
    read = list(Task.objects.select_related("tenant"))
    ana, bo = Actor("ana", Via.CONSOLE), Actor("bo", Via.CONSOLE)
    assert perform(operation, read[:1], ana).startswith("1 dead letter ")
    told = perform(operation, read, bo)
    assert told.startswith("1 dead letter ")
    assert told.endswith("1 task left: not dead.")
    second = OperatorAction.objects.get(by="bo")
    assert (second.done, second.refused) == (1, 1)
    assert OperatedTask.objects.filter(action=second).count() == 1


def test_no_more_are_picked_than_fit_one_transaction(
    operator: Client, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "MOST_AT_ONCE", 2)
    ids = bury(tenant_a, 3)
    everything = {
        "action": "discard",
        "_selected_action": ids[:1],
        "index": "0",
        "select_across": "1",
    }
    assert operator.post(f"{TASKS}discard/", {"task": ids, "confirmed": "1"}).status_code == 400
    assert operator.post(DEAD_LETTERS, everything).status_code == 400
    assert states(ids) == ["dead"] * 3


def test_the_way_back_leads_to_this_site_only(operator: Client, tenant_a: Tenant) -> None:
    ids = put(tenant_a, 2)
    for back, leads_to in (("https://evil.example/", TASKS), (page(ids[0]), page(ids[0]))):
        posted = {"task": ids, "confirmed": "1", "back": back}
        assert operator.post(f"{TASKS}cancel/", posted)["Location"] == leads_to


def test_whatever_is_given_for_a_reason_is_on_record(operator: Client, tenant_a: Tenant) -> None:
    """PostgreSQL takes no NUL."""
    operate(operator, "cancel", put(tenant_a), reason="out\x00age")
    assert OperatorAction.objects.get().reason == "out\ufffdage"
