"""What an operator is told about ways in that stand open to everybody."""

import pytest
from django.core.checks import CheckMessage, run_checks
from django.core.management import call_command
from django.db import connection
from pytest_django import Settings

from config.setup import create_development_tenants
from tenants.checks import development_tokens_are_gone
from tenants.models import ApiToken


def found() -> list[CheckMessage]:
    return development_tokens_are_gone(databases=["default"])


@pytest.mark.django_db
def test_development_tokens_in_a_production_ledger_are_told_with_what_revokes_them(
    settings: Settings,
) -> None:
    create_development_tenants()
    settings.DEBUG = False
    (warning,) = found()
    assert "3 development tokens" in warning.msg
    assert "refused while DEBUG is off" in warning.msg
    assert warning in run_checks(databases=["default"])
    assert warning.hint
    for command in warning.hint.removeprefix("Revoke them: ").split("; "):
        call_command(*command.removeprefix("manage.py ").split())
    assert found() == []


@pytest.mark.django_db
def test_tokens_of_ones_own_are_nobody_elses_business(settings: Settings) -> None:
    settings.DEBUG = False
    ApiToken.objects.issue(tenant=None)
    assert found() == []


@pytest.mark.django_db
def test_a_developer_is_not_told(settings: Settings) -> None:
    settings.DEBUG = True
    create_development_tenants()
    assert found() == []


@pytest.mark.django_db
def test_a_ledger_without_tables_is_no_trouble(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DEBUG = False
    ApiToken.objects.issue(tenant=None, secret="token-operator")
    monkeypatch.setattr(connection.introspection, "table_names", list)
    assert found() == []
