"""The first claims of all on a ledger: each kind of worker adds its own row to dispatch."""

from functools import partial

import pytest

from scheduling.models import Dispatch
from tenants.models import Tenant
from tests.races.kit import at_once, flatten, put, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def test_first_claims_of_every_kind_do_not_block_each_other(tenant_a: Tenant) -> None:
    kinds = [None, ["one"], ["one"], ["two"], ["one", "two"], ["one", "two"], ["two"], None]
    Tenant.objects.update(max_in_flight=None)
    for _ in range(25):
        put(tenant_a, 8, queue="one")
        put(tenant_a, 8, queue="two")
        Dispatch.objects.all().delete()
        claims = flatten(at_once(*[partial(take, 2, queues=kind) for kind in kinds]))
        assert len({claim.task_id for claim in claims}) == len(claims)
        assert Dispatch.objects.count() == 4
