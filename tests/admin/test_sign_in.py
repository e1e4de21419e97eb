"""The door of the console: guessing is slow, and keeps nobody out who was in before."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from django.urls import reverse
from gunicorn.config import Config  # type: ignore[import-untyped]  # no stubs
from gunicorn.http.message import _ip_in_allow_list  # type: ignore[import-untyped]  # no stubs
from pytest_django import Settings

from scheduling import clock
from scheduling.admin.sign_in import client_address, is_proxy
from tests.admin.kit import Page, text_of

pytestmark = pytest.mark.django_db

LOGIN = reverse("admin:login")
PASSWORD, GUESS = "correct horse battery", "wrong horse battery"


@pytest.fixture(autouse=True)
def ana(db: None, settings: Settings) -> User:
    settings.PASSWORD_HASHERS = [
        "django.contrib.auth.hashers.MD5PasswordHasher"
    ]  # slow ones are slow
    return User.objects.create_superuser("ana", password=PASSWORD)


def sign_in(browser: Client, password: str = GUESS, username: str = "ana", **meta: Any) -> Page:
    return browser.post(LOGIN, {"username": username, "password": password}, **meta)


def statuses(browser: Client, times: int, **options: Any) -> list[int]:
    return [sign_in(browser, **options).status_code for _ in range(times)]


def test_who_guesses_too_often_is_told_when_to_try_again() -> None:
    browser = Client()
    assert statuses(browser, 5) == [200] * 5
    answer = sign_in(browser, PASSWORD)
    assert answer.status_code == 429
    assert "sessionid" not in browser.cookies
    wait = int(answer["Retry-After"])
    assert 170 < wait <= 180
    text = text_of(answer)
    assert f"Try again in {wait} seconds, at " in text
    assert re.search(r"at \d\d:\d\d:\d\d UTC", text)


def test_the_wait_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    browser, now = Client(), clock.now()
    statuses(browser, 6)
    later = int(sign_in(browser)["Retry-After"])
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(seconds=later + 1))
    assert sign_in(browser, PASSWORD).status_code == 302


def test_another_account_and_the_form_itself_are_still_there() -> None:
    User.objects.create_superuser("ben", password=PASSWORD)
    statuses(Client(), 6)
    assert Client().get(LOGIN).status_code == 200
    assert sign_in(Client(), PASSWORD, username="ben").status_code == 302


def test_a_browser_that_was_in_before_is_not_kept_out_by_strangers() -> None:
    known = Client()
    assert sign_in(known, PASSWORD).status_code == 302
    known.post(reverse("admin:logout"))
    assert statuses(Client(), 6)[-1] == 429
    assert sign_in(known, PASSWORD).status_code == 302


def test_a_known_browser_cannot_guess_for_ever_and_is_a_stranger_to_other_accounts() -> None:
    User.objects.create_superuser("ben", password=PASSWORD)
    known = Client()
    sign_in(known, PASSWORD)
    assert statuses(known, 6, username="ben")[-1] == 429
    assert statuses(known, 11) == [200] * 10 + [429]


def test_a_forged_cookie_is_a_strangers() -> None:
    browser = Client()
    browser.cookies["known-browser"] = "ana:whatever:x"
    assert statuses(browser, 6)[-1] == 429


def test_signing_in_again_and_again_is_no_guessing() -> None:
    assert [sign_in(Client(), PASSWORD).status_code for _ in range(8)] == [302] * 8


def test_one_address_that_tries_many_accounts_is_slowed_down_and_others_are_not() -> None:
    tried = [sign_in(Client(), username=f"user-{n}").status_code for n in range(51)]
    assert tried == [200] * 50 + [429]
    elsewhere = sign_in(Client(), PASSWORD, REMOTE_ADDR="192.0.2.7")
    assert elsewhere.status_code == 302


@pytest.mark.parametrize(
    ("peer", "forwarded", "trusted", "address"),
    [
        ("192.0.2.7", "", ["127.0.0.1"], "192.0.2.7"),
        ("192.0.2.7", "198.51.100.1", ["127.0.0.1"], "192.0.2.7"),  # a client's own claim
        ("127.0.0.1", "198.51.100.1", ["127.0.0.1"], "198.51.100.1"),
        ("127.0.0.1", "203.0.113.9, 198.51.100.1", ["127.0.0.1"], "198.51.100.1"),
        ("127.0.0.1", "203.0.113.9, 10.0.0.2", ["127.0.0.1", "10.0.0.2"], "203.0.113.9"),
        ("10.0.0.2", "203.0.113.9, 10.0.7.7", ["10.0.0.0/16"], "203.0.113.9"),
        ("10.1.0.2", "203.0.113.9", ["10.0.0.0/16"], "10.1.0.2"),
        ("2001:db8::1", "203.0.113.9", ["10.0.0.0/8", "2001:db8::/32"], "203.0.113.9"),
        ("127.0.0.1", "203.0.113.9, unknown", ["127.0.0.0/8"], "unknown"),
        ("10.0.0.2", "203.0.113.9, 198.51.100.1", ["*"], "198.51.100.1"),
        ("", "198.51.100.1", ["127.0.0.1"], "198.51.100.1"),
        ("2001:db8::1:2:3:4", "", [], "2001:db8::/64"),
    ],
)
def test_an_address_is_taken_from_proxies_that_are_believed_and_from_nobody_else(
    peer: str, forwarded: str, trusted: list[str], address: str, settings: Settings
) -> None:
    settings.RENTROLL = settings.RENTROLL | {"FORWARDED_ALLOW_IPS": trusted}
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    request = RequestFactory().get(LOGIN, headers=headers, REMOTE_ADDR=peer)
    assert client_address(request) == address


@pytest.mark.parametrize(
    "trusted", ["10.0.0.2", "10.0.0.0/16", "10.0.0.0/16, ::1", "*", "10.1.0.0/16"]
)
def test_the_console_believes_those_whom_gunicorn_believes(
    trusted: str, settings: Settings
) -> None:
    config = Config()
    config.set("forwarded_allow_ips", trusted)
    believed_here = [one.strip() for one in trusted.split(",")]
    settings.RENTROLL = settings.RENTROLL | {"FORWARDED_ALLOW_IPS": believed_here}
    believed = _ip_in_allow_list(
        "10.0.0.2", config.forwarded_allow_ips, config.forwarded_allow_networks()
    )
    assert is_proxy("10.0.0.2") == believed == ("10.1" not in trusted)
