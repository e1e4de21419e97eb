"""What operators do to all dead letters that match."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from scheduling import clock, sweeps
from scheduling.errors import Overloaded
from scheduling.ledger import capacity
from scheduling.lists import letters
from scheduling.models import OperatorAction, Sweep, Task
from tenants.models import Tenant
from tests.admin.conftest import SignIn
from tests.admin.kit import DEAD_LETTERS, Page, ago, bury, put, recorded, text_of, worker
from tests.ledger.kit import failing, say, take

pytestmark = pytest.mark.ledger

HTMX = {"HX-Request": "true"}


def begin(client: Client, address: str, **asked: object) -> str:
    """Confirm it; answers where its page is."""
    answer = client.post(f"{DEAD_LETTERS}{address}", asked)
    assert answer.status_code == 302
    return answer["Location"]


def step(client: Client, page: str) -> Page:
    """As a worker takes it; answers what the page says then."""
    for sweep in Sweep.objects.under_way():
        sweeps.step(sweep.pk)
    return client.get(page, headers=HTMX)


def run(client: Client, address: str, **asked: object) -> str:
    """Take all the steps; answers what is said at the end."""
    page = begin(client, address, **asked)
    while Sweep.objects.under_way().exists():
        step(client, page)
    return text_of(client.get(page))


def dead() -> set[UUID]:
    return set(Task.objects.dead().values_list("pk", flat=True))


def test_the_question_says_how_many_and_of_what(operator: Client, tenant_a: Tenant) -> None:
    bury(tenant_a, 3, name="invoices.send")
    bury(tenant_a, 1)
    question = text_of(operator.get(f"{DEAD_LETTERS}redrive-all/?tenant=tenant-a"))
    assert "4 dead letters match: dead letters with tenant=tenant-a." in question
    assert "invoices.send ValueError tenant-a 3" in question
    assert "invoices.send of tenant-a, died 40 s ago ValueError no luck" in question
    assert len(dead()) == 4


def test_very_many_are_not_counted_to_the_last(
    operator: Client, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(letters, "MOST_COUNTED", 2)
    bury(tenant_a, 4)
    question = text_of(operator.get(f"{DEAD_LETTERS}discard-all/"))
    assert "2 dead letters of the newest 2 match: all dead letters. Older ones" in question
    assert "4 dead letters discarded." in run(operator, "discard-all/")


def test_only_what_matches_is_redriven(
    operator: Client, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    wanted = bury(tenant_a, 2, name="invoices.send")
    others = bury(tenant_a) + bury(tenant_b, name="invoices.send")
    said = run(operator, "redrive-all/?tenant=tenant-a&name=invoices.send")
    assert "2 dead letters redriven." in said
    assert dead() == set(others)
    assert set(Task.objects.filter(state="queued").values_list("pk", flat=True)) == set(wanted)


@pytest.mark.parametrize(
    "filters",
    [
        "tenant=tenant-a",
        "name=rare.name",
        "queue=rare",
        "reason=attempts_exhausted",
        "error=KeyError",
        "finished_after=between-them",
        "finished_before=2020-01-01T00:00",
        "q=rare.name",
        "q=rare-key",
        "q=rare-label",
        "label=rare-label",
        "q=its-id",
    ],
)
def test_filters_of_every_kind_are_obeyed(
    operator: Client, tenant_a: Tenant, tenant_b: Tenant, filters: str
) -> None:
    """Also one that a later version adds: what is listed is what is done."""
    bury(tenant_b)
    put(
        tenant_a,
        max_attempts=1,
        name="rare.name",
        queue="rare",
        idempotency_key="rare-key",
        label="rare-label",
    )
    say(take(1, now=ago(seconds=20)), failing(), now=ago(seconds=10))
    Task.objects.filter(name="rare.name").update(error={"class": "KeyError", "message": ""})
    Task.objects.filter(name="rare.name").update(finished_at=ago(seconds=10))
    filters = filters.replace("its-id", str(Task.objects.get(name="rare.name").pk))
    filters = filters.replace("between-them", f"{ago(seconds=25):%Y-%m-%dT%H:%M:%S}")
    listed = operator.get(f"{DEAD_LETTERS}?{filters}").context["cl"].result_list
    left = dead() - {task.pk for task in listed}
    if listed:
        run(operator, f"discard-all/?{filters}")
    else:
        assert operator.post(f"{DEAD_LETTERS}discard-all/?{filters}").status_code == 200
    assert dead() == left


@pytest.mark.parametrize(
    "filters", ["tenant=nobody", "reason=none-such", "name=demo.echo&q=rare.name"]
)
def test_what_matches_nothing_begins_nothing(
    operator: Client, tenant_a: Tenant, filters: str
) -> None:
    bury(tenant_a)
    assert operator.post(f"{DEAD_LETTERS}discard-all/?{filters}").status_code == 200
    assert not Sweep.objects.exists()


@pytest.mark.parametrize("what", ["redrive-all/", "discard-all/", "export.csv", "export.json"])
def test_a_filter_that_says_nothing_is_refused(
    operator: Client, tenant_a: Tenant, what: str
) -> None:
    """Without it more would match than was meant."""
    bury(tenant_a)
    address = f"{DEAD_LETTERS}{what}?finished_after=soon"
    for answer in (operator.get(address), operator.post(address)):
        assert answer.status_code == 400
    assert not Sweep.objects.exists()


def test_discarding_all_deletes_them(operator: Client, tenant_a: Tenant) -> None:
    bury(tenant_a, 3)
    assert "3 dead letters discarded." in run(operator, "discard-all/")
    assert not Task.objects.exists()


def test_many_are_done_step_by_step(
    operator: Client, tenant_a: Tenant, tenant_b: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps, "STEP", 2)
    bury(tenant_a, 3)
    bury(tenant_b, 2)
    page = begin(operator, "redrive-all/", reason="the gateway is back")
    assert "2 dead letters redriven." in text_of(step(operator, page))
    assert len(dead()) == 3
    assert recorded() == ["redrive 2 dead letters redriven."]
    assert 'value="4"' in step(operator, page).content.decode()
    assert "5 dead letters redriven. finished" in text_of(step(operator, page))
    action = OperatorAction.objects.get()
    assert (action.reason, action.done, action.refused) == ("the gateway is back", 5, 0)


def test_a_step_walks_so_far_and_the_next_goes_on_from_there(
    operator: Client, tenant_a: Tenant, tenant_b: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps, "WALK", 2)
    others = bury(tenant_a, 5)
    bury(tenant_b, name="rare.name")
    page = begin(operator, "redrive-all/?name=rare.name")
    for _ in range(2):
        assert "0 dead letters redriven." in text_of(step(operator, page))
    assert "1 dead letter redriven." in text_of(step(operator, page))
    assert dead() == set(others)


def test_a_colleague_finds_it_and_sees_how_far_it_is(
    operator: Client, sign_in: SignIn, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps, "STEP", 1)
    bury(tenant_a, 2)
    page = begin(operator, "redrive-all/")
    step(operator, page)
    colleague = sign_in("redrive_task")
    listed = text_of(colleague.get(DEAD_LETTERS))
    assert "Redrive all dead letters 1 of 2 done begun by ana" in listed
    assert "1 dead letter redriven." in text_of(colleague.get(page))
    step(colleague, page)
    assert "2 dead letters redriven. finished" in text_of(step(colleague, page))
    assert "done begun by" not in text_of(colleague.get(DEAD_LETTERS))


def test_a_cancelled_one_leaves_the_rest_as_it_is(
    operator: Client, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps, "STEP", 1)
    bury(tenant_a, 3)
    page = begin(operator, "discard-all/")
    step(operator, page)
    assert operator.get(f"{page}cancel/").status_code == 405
    told = "1 dead letter discarded. Cancelled: the rest is as it was."
    assert told in text_of(operator.post(f"{page}cancel/", follow=True))
    step(operator, page)
    assert len(dead()) == 2
    operator.post(f"{page}cancel/")  # a colleague's, who comes second
    assert Sweep.objects.get().state == Sweep.State.CANCELLED
    assert recorded() == [f"discard {told}", f"cancel {told}"]


def test_a_rate_is_kept_and_an_absence_saves_up_nothing(operator: Client, tenant_a: Tenant) -> None:
    bury(tenant_a, 50)
    begin(operator, "redrive-all/", per_second="2")
    for gone, left in ((timedelta(), 50), (timedelta(seconds=3), 44), (timedelta(hours=1), 24)):
        sweep = Sweep.objects.get()
        sweeps.step(sweep.pk, now=sweep.stepped_at + gone)
        assert len(dead()) == left


@pytest.mark.parametrize("rate", ["0", "-1", "x", "nan", "1e9"])
def test_a_rate_that_cannot_be_is_refused(operator: Client, tenant_a: Tenant, rate: str) -> None:
    bury(tenant_a)
    assert operator.post(f"{DEAD_LETTERS}redrive-all/", {"per_second": rate}).status_code == 200
    assert not Sweep.objects.exists()


def test_a_step_takes_few_queries(
    operator: Client, tenant_a: Tenant, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    bury(tenant_a, 100)
    page = begin(operator, "redrive-all/?tenant=tenant-a")
    (sweep_id,) = Sweep.objects.values_list("pk", flat=True)
    with django_assert_max_num_queries(18):  # statements of transactions are counted too
        sweeps.step(sweep_id)
    with django_assert_max_num_queries(15):
        operator.get(page)
    assert not dead()


def test_a_full_tenant_does_not_keep_others_from_being_redriven(
    operator: Client, tenant_a: Tenant, tenant_b: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps, "STEP", 10)
    bury(tenant_a, 30)
    bury(tenant_b, 4)
    Tenant.objects.filter(pk=tenant_a.pk).update(max_queued=7)
    told = "11 dead letters redriven. 23 dead letters left: tenant-a is over its max_queued of 7."
    assert told in run(operator, "redrive-all/")
    assert recorded() == [f"redrive {told}"]
    assert OperatorAction.objects.get().refused == 23
    assert Task.objects.dead().filter(tenant=tenant_b).count() == 0


def test_a_full_ledger_makes_it_wait_and_it_goes_on_by_itself(
    operator: Client, tenant_a: Tenant
) -> None:
    bury(tenant_a)
    page = begin(operator, "redrive-all/")

    def no_room() -> None:
        raise Overloaded("The ledger's disk is nearly full.", retry_after=timedelta(seconds=5))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capacity, "require_room", no_room)
        said = text_of(step(operator, page))
    assert "0 dead letters redriven. It waits: The ledger's disk is nearly full." in said
    assert "1 dead letter redriven. finished" in text_of(step(operator, page))


def test_what_dies_later_is_not_swept_along(
    operator: Client, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps, "STEP", 1)
    bury(tenant_a, 2)
    page = begin(operator, "discard-all/")
    put(tenant_a)
    (claim,) = take(1, now=clock.now())
    say(claim, failing(retry_in=None), now=claim.acquired_at + timedelta(days=1))
    while Sweep.objects.under_way().exists():
        step(operator, page)
    assert dead() == {claim.task_id}


def test_a_redriven_letter_that_dies_again_is_not_redriven_for_ever(
    operator: Client, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps, "STEP", 1)
    (task_id,) = bury(tenant_a)
    page = begin(operator, "redrive-all/")
    step(operator, page)
    (claim,) = take(1, now=clock.now())
    say(claim, failing(retry_in=None), now=claim.acquired_at + timedelta(days=1))
    assert "1 dead letter redriven. finished" in text_of(step(operator, page))
    assert dead() == {task_id}


def test_the_audit_says_what_matched(operator: Client, tenant_a: Tenant) -> None:
    bury(tenant_a)
    run(operator, "redrive-all/?name=demo.echo", reason="fixed")
    audit = text_of(operator.get("/admin/scheduling/operatoraction/"))
    assert "ana redrive dead letters with name=demo.echo fixed 1" in audit


def test_its_page_says_when_nobody_is_there_to_do_it(operator: Client, tenant_a: Tenant) -> None:
    bury(tenant_a)
    page = begin(operator, "redrive-all/")
    assert "No worker is alive to go on with it." in text_of(operator.get(page))
    worker()
    assert "No worker" not in text_of(operator.get(page))


def test_a_clock_that_was_set_back_holds_up_no_rate(operator: Client, tenant_a: Tenant) -> None:
    bury(tenant_a, 5)
    begin(operator, "redrive-all/", per_second="2")
    (sweep_id,) = Sweep.objects.values_list("pk", flat=True)
    yesterday = clock.now() - timedelta(days=1)
    sweeps.step(sweep_id, now=yesterday)
    assert len(dead()) == 5
    sweeps.step(sweep_id, now=yesterday + timedelta(seconds=1))
    assert len(dead()) == 3


def test_there_is_no_page_of_an_unknown_sweep(operator: Client) -> None:
    assert operator.get(f"{DEAD_LETTERS}sweeps/4711/").status_code == 404
    assert operator.post(f"{DEAD_LETTERS}sweeps/4711/cancel/").status_code == 404


def test_who_may_not_sweeps_nothing(sign_in: SignIn, operator: Client, tenant_a: Tenant) -> None:
    bury(tenant_a)
    page = begin(operator, "discard-all/")
    for hand in (sign_in("view_task"), sign_in("redrive_task")):
        listed = hand.get(DEAD_LETTERS).content.decode()
        assert "Discard all dead letters" in listed
        assert "discard-all" not in listed
        assert page not in listed
        assert hand.get(f"{DEAD_LETTERS}discard-all/").status_code == 403
        assert hand.post(f"{DEAD_LETTERS}discard-all/").status_code == 403
        assert hand.get(page).status_code == 403
        assert hand.post(f"{page}cancel/").status_code == 403
    assert len(dead()) == 1


def test_the_list_links_to_the_page_of_the_task(operator: Client, tenant_a: Tenant) -> None:
    (task_id,) = bury(tenant_a, message="m" * 1000)
    html = operator.get(DEAD_LETTERS).content.decode()
    assert f'href="/admin/scheduling/task/{task_id}/change/' in html
    assert "m" * 201 not in html


def test_there_is_no_other_page_of_a_dead_letter(operator: Client, tenant_a: Tenant) -> None:
    """One that shows what the page of the task redacts."""
    (task_id,) = bury(tenant_a)
    answer = operator.get(f"{DEAD_LETTERS}{task_id}/change/")
    assert answer["Location"] == f"/admin/scheduling/task/{task_id}/change/"
