"""Between tenants: in proportion to their weights, and a newcomer within one round, whatever the backlogs."""

from collections import Counter
from collections.abc import Sequence
from importlib import import_module

import pytest

from scheduling import ledger
from scheduling.ledger.claim import POOL_LENGTH_MAX
from scheduling.ledger.values import Claim
from scheduling.models import Dispatch, Task
from tenants.models import Tenant
from tests.ledger.kit import START, pause, put, run, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def tenants(*weights: int) -> list[Tenant]:
    return [
        Tenant.objects.create(slug=f"t{number}", weight=weight)
        for number, weight in enumerate(weights)
    ]


def serve(count: int, *, limit: int = 1, queues: Sequence[str] | None = None) -> list[Claim]:
    """What so many tasks were that ran, in the order in which they started."""
    served: list[Claim] = []
    while len(served) < count:
        claims = take(min(limit, count - len(served)), queues=queues)
        assert claims, f"nothing more to run after {len(served)} tasks"
        run(claims)
        served += claims
    return served


def shares(served: Sequence[Claim]) -> dict[str, int]:
    return dict(Counter(claim.tenant for claim in served))


@pytest.mark.parametrize("limit", [1, 3, 16])
def test_weights_of_1_2_and_4_get_shares_of_1_2_and_4(limit: int) -> None:
    for tenant in tenants(1, 2, 4):
        put(tenant, 150)
    assert shares(serve(210, limit=limit)) == {"t0": 30, "t1": 60, "t2": 120}


def test_equal_tenants_take_turns_also_inside_one_claim() -> None:
    for tenant in tenants(1, 1, 1):
        put(tenant, 5)
    started = [claim.tenant for claim in take(9)]
    assert [len(set(started[place : place + 3])) for place in (0, 3, 6)] == [3, 3, 3]


def test_a_newcomer_is_served_within_one_round_of_any_backlogs() -> None:
    crowd = tenants(*[1] * 20)
    for tenant in crowd:
        put(tenant, 30)
    serve(107)
    newcomer = Tenant.objects.create(slug="newcomer")
    put(newcomer)
    assert "newcomer" in shares(serve(len(crowd) + 1))


def test_a_newcomer_of_little_weight_is_served_as_soon() -> None:
    loud = Tenant.objects.create(slug="loud", weight=1000)
    put(loud, 50)
    serve(20)
    put(Tenant.objects.create(slug="newcomer", weight=1))
    assert "newcomer" in shares(serve(2))


def test_who_comes_back_is_served_as_soon_however_far_the_one_before_has_moved_on() -> None:
    loud, *light = tenants(20, 1, 1)
    for tenant in light:
        put(tenant)
    put(loud, 60)
    serve(32)
    for tenant in light:
        put(tenant)
        assert tenant.slug in shares(serve(2))


def test_silence_earns_no_credit(tenant_a: Tenant, tenant_b: Tenant) -> None:
    put(tenant_b)
    put(tenant_a, 160)
    serve(101)
    put(tenant_b, 60)
    assert shares(serve(40))["tenant-b"] in (19, 20, 21)


