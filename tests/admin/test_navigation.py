"""What the console offers to whom."""

import pytest
from django.test import Client

from tests.admin.conftest import SignIn

pytestmark = pytest.mark.django_db


def offered(client: Client) -> list[str]:
    return [link.label for link in client.get("/admin/").context["pages"]]


def test_an_operator_is_offered_everything(operator: Client) -> None:
    assert offered(operator) == [
        "Dashboard",
        "Tasks",
        "Dead letters",
        "Recurring",
        "Kill switch",
        "Tenants",
        "Tokens",
        "Lanes",
        "Workers",
        "Audit",
        "Users",
        "Groups",
    ]


def test_others_are_offered_what_they_may_see(sign_in: SignIn) -> None:
    assert offered(sign_in("view_task", "view_tenant")) == [
        "Dashboard",
        "Tasks",
        "Dead letters",
        "Tenants",
    ]


def test_the_page_one_is_on_is_marked(operator: Client) -> None:
    pages = operator.get("/admin/tenants/tenant/add/").context["pages"]
    assert [link.label for link in pages if link.is_current] == ["Tenants"]


def test_every_page_offered_is_served(operator: Client) -> None:
    for link in operator.get("/admin/").context["pages"]:
        assert operator.get(link.url).status_code == 200, link.label


def test_who_is_not_signed_in_is_sent_to_sign_in(client: Client) -> None:
    answer = client.get("/admin/scheduling/task/")
    assert answer.status_code == 302
    assert answer["Location"].startswith("/admin/login/")
