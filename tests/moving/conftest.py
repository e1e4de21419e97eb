"""A ledger that moves in every test: what is on both sides when it begins."""

import pytest
from pytest_django import DjangoDbBlocker

from scheduling import ledger
from tenants.models import Tenant
from tests.ledger.kit import put
from tests.moving.both_sides import Sides, Templates, ledger_at


@pytest.fixture(scope="session")
def templates(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Templates:
    with django_db_blocker.unblock():
        return Templates(tmp_path_factory.mktemp("moving"))


@pytest.fixture
def sides(templates: Templates) -> Sides:
    """A source that is migrated, empty and paused, and a target that is migrated."""
    sides = templates.sides()
    with ledger_at(sides.source):
        ledger.pause(by="operator")
    return sides


@pytest.fixture
def acme(sides: Sides) -> Tenant:
    """A tenant of the source, with three tasks."""
    with ledger_at(sides.source):
        tenant = Tenant.objects.create(slug="acme", max_queued=None, rate_per_second=None)
        put(tenant, 3)
    return tenant
