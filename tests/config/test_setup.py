"""A ledger to develop with is set up once, and only on a developer's machine."""

import pytest
from django.contrib.auth import authenticate
from django.core import checks
from django.core.checks.registry import registry
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from pytest_django.fixtures import Settings

from config.setup import create_development_tenants
from tenants.authentication import DEVELOPMENT_SECRETS, usable_token
from tenants.models import Tenant

pytestmark = pytest.mark.django_db(transaction=True)


def test_development_begins_with_tenants_tokens_and_an_admin(settings: Settings) -> None:
    settings.DEBUG = True
    password = create_development_tenants()

    owners = {secret: usable_token(secret).owner for secret in DEVELOPMENT_SECRETS}
    assert owners == {
        "token-tenant-a": "tenant-a",
        "token-tenant-b": "tenant-b",
        "token-operator": "operator",
    }
    admin = authenticate(username="admin", password=password)
    assert admin is not None
    assert admin.is_superuser


def test_a_ledger_that_has_tenants_is_left_alone(tenant_a: Tenant) -> None:
    assert create_development_tenants() is None
    assert list(Tenant.objects.all()) == [tenant_a]


def test_production_begins_empty(settings: Settings) -> None:
    settings.DEBUG = False
    call_command("bootstrap", verbosity=0)
    assert not Tenant.objects.exists()


def test_nothing_is_set_up_while_a_check_of_the_installation_fails(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def has_a_fault(**_: object) -> list[checks.Error]:
        return [checks.Error("A fault.")]

    settings.DEBUG = True
    monkeypatch.setattr(registry, "registered_checks", set(registry.registered_checks))
    registry.register(has_a_fault, "tests")
    with pytest.raises(SystemCheckError, match="A fault"):
        call_command("bootstrap", verbosity=0)
    assert not Tenant.objects.exists()
