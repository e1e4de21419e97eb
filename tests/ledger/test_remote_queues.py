"""Queues that belong to remote workers, and claims for one tenant only."""

from collections import Counter

import pytest
from pytest_django import Settings

from scheduling import ledger, project_checks
from scheduling.models import Dispatch, Lane
from tenants.models import Tenant
from tests.ledger.kit import pause, put, run, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


@pytest.fixture(autouse=True)
def remote_queues(settings: Settings) -> None:
    settings.RENTROLL = settings.RENTROLL | {"REMOTE_QUEUES": ["thumbnails", "films"]}


@pytest.mark.parametrize("queue", ["", "a b", "x" * 101])
def test_a_name_that_no_queue_can_have_is_found_at_start(settings: Settings, queue: str) -> None:
    settings.RENTROLL = settings.RENTROLL | {"REMOTE_QUEUES": ["films", queue]}
    (error,) = project_checks.settings_can_be_read()
    assert error.id == "scheduling.E005"
    assert repr(queue) in error.msg


def test_a_worker_of_every_queue_claims_nothing_from_a_remote_one(tenant_a: Tenant) -> None:
    put(tenant_a, 3, queue="thumbnails")
    (local,) = put(tenant_a)
    assert [claim.task_id for claim in take(10)] == [local]
    assert len(take(10, queues=["thumbnails"])) == 3


def test_ready_remote_lanes_in_front_hide_no_local_work(tenant_a: Tenant) -> None:
    """More of them than a claim looks at together."""
    for number in range(40):
        put(Tenant.objects.create(slug=f"remote-{number}"), queue="films")
    put(tenant_a, 2)
    assert len(take(1)) == 1
    assert len(take(1)) == 1
    assert len(take(100, queues=["films"])) == 40


def test_serving_a_tenant_locally_does_not_move_its_remote_lane(tenant_a: Tenant) -> None:
    put(tenant_a, queue="films")
    put(tenant_a, 9)
    run(take(5))
    stands = dict(Lane.objects.values_list("queue", "virtual_time"))
    assert stands == {"default": 5.0, "films": 0.0}


def test_a_claim_for_one_tenant_gets_nothing_of_another(tenant_a: Tenant, tenant_b: Tenant) -> None:
    put(tenant_b, 5, queue="films")
    of_a = put(tenant_a, 2, queue="films")
    put(tenant_a, queue="thumbnails")
    claims = take(10, queues=["films"], tenant=tenant_a)
    assert [claim.task_id for claim in claims] == of_a
    assert take(10, queues=["films"], tenant=tenant_a) == []
    assert len(take(10, queues=["films"])) == 5


def test_a_claim_for_one_tenant_must_name_its_queues(tenant_a: Tenant) -> None:
    with pytest.raises(ValueError, match="names the queues"):
        take(1, tenant=tenant_a)


def test_claims_for_one_tenant_add_nothing_to_dispatch(tenant_a: Tenant) -> None:
    put(tenant_a, 9, queue="films")
    for queues in (["films"], ["films", "thumbnails"], ["films", "a"], ["films", "b"]):
        assert len(take(1, queues=queues, tenant=tenant_a)) == 1
    assert {one.pool: one.virtual_time for one in Dispatch.objects.all()} == {"*": 0.0}


def test_the_lanes_of_one_tenant_take_turns_at_its_own_workers(tenant_a: Tenant) -> None:
    for queue in ("films", "thumbnails"):
        put(tenant_a, 5, queue=queue)
    both = ["films", "thumbnails"]
    claims = [claim for _ in range(10) for claim in take(1, queues=both, tenant=tenant_a)]
    assert Counter(claim.queue for claim in claims[:6]) == {"films": 3, "thumbnails": 3}
    assert len(claims) == 10


def test_what_its_own_workers_do_for_a_tenant_costs_it_no_more_than_a_turn(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    put(tenant_a, 60, queue="films")
    put(tenant_b, 60, queue="films")
    run(take(30, queues=["films"], tenant=tenant_a))
    served = Counter(take(1, queues=["films"])[0].tenant for _ in range(20))
    assert served["tenant-a"] in (9, 10, 11)


def test_cap_and_pause_hold_for_the_claims_of_one_tenant(tenant_a: Tenant) -> None:
    Tenant.objects.filter(pk=tenant_a.pk).update(max_in_flight=2)
    put(tenant_a, 5, queue="films")
    claims = take(10, queues=["films"], tenant=tenant_a)
    assert len(claims) == 2
    run(claims)
    pause(tenant=tenant_a)
    assert take(10, queues=["films"], tenant=tenant_a) == []
    ledger.resume(tenant=tenant_a, by="operator")
    assert len(take(10, queues=["films"], tenant=tenant_a)) == 2
