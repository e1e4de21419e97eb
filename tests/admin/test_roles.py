"""The groups that a new installation has, and what each of them may do."""

from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission, User
from django.db import connection
from django.test import Client

from scheduling.admin.operations import Operation
from tests.admin.kit import TASKS

pytestmark = pytest.mark.django_db

ROLES = import_module("scheduling.migrations.0010_roles")


@pytest.fixture(autouse=True)
def groups() -> None:
    """Other tests empty all tables."""
    Group.objects.all().delete()
    ROLES.create_roles(apps, connection.schema_editor())


def member(role: str) -> User:
    user = User.objects.create_user(role, is_staff=True)
    user.groups.add(Group.objects.get(name=role))
    return user


@pytest.mark.parametrize(
    ("role", "operates", "limits", "tokens"),
    [
        ("viewer", False, False, False),
        ("operator", True, False, False),
        ("owner", True, True, True),
    ],
)
def test_each_role_may_do_what_it_is_for(
    role: str, operates: bool, limits: bool, tokens: bool
) -> None:
    user = member(role)
    assert user.has_perms(["scheduling.view_task", "scheduling.view_operatoraction"])
    operating = [*(each.permission for each in Operation), "scheduling.change_pause"]
    assert [user.has_perm(each) for each in operating] == [operates] * len(operating)
    assert user.has_perm("tenants.change_tenant") == limits
    assert user.has_perms(["tenants.add_apitoken", "tenants.change_apitoken"]) == tokens
    assert not user.has_perm("auth.change_user")  # who may change users may become anybody


def test_a_viewer_sees_what_it_is_offered() -> None:
    client = Client()
    client.force_login(member("viewer"))
    links = client.get("/admin/").context["pages"]
    assert {"Tasks", "Dead letters", "Audit"} <= {link.label for link in links}
    assert "Tokens" not in {link.label for link in links}
    assert all(client.get(link.url).status_code == 200 for link in links)
    assert client.get(TASKS).status_code == 200


def test_the_permissions_are_those_that_django_makes() -> None:
    """Had the migration another name for one, there would be two of it."""
    named = {
        (*key, name) for permissions in ROLES.ROLES.values() for key, name in permissions.items()
    }
    stored = Permission.objects.values_list(
        "content_type__app_label", "content_type__model", "codename", "name"
    )
    assert named <= set(stored)


def test_a_group_of_somebodys_own_stays_as_it_is() -> None:
    own = Group.objects.get(name="viewer")
    own.permissions.clear()
    ROLES.create_roles(apps, connection.schema_editor())
    assert not own.permissions.exists()
