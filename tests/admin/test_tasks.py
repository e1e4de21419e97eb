"""The list of tasks and the page of one."""

import json
import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from scheduling import clock, ledger
from scheduling.admin.lists import ReadOnlyAdmin
from scheduling.admin.shown import TEXT_SHOWN
from scheduling.admin.words import lasting
from scheduling.ledger.values import Snooze, Succeed
from scheduling.lists import paging
from scheduling.models import Lease, Task
from tenants.models import Tenant
from tests.admin.conftest import SignIn
from tests.admin.kit import DEAD_LETTERS, TASKS, ago, bury, page, put, text_of, worker
from tests.ledger.kit import failing, say, take

pytestmark = pytest.mark.ledger


def listed(client: Client, query: str = "", *, of: str = TASKS) -> list[str]:
    """The ids on a page of the list."""
    return [str(task.pk) for task in client.get(f"{of}{query}").context["cl"].result_list]


def strings(ids: list[object]) -> list[str]:
    return [str(task_id) for task_id in ids]


def test_the_newest_task_comes_first(operator: Client, tenant_a: Tenant) -> None:
    ids = put(tenant_a, 3)
    assert listed(operator) == strings([*reversed(ids)])


def test_an_attempt_that_runs_is_counted_as_the_api_counts_it(
    operator: Client, tenant_a: Tenant
) -> None:
    put(tenant_a, max_attempts=7)
    assert " 0 / 7 " in text_of(operator.get(TASKS))
    claims = take(1)
    assert " 1 / 7 " in text_of(operator.get(TASKS))
    say(claims, failing(retry_in=timedelta(0)))
    assert " 1 / 7 " in text_of(operator.get(TASKS))


