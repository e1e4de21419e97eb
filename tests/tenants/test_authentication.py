"""Who is let in, and who is not."""

import logging
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import OperationalError
from django.db.models import QuerySet
from pytest_django import DjangoAssertNumQueries, Settings
from rest_framework.exceptions import AuthenticationFailed

from scheduling import clock
from tenants import models
from tenants.authentication import DEVELOPMENT_SECRETS, bearer_secret, usable_token
from tenants.models import ApiToken, Scope, Tenant

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("header", ["Bearer s3cret", "bearer s3cret", "BEARER   s3cret "])
def test_the_scheme_is_known_in_any_case(header: str) -> None:
    assert bearer_secret(header) == "s3cret"


def test_no_header_is_no_secret() -> None:
    assert bearer_secret("") is None


@pytest.mark.parametrize(
    "header", ["Bearer", "Bearer ", "Basic dTpw", "s3cret", "Bearer two words"]
)
def test_another_scheme_or_no_token_is_refused(header: str) -> None:
    with pytest.raises(AuthenticationFailed, match="Authorization: Bearer"):
        bearer_secret(header)


def test_a_token_opens_for_its_tenant(tenant_a: Tenant) -> None:
    token, secret = ApiToken.objects.issue(tenant=tenant_a, scopes=[Scope.READ])
    found = usable_token(secret)
    assert (found, found.tenant, found.scopes) == (token, tenant_a, ["read"])


def test_an_unknown_secret_opens_nothing(tenant_a: Tenant) -> None:
    ApiToken.objects.issue(tenant=tenant_a)
    with pytest.raises(AuthenticationFailed, match="not known"):
        usable_token("rr_nobody-was-ever-given-this")


def test_two_tokens_with_one_prefix_are_told_apart(tenant_a: Tenant, tenant_b: Tenant) -> None:
    token_a, secret_a = ApiToken.objects.issue(tenant=tenant_a)
    token_b, secret_b = ApiToken.objects.issue(tenant=tenant_b)
    ApiToken.objects.filter(pk=token_b.pk).update(prefix=token_a.prefix)
    assert usable_token(secret_a) == token_a
    with pytest.raises(AuthenticationFailed):
        usable_token(secret_b)


def test_a_revoked_token_opens_nothing_from_then_on(tenant_a: Tenant) -> None:
    token, secret = ApiToken.objects.issue(tenant=tenant_a)
    usable_token(secret)
    assert ApiToken.objects.filter(pk=token.pk).revoke(clock.now()) == 1
    with pytest.raises(AuthenticationFailed, match="revoked"):
        usable_token(secret)


def test_an_expired_token_opens_nothing(tenant_a: Tenant) -> None:
    now = clock.now()
    _, over = ApiToken.objects.issue(tenant=tenant_a, expires_at=now - timedelta(seconds=1))
    _, ahead = ApiToken.objects.issue(tenant=tenant_a, expires_at=now + timedelta(hours=1))
    usable_token(ahead)
    with pytest.raises(AuthenticationFailed, match="expired"):
        usable_token(over)


@pytest.mark.parametrize("secret", sorted(DEVELOPMENT_SECRETS))
def test_development_tokens_open_only_while_debugging(secret: str, settings: Settings) -> None:
    ApiToken.objects.issue(tenant=None, secret=secret)
    settings.DEBUG = True
    usable_token(secret)
    settings.DEBUG = False
    with pytest.raises(AuthenticationFailed, match="DEBUG"):
        usable_token(secret)


def test_looking_a_token_up_is_one_query(
    tenant_a: Tenant, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    _, secret = ApiToken.objects.issue(tenant=tenant_a)
    usable_token(secret)
    with django_assert_num_queries(1):
        found = usable_token(secret)
        assert found.owner == tenant_a.slug


def test_use_is_noted_once_a_minute(tenant_a: Tenant) -> None:
    token, _ = ApiToken.objects.issue(tenant=tenant_a)
    start = clock.now()

    def noted_after(seconds: float) -> float:
        token.refresh_from_db()
        token.note_use(start + timedelta(seconds=seconds))
        token.refresh_from_db()
        assert token.last_used_at is not None
        return (token.last_used_at - start).total_seconds()

    assert [noted_after(seconds) for seconds in (0, 59, 60, 119, 121)] == [0, 0, 60, 60, 121]


def test_of_many_requests_at_once_one_notes_the_use(tenant_a: Tenant) -> None:
    token, _ = ApiToken.objects.issue(tenant=tenant_a)
    late = ApiToken.objects.get(pk=token.pk)
    now = clock.now()
    token.note_use(now)
    late.note_use(now + timedelta(seconds=1))
    token.refresh_from_db()
    assert token.last_used_at == now


def test_a_use_that_cannot_be_noted_costs_only_the_note(
    tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _, secret = ApiToken.objects.issue(tenant=tenant_a)

    def full(*args: object, **values: object) -> int:
        raise OperationalError("database or disk is full")

    monkeypatch.setattr(QuerySet, "update", full)
    monkeypatch.setattr(models, "_tell_unnoted_at", 0.0)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert usable_token(secret).tenant == tenant_a
    assert caplog.text.count("could not be noted") == 1
    assert secret not in caplog.text


def test_no_dump_of_the_database_holds_a_secret(
    tenant_a: Tenant, capsys: pytest.CaptureFixture[str]
) -> None:
    token, secret = ApiToken.objects.issue(tenant=tenant_a)
    call_command("dumpdata", "tenants")
    dump = capsys.readouterr().out
    assert token.digest in dump
    assert secret not in dump
    assert secret.removeprefix("rr_") not in dump
    assert secret not in f"{token!r} {token}"
