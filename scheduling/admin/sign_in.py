"""Owns the door of the console: who may try to sign in, who has to wait, and which browsers are known."""

import ipaddress
import math
import secrets
from collections.abc import Callable
from datetime import timedelta
from functools import cache

from django.conf import settings
from django.contrib.auth.forms import UsernameField
from django.http import HttpRequest, HttpResponse

from scheduling import clock
from scheduling.admin.rendering import Page
from scheduling.conf import conf
from tenants import sign_in

COOKIE = "known-browser"
KNOWN_FOR = timedelta(days=180)
HOST_BITS_OF_IPV6 = 64
"""What a single customer of a provider is given addresses from."""


def attempt(request: HttpRequest, login: Callable[[], HttpResponse]) -> HttpResponse:
    """What `login` answers to the form that was posted, or a page that says when to try again."""
    now = clock.now()
    username = UsernameField().to_python(request.POST.get("username", "")) or ""
    browser = known_browser(request, username)
    allowances = (
        sign_in.of_browser(username, browser)
        if browser
        else sign_in.of_stranger(username, client_address(request))
    )
    if wait := sign_in.spend(allowances, now):
        return refusal(request, wait)
    answer = login()
    if answer.status_code == 302:
        sign_in.give_back(allowances, now)
        remember(answer, username, browser or secrets.token_urlsafe(16))
    return answer


def refusal(request: HttpRequest, wait: timedelta) -> HttpResponse:
    seconds = math.ceil(wait.total_seconds())
    context = {"seconds": seconds, "at": clock.now() + wait}
    page = Page("admin/sign_in_refused.html").render(context, request)
    answer = HttpResponse(page, status=429)
    answer["Retry-After"] = str(seconds)
    return answer


def known_browser(request: HttpRequest, username: str) -> str:
    """The name that this browser was given when it signed in to that account; empty for a stranger."""
    cookie = request.get_signed_cookie(COOKIE, default="", salt=username, max_age=KNOWN_FOR)
    return str(cookie)


def remember(answer: HttpResponse, username: str, browser: str) -> None:
    answer.set_signed_cookie(
        COOKIE,
        browser,
        salt=username,
        max_age=KNOWN_FOR,
        path=settings.SESSION_COOKIE_PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Strict",
    )


def client_address(request: HttpRequest) -> str:
    """Where the request comes from, as the nearest proxy that is not to be believed, or the client, was seen."""
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    hops = [hop.strip() for hop in forwarded if hop.strip()]
    address = str(request.META.get("REMOTE_ADDR", ""))
    while hops and is_proxy(address):
        address = hops.pop()
        if "*" in conf().FORWARDED_ALLOW_IPS:
            break  # who believes everybody can only mean the nearest
    return one_customer(address)


def is_proxy(address: str) -> bool:
    """Whether gunicorn believes it as well: FORWARDED_ALLOW_IPS names addresses and networks."""
    trusted = conf().FORWARDED_ALLOW_IPS
    if "*" in trusted or not address:  # a Unix socket has none
        return True
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(parsed in network for network in networks(tuple(trusted)))


@cache
def networks(trusted: tuple[str, ...]) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    return [ipaddress.ip_network(one) for one in trusted]


def one_customer(address: str) -> str:
    """The address, or of IPv6 the network; anything else as it is."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    return str(ipaddress.ip_network((parsed, HOST_BITS_OF_IPV6), strict=False))
