"""Who reads the table of sessions can go on as nobody; who signed in is known until signing out."""

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connections
from django.test import Client
from django.urls import reverse

from config.sessions import SessionStore

HOME = reverse("admin:index")


def browser_with(session_key: str) -> Client:
    browser = Client()
    browser.cookies["sessionid"] = session_key
    return browser


@pytest.mark.django_db
def test_what_is_stored_opens_no_session(admin_client: Client) -> None:
    cookie = admin_client.cookies["sessionid"].value
    assert browser_with(cookie).get(HOME).status_code == 200
    (row,) = Session.objects.all()
    assert cookie not in (row.session_key, row.session_data)
    assert browser_with(row.session_key).get(HOME).status_code == 302


@pytest.mark.django_db
def test_signing_in_takes_a_new_key_and_signing_out_leaves_nothing(client: Client) -> None:
    User.objects.create_superuser("ana", password="correct horse battery")
    session = SessionStore()
    session["before"] = "here"
    session.save()
    assert session.session_key
    client.cookies["sessionid"] = session.session_key

    client.post(reverse("admin:login"), {"username": "ana", "password": "correct horse battery"})
    signed_in = client.cookies["sessionid"].value
    assert signed_in != session.session_key
    assert SessionStore(signed_in)["before"] == "here"
    assert not SessionStore().exists(session.session_key)

    client.post(reverse("admin:logout"))
    assert Session.objects.count() == 0
    assert browser_with(signed_in).get(HOME).status_code == 302


@pytest.mark.django_db
def test_an_expired_session_is_over() -> None:
    session = SessionStore()
    session["who"] = "ana"
    session.set_expiry(-1)
    session.save()
    later = SessionStore(session.session_key)
    assert "who" not in later
    assert later.session_key is None


@pytest.mark.django_db(transaction=True)
def test_coroutines_find_what_others_stored() -> None:
    session = SessionStore()
    session["who"] = "ana"
    session.save()

    async def story() -> object:
        found = SessionStore(session.session_key)
        who = await found.aget("who")
        await found.adelete()
        await sync_to_async(connections.close_all)()  # nobody tends the thread of this one
        return who

    assert asyncio.run(story()) == "ana"
    assert Session.objects.count() == 0
