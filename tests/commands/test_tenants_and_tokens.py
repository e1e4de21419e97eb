"""`createtenant`, `issuetoken`, `revoketoken`."""

from datetime import timedelta

import pytest
from django.db import IntegrityError
from rest_framework.exceptions import AuthenticationFailed

from scheduling import clock
from tenants.authentication import usable_token
from tenants.models import ApiToken, Scope, Tenant
from tests.commands.kit import complaint, manage

pytestmark = pytest.mark.django_db(transaction=True)  # a command closes its connections


def test_a_tenant_is_created_with_the_limits_given() -> None:
    said = manage(
        "createtenant", "acme", "--name", "Acme", "--weight", "3", "--max-in-flight", "4",
        "--max-queued", "5", "--rate", "0.5", "--burst", "6",
    )  # fmt: skip
    assert (said.code, said.out) == (0, "Tenant acme is created.\n")
    tenant = Tenant.objects.get(slug="acme")
    assert (tenant.name, tenant.weight, tenant.max_in_flight) == ("Acme", 3, 4)
    assert (tenant.max_queued, tenant.rate_per_second, tenant.rate_burst) == (5, 0.5, 6)


def test_limits_that_are_not_given_are_the_settings() -> None:
    manage("createtenant", "acme")
    tenant, standard = Tenant.objects.get(slug="acme"), Tenant()
    assert tenant.max_queued == standard.max_queued is not None
    assert tenant.rate_per_second == standard.rate_per_second is not None


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["acme"], "slug"),
        (["not a slug"], "slug"),
        (["x" * 65], "slug"),
        (["new", "--weight", "0"], "weight"),
        (["new", "--max-in-flight", "0"], "max_in_flight"),
        (["new", "--rate", "-1"], "rate_per_second"),
        (["new", "--rate", "inf"], "rate_per_second"),
        (["new", "--rate", "nan"], "rate_per_second"),
        (["new", "--rate", "1e300"], "rate_per_second"),
        (["new", "--burst", "many"], "--burst"),
        ([], "slug"),
    ],
)
def test_a_tenant_that_cannot_be_is_refused_by_the_name_of_its_fault(
    words: list[str], named: str
) -> None:
    manage("createtenant", "acme")
    assert named in complaint("createtenant", *words)
    assert Tenant.objects.count() == 1


def test_the_ledger_has_no_endless_rate_whoever_writes_it(tenant_a: Tenant) -> None:
    with pytest.raises(IntegrityError):
        Tenant.objects.filter(pk=tenant_a.pk).update(rate_per_second=float("inf"))


def test_the_secret_alone_goes_to_stdout_and_opens(tenant_a: Tenant) -> None:
    said = manage(
        "issuetoken", "tenant-a", "--scopes", "read,enqueue", "--expires", "30d", "--name", "ci"
    )
    secret = said.out.removesuffix("\n")
    assert secret not in said.err
    token = usable_token(secret)
    assert (token.tenant, token.name, token.scopes) == (tenant_a, "ci", ["enqueue", "read"])
    assert token.expires_at is not None
    assert timedelta(days=29) < token.expires_at - clock.now() <= timedelta(days=30)
    assert token.prefix in said.err


def test_an_operators_token_belongs_to_no_tenant_and_may_do_everything() -> None:
    token = usable_token(manage("issuetoken", "--operator").out.strip())
    assert (token.tenant, token.expires_at) == (None, None)
    assert set(token.scopes) == set(Scope.values)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["nobody"], "no tenant 'nobody'"),
        ([], "slug --operator"),
        (["tenant-a", "--operator"], "not allowed"),
        (["tenant-a", "--scopes", "read,rite"], "'rite' is no scope"),
        (["tenant-a", "--expires", "soon"], "'soon' is no usable duration"),
        (["tenant-a", "--expires", ""], "'' is no usable duration"),
    ],
)
def test_a_token_that_cannot_be_is_refused(tenant_a: Tenant, words: list[str], named: str) -> None:
    assert named in complaint("issuetoken", *words)
    assert not ApiToken.objects.exists()


def test_a_revoked_token_opens_nothing(tenant_a: Tenant) -> None:
    token, secret = ApiToken.objects.issue(tenant=tenant_a)
    kept, other = ApiToken.objects.issue(tenant=tenant_a)
    assert "is revoked" in manage("revoketoken", token.prefix).out
    with pytest.raises(AuthenticationFailed):
        usable_token(secret)
    assert usable_token(other) == kept


def test_revoking_again_keeps_the_first_instant(tenant_a: Tenant) -> None:
    token, _ = ApiToken.objects.issue(tenant=tenant_a)
    manage("revoketoken", token.prefix)
    token.refresh_from_db()
    first = token.revoked_at
    said = manage("revoketoken", token.prefix)
    token.refresh_from_db()
    assert (said.code, token.revoked_at) == (0, first)
    assert "before" in said.out


def test_an_unknown_prefix_is_refused() -> None:
    assert "no token 'abc'" in complaint("revoketoken", "abc")
