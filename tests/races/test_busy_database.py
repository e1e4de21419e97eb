"""Workers and web threads that all read and then write: they wait for each other, and nobody is turned away."""

from functools import partial

import pytest
from django.db import transaction

from scheduling.models import Task
from tenants.models import Tenant
from tests.races.kit import at_once, put
from tests.races.processes import processes_at_once
from tests.races.work import drain_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def test_eight_workers_and_four_web_threads_are_never_told_that_it_is_locked(
    tenant_a: Tenant,
) -> None:
    Tenant.objects.update(max_queued=None, max_in_flight=None)

    def answer_requests() -> list[int]:
        for _ in range(50):
            with transaction.atomic():
                Task.objects.filter(tenant=tenant_a).count()
                put(tenant_a)
        return []

    work = partial(processes_at_once, 8, partial(drain_until, 200))
    done, *_ = at_once(work, *[answer_requests] * 4)
    assert sum(done) == 200
