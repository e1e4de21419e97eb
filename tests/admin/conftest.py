"""Who sits at the console in these tests."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

SignIn = Callable[..., Client]


@pytest.fixture
def sign_in(db: None) -> SignIn:
    """A browser of a member of staff who has those permissions, such as `view_task`, and no others."""

    def sign_in(*permissions: str) -> Client:
        user = User.objects.create_user(f"staff-{'-'.join(permissions)}", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
        client = Client()
        client.force_login(user)
        return client

    return sign_in


@pytest.fixture
def operator(db: None) -> Client:
    """The browser of somebody who may do everything."""
    client = Client()
    client.force_login(User.objects.create_superuser("ana"))
    return client
