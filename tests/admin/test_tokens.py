"""Tokens: the secret is shown once, and never again anywhere."""

from datetime import timedelta

import pytest
from django.apps import apps
from django.contrib.sessions.models import Session
from django.core import serializers
from django.test import Client

from scheduling import clock
from scheduling.models import OperatorAction
from tenants.authentication import usable_token
from tenants.models import ApiToken, Tenant
from tests.admin.conftest import SignIn
from tests.admin.kit import Page, recorded, text_of

pytestmark = pytest.mark.django_db

TOKENS = "/admin/tenants/apitoken/"
ADD = f"{TOKENS}add/"
ASKED = {"tenant": "tenant-a", "name": "billing", "scopes": ["enqueue", "read"], "lifetime": "30"}


def issue(client: Client, **asked: object) -> Page:
    return client.post(ADD, ASKED | asked)


def secret_in(page: Page) -> str:
    return str(page.context["secret"])


def test_an_issued_token_opens_for_its_tenant_and_scopes(
    operator: Client, tenant_a: Tenant
) -> None:
    page = issue(operator)
    token = usable_token(secret_in(page))
    assert secret_in(page) in text_of(page)
    assert (token.tenant, token.name, token.scopes) == (tenant_a, "billing", ["enqueue", "read"])
    assert token.expires_at is not None
    lifetime = token.expires_at - clock.now()
    assert timedelta(days=29) < lifetime <= timedelta(days=30)
    assert recorded() == ["issue Issued"]


def test_without_a_tenant_it_is_an_operators(operator: Client) -> None:
    token = usable_token(secret_in(issue(operator, tenant="", lifetime="")))
    assert (token.tenant, token.expires_at) == (None, None)


def test_the_secret_is_in_that_answer_and_nowhere_else(operator: Client, tenant_a: Tenant) -> None:
    page = issue(operator)
    secret = secret_in(page)
    token = ApiToken.objects.get()

    assert page["Cache-Control"].split(", ").count("no-store") == 1
    assert secret not in str(page.cookies)
    stored = [
        serializers.serialize("json", model._default_manager.all())
        for model in apps.get_models()
        if model._meta.managed and not model._meta.proxy
    ]
    assert any(token.prefix in rows for rows in stored)
    assert not any(secret in rows for rows in stored)
    assert not any(secret in str(session.get_decoded()) for session in Session.objects.all())

    for address in (
        TOKENS,
        f"{TOKENS}{token.pk}/change/",
        f"{TOKENS}{token.pk}/history/",
        "/admin/",
    ):
        html = operator.get(address).content.decode()
        assert secret not in html
        assert token.digest not in html


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [({"tenant": "nobody"}, "No tenant is called “nobody”."), ({"scopes": []}, "required")],
)
def test_a_wrong_form_issues_nothing(
    operator: Client, tenant_a: Tenant, asked: dict[str, object], complaint: str
) -> None:
    assert complaint in text_of(issue(operator, **asked))
    assert not ApiToken.objects.exists()


def test_a_revoked_token_is_told_and_recorded_once(operator: Client, tenant_a: Tenant) -> None:
    token, _ = ApiToken.objects.issue(tenant=tenant_a)
    picked = {"action": "revoke", "_selected_action": [token.pk], "index": "0"}
    assert "1 revoked" in text_of(operator.post(TOKENS, picked, follow=True))
    revoked_at = ApiToken.objects.get().revoked_at
    assert revoked_at is not None
    assert "0 revoked" in text_of(operator.post(TOKENS, picked, follow=True))
    assert ApiToken.objects.get().revoked_at == revoked_at
    assert recorded() == ["revoke Revoked"]
    assert "revoked" in text_of(operator.get(TOKENS))


def test_the_page_of_a_token_revokes_it_and_saves_nothing(
    operator: Client, sign_in: SignIn, tenant_a: Tenant
) -> None:
    token, _ = ApiToken.objects.issue(tenant=tenant_a)
    html = operator.get(f"{TOKENS}{token.pk}/change/").content.decode()
    assert 'value="revoke"' in html
    assert "_save" not in html
    shown = text_of(operator.get(TOKENS))
    assert "control, enqueue, read, work usable never never" in shown
    viewer = sign_in("view_apitoken")
    assert 'value="revoke"' not in viewer.get(f"{TOKENS}{token.pk}/change/").content.decode()


def test_a_token_can_be_neither_edited_nor_deleted(operator: Client, tenant_a: Tenant) -> None:
    token, _ = ApiToken.objects.issue(tenant=tenant_a, scopes=["read"])
    operator.post(f"{TOKENS}{token.pk}/change/", {"name": "x", "scopes": '["control"]'})
    assert operator.post(f"{TOKENS}{token.pk}/delete/", {"post": "yes"}).status_code == 403
    token.refresh_from_db()
    assert (token.name, token.scopes) == ("", ["read"])


def test_who_may_only_look_neither_issues_nor_revokes(sign_in: SignIn, tenant_a: Tenant) -> None:
    token, _ = ApiToken.objects.issue(tenant=tenant_a)
    viewer = sign_in("view_apitoken")
    assert viewer.get(TOKENS).status_code == 200
    assert viewer.get(ADD).status_code == 403
    assert issue(viewer).status_code == 403
    viewer.post(TOKENS, {"action": "revoke", "_selected_action": [token.pk], "index": "0"})
    assert ApiToken.objects.get().revoked_at is None
    assert not OperatorAction.objects.exists()
