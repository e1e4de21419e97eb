"""Callers of the API, each with a token of its own."""

import pytest
from pytest_django import Settings

from scheduling.ledger import allowance
from tenants.models import ApiToken, Tenant
from tests.api.kit import Api


@pytest.fixture(autouse=True)
def nothing_is_remembered() -> None:
    """Tenants of different tests share their ids."""
    allowance.forget()


@pytest.fixture
def remote_queues(settings: Settings) -> None:
    settings.RENTROLL = settings.RENTROLL | {"REMOTE_QUEUES": ["films", "thumbnails"]}


@pytest.fixture
def api_a(tenant_a: Tenant) -> Api:
    return Api(ApiToken.objects.issue(tenant=tenant_a)[1])


@pytest.fixture
def api_b(tenant_b: Tenant) -> Api:
    return Api(ApiToken.objects.issue(tenant=tenant_b)[1])


@pytest.fixture
def operator(db: None) -> Api:
    return Api(ApiToken.objects.issue(tenant=None)[1])