def test_the_list_is_never_counted_and_loads_no_blobs(
    operator: Client, tenant_a: Tenant, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    put(tenant_a, 60)
    with django_assert_max_num_queries(15) as captured:
        operator.get(f"{TASKS}?tenant=tenant-a&p=2")
    of_tasks = [query["sql"] for query in captured if "scheduling_task" in query["sql"]]
    assert of_tasks
    assert not [
        sql for sql in of_tasks if "COUNT(" in sql or '"kwargs"' in sql or '"result"' in sql
    ]


def test_pages_lead_on_and_to_the_beginning(operator: Client, tenant_a: Tenant) -> None:
    size = ReadOnlyAdmin.list_per_page
    ids = strings([*reversed(put(tenant_a, size * 2 + 1))])
    first = operator.get(TASKS).context["cl"]
    assert (first.newest, first.older) == (None, f"?p={ids[size - 1]}")
    assert listed(operator, first.older) == ids[size : size * 2]
    second = operator.get(f"{TASKS}{first.older}").context["cl"]
    assert second.newest == "?"
    assert listed(operator, second.older) == ids[-1:]
    assert operator.get(f"{TASKS}{second.older}").context["cl"].older is None


def test_a_page_of_what_no_index_finds_looks_so_far_and_says_so(
    operator: Client, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "WALK", 3)
    monkeypatch.setattr(paging, "ENOUGH", 0)
    (rare,) = put(tenant_a, name="demo.rare")
    put(tenant_a, 4)
    page = operator.get(f"{TASKS}?name=demo.rare")
    assert page.context["cl"].result_list == []
    assert "3 tasks looked through for this page; older ones may match as well." in text_of(page)
    assert listed(operator, page.context["cl"].older) == [str(rare)]


@pytest.mark.parametrize("state", ["queued", "scheduled", "retrying", "running"])
@pytest.mark.parametrize("queue", ["", "&queue=q1"])
def test_a_page_asks_little_however_far_it_looks_and_however_many_lanes_there_are(
    operator: Client,
    tenant_a: Tenant,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_max_num_queries: DjangoAssertNumQueries,
    state: str,
    queue: str,
) -> None:
    monkeypatch.setattr(paging, "WALK", 2)
    monkeypatch.setattr(paging, "ENOUGH", 1e9)
    for number in range(12):
        put(tenant_a, 3, queue=f"q{number}", name="demo.often")
        put(tenant_a, 3, queue=f"q{number}", due_at=ago(hours=-1))
    take(3, queues=["q1"])
    addresses = [
        f"{TASKS}?tenant=tenant-a&state={state}&name=demo.rare{queue}",
        f"{TASKS}?tenant=tenant-a&name=demo.rare{queue}",
        f"{DEAD_LETTERS}?tenant=tenant-a&finished_after=2026-01-01T00:00{queue}",
    ]
    for address in addresses:
        with django_assert_max_num_queries(15):
            assert operator.get(address).status_code == 200


@pytest.mark.parametrize("number", ["0", "-3", "x", "%00", "999999999999999999999999"])
def test_a_page_that_cannot_be_is_no_error(operator: Client, tenant_a: Tenant, number: str) -> None:
    put(tenant_a)
    assert operator.get(f"{TASKS}?p={number}").status_code == 200


def test_each_state_is_found(operator: Client, tenant_a: Tenant) -> None:
    dead = bury(tenant_a)
    done = put(tenant_a)
    say(take(1), Succeed())
    running = put(tenant_a)
    take(1)
    cancelled = put(tenant_a)
    ledger.cancel(cancelled)
    queued = put(tenant_a)
    found = {
        state: listed(operator, f"?state={state}")
        for state in Task.objects.values_list("state", flat=True)
    }
    assert found == {
        "dead": strings([*dead]),
        "succeeded": strings([*done]),
        "running": strings([*running]),
        "cancelled": strings([*cancelled]),
        "queued": strings([*queued]),
    }


def test_filters_narrow_down_together(operator: Client, tenant_a: Tenant, tenant_b: Tenant) -> None:
    put(tenant_a, queue="mail")
    put(tenant_b, queue="mail", name="other.task")
    wanted = put(tenant_b, queue="mail")
    put(tenant_b, queue="default")
    assert listed(operator, "?tenant=tenant-b&queue=mail&name=demo.echo") == strings([*wanted])


def test_a_tenant_that_does_not_exist_has_no_tasks(operator: Client, tenant_a: Tenant) -> None:
    put(tenant_a)
    assert listed(operator, "?tenant=nobody") == []


@pytest.mark.parametrize("key", ["tenant", "queue", "name", "q", "state"])
@pytest.mark.parametrize("value", ["%00", "a%00b", "%ED%A0%80", "%F0%9F%92%A9", "'"])
def test_no_text_to_look_for_is_an_error(
    operator: Client, tenant_a: Tenant, key: str, value: str
) -> None:
    put(tenant_a)
    assert operator.get(f"{TASKS}?{key}={value}", follow=True).status_code == 200


def test_a_filter_keeps_what_else_is_asked(operator: Client, tenant_a: Tenant) -> None:
    put(tenant_a)
    html = operator.get(f"{TASKS}?state=queued&q=key-1").content.decode()
    assert '<input type="hidden" name="state" value="queued">' in html
    assert '<input type="hidden" name="q" value="key-1">' in html


def test_a_task_is_found_by_its_id(operator: Client, tenant_a: Tenant) -> None:
    wanted, _ = put(tenant_a, 2)
    assert listed(operator, f"?q={wanted}") == [str(wanted)]
    assert listed(operator, f"?q= {str(wanted).upper()} ") == [str(wanted)]


def test_tasks_are_found_by_their_key_whosever_they_are(
    operator: Client, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    ids = put(tenant_a, idempotency_key="order-1") + put(tenant_b, idempotency_key="order-1")
    put(tenant_b, idempotency_key="order-10")
    assert listed(operator, "?q=order-1") == strings([*reversed(ids)])


def test_tasks_are_found_by_their_name_when_no_key_is_like_it(
    operator: Client, tenant_a: Tenant
) -> None:
    wanted = put(tenant_a, name="invoices.send")
    put(tenant_a)
    assert listed(operator, "?q=invoices.send") == strings([*wanted])
    assert listed(operator, "?q=invoices.send&name=demo.echo") == []
    put(tenant_a, idempotency_key="invoices.send")
    assert listed(operator, "?q=invoices.send") != strings([*wanted])


def test_tasks_are_found_by_their_label_whosever_they_are(
    operator: Client, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    ids = put(tenant_a, 2, label="order 4711") + put(tenant_b, label="order 4711")
    put(tenant_b, label="order 47110")
    put(tenant_b)
    assert listed(operator, "?q=order 4711") == strings([*reversed(ids)])
    assert listed(operator, "?q=order 4711&tenant=tenant-a") == strings([*reversed(ids[:2])])
    assert listed(operator, "?q=order 4711&label=other") == []
    assert listed(operator, "?label=order 4711&state=succeeded") == []


def test_a_key_and_a_label_of_one_text_hide_nothing_of_each_other(
    operator: Client, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    (keyed,) = put(tenant_a, idempotency_key="order-4711", label="order-4711")
    (labelled,) = put(tenant_b, label="order-4711")
    assert listed(operator, "?q=order-4711") == strings([labelled, keyed])


def test_dead_letters_are_found_by_their_label(operator: Client, tenant_a: Tenant) -> None:
    (dead,) = bury(tenant_a, label="order 4711")
    bury(tenant_a)
    put(tenant_a, label="order 4711")
    for query in ("?q=order 4711", "?label=order 4711"):
        assert listed(operator, query, of=DEAD_LETTERS) == [str(dead)]


def test_tasks_are_found_by_their_last_error(operator: Client, tenant_a: Tenant) -> None:
    failed = bury(tenant_a)
    put(tenant_a)
    assert listed(operator, "?error=ValueError") == strings([*failed])
    assert listed(operator, "?error=KeyError") == []


def test_tasks_are_found_by_when_they_were_created(operator: Client, tenant_a: Tenant) -> None:
    old, new = put(tenant_a, now=ago(hours=3)), put(tenant_a)
    hour_ago = f"{ago(hours=1):%Y-%m-%dT%H:%M}"
    assert listed(operator, f"?created_after={hour_ago}") == strings([*new])
    assert listed(operator, f"?created_before={hour_ago}") == strings([*old])
    assert listed(operator, f"?created_before={hour_ago}&created_after={hour_ago}") == []


def test_an_instant_that_is_none_is_no_error(operator: Client, tenant_a: Tenant) -> None:
    assert operator.get(f"{TASKS}?created_after=soon", follow=True).status_code == 200


def test_a_lookup_that_no_filter_offers_is_refused(operator: Client, tenant_a: Tenant) -> None:
    assert operator.get(f"{TASKS}?kwargs__icontains=secret").status_code == 400


def test_what_waits_is_told_apart(operator: Client, tenant_a: Tenant) -> None:
    put(tenant_a, due_at=clock.now() + timedelta(hours=1))
    put(tenant_a)
    say(take(1), failing(retry_in=timedelta(hours=1)))
    put(tenant_a)
    rows = text_of(operator.get(TASKS))
    assert rows.index("queued tenant-a") < rows.index("retrying tenant-a")
    assert rows.index("retrying tenant-a") < rows.index("scheduled tenant-a")


@pytest.mark.parametrize("address", [TASKS, DEAD_LETTERS])
def test_who_may_not_see_tasks_is_refused(sign_in: SignIn, address: str) -> None:
    assert sign_in("view_group").get(address).status_code == 403


def test_tasks_can_be_neither_added_nor_deleted_nor_edited(
    operator: Client, tenant_a: Tenant
) -> None:
    (task_id,) = put(tenant_a)
    assert operator.get(f"{TASKS}add/").status_code == 403
    assert operator.post(f"{TASKS}{task_id}/delete/", {"post": "yes"}).status_code == 403
    operator.post(page(task_id), {"name": "other", "state": "succeeded"})
    task = Task.objects.get(pk=task_id)
    assert (task.name, task.state) == ("demo.echo", "queued")


def test_the_page_shows_payload_result_and_key(operator: Client, tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, kwargs={"city": "Zürich"}, idempotency_key="order-1")
    say(take(1), Succeed('{"pages": 31}'))
    shown = text_of(operator.get(page(task_id)))
    for part in ('"city": "Zürich"', '"pages": 31', "order-1", "succeeded", "tenant-a"):
        assert part in shown


def test_a_label_is_shown_as_text_and_leads_to_the_others_of_its_kind(
    operator: Client, tenant_a: Tenant
) -> None:
    ids = put(tenant_a, 2, label="<b>&amp; 50 % / é")
    for address in (TASKS, page(ids[0])):
        assert "&lt;b&gt;&amp;amp; 50 % / é" in operator.get(address).content.decode()
    (address,) = re.findall(
        r'class="task-label" href="([^"]+)"', operator.get(page(ids[0])).content.decode()
    )
    assert listed(operator, address.removeprefix(TASKS)) == strings([*reversed(ids)])
    (plain,) = put(tenant_a)
    assert "task-label" not in operator.get(page(plain)).content.decode()


def test_positional_arguments_are_shown_beside_named_ones(
    operator: Client, tenant_a: Tenant
) -> None:
    (task_id,) = put(tenant_a, args=[17], kwargs={"copies": 2})
    payload = json.loads(operator.get(page(task_id)).context["payload"])
    assert payload == {"args": [17], "kwargs": {"copies": 2}}


def test_a_long_payload_is_cut_and_says_so(operator: Client, tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, kwargs={"text": "x" * 1_000_000})
    payload = operator.get(page(task_id)).context["payload"]
    assert len(payload) < TEXT_SHOWN + 100
    assert payload.endswith("more characters")


def test_the_timeline_tells_the_whole_story(operator: Client, tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, now=ago(minutes=20))
    one, other = worker(), worker()
    (zombie,) = take(1, worker=one.pk, now=ago(minutes=19))
    ledger.reap(ledger.held_leases(), now=ago(minutes=17))
    say(take(1, worker=other.pk, now=ago(minutes=15)), failing(), now=ago(minutes=12))
    say(zombie, Succeed(), now=ago(minutes=11))
    say(take(1, worker=one.pk, now=ago(minutes=10)), Snooze(timedelta(0)), now=ago(minutes=9))
    take(1, worker=one.pk, now=ago(seconds=5))

    timeline = operator.get(page(task_id)).context["timeline"]
    told = [(run.outcome, run.number, run.generation, run.is_charged) for run in timeline.runs]
    assert told == [
        ("lost", 1, 1, True),
        ("failed", 2, 2, True),
        ("snoozed", 3, 3, False),
        (None, 3, 4, True),
    ]
    lost, failed, _, running = timeline.runs
    assert [(refused.verb, refused.worker) for refused in lost.refusals] == [("settle", str(one))]
    assert (failed.worker, failed.error["class"]) == (str(other), "ValueError")
    assert (lasting(lost.waited), lasting(lost.ran)) == ("1 min", "2 min")
    assert not running.is_overdue


def test_a_redriven_task_says_where_it_comes_from(operator: Client, tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, max_attempts=2, now=ago(minutes=30))
    for minute in (20, 19):
        say(take(1, now=ago(minutes=minute)), failing(), now=ago(minutes=minute))
    ledger.redrive([task_id], now=ago(minutes=15))
    timeline = operator.get(page(task_id)).context["timeline"]
    assert timeline.redriven_last == 2

    say(take(1, now=ago(minutes=10)), Snooze(timedelta(0)), now=ago(minutes=9))
    take(1, now=ago(minutes=5))
    response = operator.get(page(task_id))
    timeline = response.context["timeline"]
    told = [(run.generation, run.number, run.redriven_from) for run in timeline.runs]
    assert told == [(1, 1, None), (2, 2, None), (3, 1, 2), (4, 1, None)]
    assert timeline.redriven_last is None
    assert "Redriven: generation 2 had left it a dead letter" in text_of(response)
    assert '<a href="#generation-2">' in response.content.decode()


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ({"fraction": 0.75, "done": 3, "total": 4, "note": "pages"}, "3 of 4 (75%) pages"),
        ({"fraction": 0.5, "done": None, "total": None, "note": ""}, "50%"),
        ("by hand", "by hand"),
    ],
)
def test_a_running_task_shows_how_far_it_has_come(
    operator: Client, tenant_a: Tenant, told: object, shown: str
) -> None:
    (task_id,) = put(tenant_a)
    take(1)
    Lease.objects.update(progress=told)
    assert shown in " ".join(text_of(operator.get(page(task_id))).split())


def test_a_page_that_is_open_follows_its_task(operator: Client, tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    claims = take(1)
    told = {"fraction": 0.5, "done": None, "total": None, "note": "pages"}
    Lease.objects.update(progress=told)
    seen = operator.get(page(task_id)).context["version"]
    live = f"{TASKS}{task_id}/live/?seen={seen}"
    assert "50% pages" in text_of(operator.get(live))
    say(claims, failing())
    moved_on = operator.get(live)
    assert (moved_on.status_code, moved_on["HX-Refresh"]) == (204, "true")
    assert Client().get(live)["HX-Refresh"] == "true"


def test_who_may_not_see_tasks_follows_none(sign_in: SignIn, tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    assert sign_in("view_group").get(f"{TASKS}{task_id}/live/").status_code == 403


def test_every_page_takes_few_queries(
    sign_in: SignIn, tenant_a: Tenant, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    (dead,) = bury(tenant_a)
    for number in range(20):
        put(tenant_a, queue=f"queue-{number}")
    (waiting,) = put(tenant_a, queue="last")
    browser = sign_in("view_task", "view_pause", "redrive_task", "view_operatoraction")
    for address in (
        TASKS,
        f"{TASKS}?q=order-1&state=queued",
        DEAD_LETTERS,
        f"{DEAD_LETTERS}?error=ValueError",
        f"{DEAD_LETTERS}redrive-all/?error=ValueError",
        page(waiting),
        page(dead),
        "/admin/scheduling/operatoraction/",
    ):
        with django_assert_max_num_queries(15):
            assert browser.get(address).status_code == 200


def test_a_worker_that_is_gone_is_named_by_its_id(operator: Client, tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    gone = uuid4()
    say(take(1, worker=gone), Succeed())
    assert f"{gone} (gone)" in text_of(operator.get(page(task_id)))


def test_a_very_long_history_shows_its_end(operator: Client, tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, now=ago(hours=2))
    for minute in range(60, 0, -1):
        say(take(1, now=ago(minutes=minute)), Snooze(timedelta(0)), now=ago(minutes=minute))
    response = operator.get(page(task_id))
    generations = [run.generation for run in response.context["timeline"].runs]
    assert generations == list(range(11, 61))
    assert "Earlier attempts are not shown." in text_of(response)


def test_a_traceback_can_be_read(operator: Client, tenant_a: Tenant) -> None:
    (task_id,) = bury(tenant_a, message="the gateway did not answer")
    shown = text_of(operator.get(page(task_id)))
    assert "ValueError the gateway did not answer" in shown
    assert "Traceback of the gateway did not answer" in shown
    assert "permanent failure" in shown


@pytest.mark.parametrize("task_id", [uuid4(), "not-an-id"])
def test_there_is_no_page_of_an_unknown_task(operator: Client, task_id: object) -> None:
    assert operator.get(f"{TASKS}{task_id}/change/").status_code == 404