def test_a_high_priority_is_high_among_the_tenants_own_tasks_only(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    put(tenant_a, 20, priority=100)
    put(tenant_b, 20, priority=-100)
    assert shares(serve(20)) == {"tenant-a": 10, "tenant-b": 10}


def test_where_one_lane_runs_empty_the_others_fill_the_slots(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    put(tenant_a, 2)
    put(tenant_b, 100)
    assert shares(take(50)) == {"tenant-a": 2, "tenant-b": 48}


def test_a_weight_that_changed_counts_from_the_next_claim_on(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    for tenant in (tenant_a, tenant_b):
        put(tenant, 100)
    serve(20)
    Tenant.objects.filter(pk=tenant_a.pk).update(weight=4)
    assert shares(serve(50)) == {"tenant-a": 40, "tenant-b": 10}


def test_ten_queues_earn_no_more_than_one(tenant_a: Tenant, tenant_b: Tenant) -> None:
    for queue in range(10):
        put(tenant_a, 30, queue=f"{queue}")
    put(tenant_b, 150)
    assert shares(serve(200)) == {"tenant-a": 100, "tenant-b": 100}


def test_the_queues_of_a_tenant_share_what_it_gets(tenant_a: Tenant, tenant_b: Tenant) -> None:
    for queue in "xyz":
        put(tenant_a, 30, queue=queue)
    put(tenant_b, 60)
    of_a = [claim.queue for claim in serve(60) if claim.tenant == "tenant-a"]
    assert Counter(of_a) == {"x": 10, "y": 10, "z": 10}


def test_a_newcomer_does_not_wait_for_every_queue_of_another_tenant(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    for queue in range(50):
        put(tenant_a, queue=f"{queue}")
    put(tenant_b)
    assert "tenant-b" in shares(serve(2))


def test_a_tenant_that_keeps_opening_queues_is_served_no_sooner(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    put(tenant_b, 40)
    served = []
    for queue in range(40):
        put(tenant_a, queue=f"{queue}")
        served += serve(1)
    assert shares(served) == {"tenant-a": 20, "tenant-b": 20}


@pytest.mark.parametrize("queues", [2, 100], ids=["known", "new"])
def test_a_tenant_that_goes_from_queue_to_queue_is_served_no_sooner(queues: int) -> None:
    """Claims see where its lanes end, because they look for what is between paused tasks."""
    pause(name="held")
    light, heavy = tenants(1, 4)
    put(heavy, 60)
    served: list[Claim] = []
    for turn in range(8):
        put(light, queue=f"{turn % queues}")
        while shares(served).get("t0", 0) <= turn:
            served += serve(1)
    assert shares(served)["t1"] in range(26, 33)


@pytest.fixture
def one_lane_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """So claims see the others only when they look on."""
    monkeypatch.setattr(import_module("scheduling.ledger.claim"), "FEWEST_LANES", 1)


@pytest.mark.usefixtures("one_lane_at_a_time")
@pytest.mark.parametrize("queues", [None, ["x", "y"]], ids=["every queue", "some queues"])
def test_who_is_served_does_not_depend_on_how_many_lanes_a_claim_sees(
    queues: list[str] | None,
) -> None:
    for tenant in tenants(1, 2, 4):
        for queue in "xy":
            put(tenant, 30, queue=queue)
    served = serve(70, queues=queues)
    assert shares(served) == {"t0": 10, "t1": 20, "t2": 40}
    assert Counter(claim.queue for claim in served) == {"x": 35, "y": 35}


@pytest.mark.usefixtures("one_lane_at_a_time")
def test_many_queues_of_one_tenant_fill_no_claim_before_another_tenant_was_seen(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    for queue in "xyz":
        put(tenant_a, queue=queue)
    put(tenant_b)
    assert shares(take(3)) == {"tenant-a": 2, "tenant-b": 1}


@pytest.mark.usefixtures("one_lane_at_a_time")
def test_tenants_at_their_cap_hide_nobody_behind_them(tenant_a: Tenant, tenant_b: Tenant) -> None:
    full = tenants(1, 1)
    for tenant in full:
        put(tenant, 2)
    take(2)
    Tenant.objects.filter(pk__in=[tenant.pk for tenant in full]).update(max_in_flight=1)
    for tenant in (tenant_a, tenant_b):
        put(tenant, 5)
    assert shares(serve(6)) == {"tenant-a": 3, "tenant-b": 3}
    assert len(take(4)) == 4


@pytest.mark.usefixtures("one_lane_at_a_time")
def test_paused_queues_hide_nobody_behind_them(tenant_a: Tenant, tenant_b: Tenant) -> None:
    for queue in ("paused", "also-paused"):
        put(tenant_a, queue=queue)
        pause(queue=queue)
    (of_b,) = put(tenant_b)
    assert run(take()) == [of_b]


@pytest.mark.usefixtures("one_lane_at_a_time")
def test_the_queues_of_a_tenant_take_turns_however_few_of_them_its_workers_see(
    tenant_a: Tenant,
) -> None:
    for queue in "xyz":
        put(tenant_a, 5, queue=queue)
    served = [run(take(queues=["x", "y", "z"], tenant=tenant_a)) for _ in range(9)]
    tasks = Task.objects.filter(pk__in=[one for ids in served for one in ids])
    assert Counter(tasks.values_list("queue", flat=True)) == {"x": 3, "y": 3, "z": 3}


def test_a_busy_queue_of_other_workers_starves_nobody(tenant_a: Tenant, tenant_b: Tenant) -> None:
    """Workers of two kinds share one virtual time, and the slow ones' lanes lag behind it."""
    busy = Tenant.objects.create(slug="busy")
    put(busy, 300, queue="busy")
    for tenant in (tenant_a, tenant_b):
        put(tenant, 30, queue="slow")
    slow = []
    for _ in range(20):
        serve(10, queues=["busy"])
        slow += serve(1, queues=["slow"])
    assert shares(slow) == {"tenant-a": 10, "tenant-b": 10}


def test_who_is_busy_in_one_queue_waits_no_longer_in_another(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    for tenant in (tenant_a, tenant_b):
        put(tenant, 20, queue="slow")
    put(tenant_b, 60, queue="busy")
    slow = []
    for _ in range(20):
        serve(3, queues=["busy"])
        slow += serve(1, queues=["slow"])
    assert shares(slow) == {"tenant-a": 10, "tenant-b": 10}


def test_weights_count_in_a_queue_whose_workers_are_the_slower_ones() -> None:
    busy, light, heavy = tenants(1, 1, 4)
    put(busy, 300, queue="busy")
    for tenant in (light, heavy):
        put(tenant, 50, queue="slow")
    slow = []
    for _ in range(25):
        serve(10, queues=["busy"])
        slow += serve(1, queues=["slow"])
    assert shares(slow) == {"t1": 5, "t2": 20}


def test_workers_of_the_same_queues_are_of_one_kind_however_they_name_them() -> None:
    queues = list("abcdefgh")
    many = [queue * 20 for queue in queues]
    for named in (queues, queues[::-1], many, many[::-1]):
        take(queues=named)
    kinds = Dispatch.objects.exclude(pool=Dispatch.EVERY_QUEUE).values_list("pool", flat=True)
    short, long = sorted(kinds, key=len)
    assert short == "a,b,c,d,e,f,g,h"
    assert len(long) <= POOL_LENGTH_MAX


def test_one_whom_workers_of_another_kind_served_for_long_is_served_by_the_others_too(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    put(tenant_b, 100)
    serve(50)  # by workers of every queue, so that it is far ahead for those of one
    put(tenant_a, 50)
    served = serve(20, queues=["default"])
    assert shares(served)["tenant-b"] in (9, 10)


def test_cancelled_backlogs_cost_nobody_a_turn(tenant_a: Tenant, tenant_b: Tenant) -> None:
    ledger.cancel(put(tenant_a, 50), now=START)
    put(tenant_b, 10)
    put(tenant_a, 10)
    assert shares(serve(20)) == {"tenant-a": 10, "tenant-b": 10}
