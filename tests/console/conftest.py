"""A console that is served with everything in front of it, and people who sit before it with a browser.

    def test_something(owner: Page) -> None:
        owner.goto("/admin/")

`owner`, `operator`, `viewer` and `newcomer` are pages of somebody with that role who is signed in already.
When a test is over, its page must have logged no error, broken no policy, asked no other host, and must have
no serious barrier (axe-core), nor be wider than its screen, as it stands at the end. Mark a test with
`in_every_look` to have it run in both themes and on a phone.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.test import Client
from playwright.sync_api import Browser, Page

from tests.console.browser import CHROMIUM, LIGHT, Look, Watch, barriers, chromium, sideways, window
from tests.console.roles import PERMISSIONS
from tests.console.serving import serving

As = Callable[[str], Page]
BLANK = "about:blank"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        pytest.skip(f"needs Chromium as {CHROMIUM}: apt-get install chromium")
    with pytest.MonkeyPatch.context() as patch, chromium() as browser:
        patch.setenv(
            "DJANGO_ALLOW_ASYNC_UNSAFE", "1"
        )  # that loop is Playwright's, and runs none of ours
        yield browser


@pytest.fixture(scope="session")
def site(django_db_setup: None) -> Iterator[str]:
    """The address of a server in this process, on the tests' database."""
    with serving() as address:
        yield address


@pytest.fixture
def look() -> Look:
    """Parametrize it to look with something else."""
    return LIGHT


@pytest.fixture(scope="session")
def windows(browser: Browser, site: str) -> Iterator[Callable[[Look], Page]]:
    """One for each look, which has our static files in its cache from the second test on."""
    with ExitStack() as opened:

        @cache
        def of(look: Look) -> Page:
            return opened.enter_context(window(browser, look, site)).new_page()

        yield of


@pytest.fixture
def watch(site: str) -> Iterator[Watch]:
    """The page of the test is watched. What it did that it must not fails the test at its end."""
    watch = Watch(site)
    yield watch
    assert not watch.faults, "\n".join(watch.faults)


@pytest.fixture
def page(
    windows: Callable[[Look], Page], look: Look, watch: Watch, transactional_db: None
) -> Iterator[Page]:
    """The browser of somebody who is not signed in, and never was."""
    page = windows(look)
    watch.over(page)
    yield page
    try:
        if page.url != BLANK:
            assert not (found := barriers(page)), "\n\n".join(found)
            assert not sideways(page), f"{page.url} is {sideways(page)} pixels too wide"
    finally:
        forget(page, watch)


def forget(page: Page, watch: Watch) -> None:
    """Leave nothing for the next test: no page that asks for news, nothing chosen, and nobody signed in."""
    watch.leave(page)
    if page.url != BLANK:
        page.evaluate("localStorage.clear()")
    page.goto(BLANK)
    page.context.clear_cookies()


@pytest.fixture
def signed_in(page: Page, site: str) -> As:
    """The page, from now on of somebody with that role."""

    def as_(role: str) -> Page:
        page.context.add_cookies(
            [{"name": settings.SESSION_COOKIE_NAME, "value": key_of(role), "url": site}]
        )
        return page

    return as_


def key_of(role: str) -> str:
    """Of a session of somebody new with that role."""
    user, _ = User.objects.get_or_create(username=role, defaults={"is_staff": True})
    user.user_permissions.set(Permission.objects.filter(codename__in=PERMISSIONS[role]))
    client = Client()
    client.force_login(user)
    return str(client.cookies[settings.SESSION_COOKIE_NAME].value)


@pytest.fixture
def newcomer(signed_in: As) -> Page:
    """Somebody of the staff who was given no permission yet."""
    return signed_in("newcomer")


@pytest.fixture
def viewer(signed_in: As) -> Page:
    """Somebody who may look at everything."""
    return signed_in("viewer")


@pytest.fixture
def operator(signed_in: As) -> Page:
    """Somebody who may act on tasks and on the kill switch."""
    return signed_in("operator")


@pytest.fixture
def owner(signed_in: As) -> Page:
    """Somebody who may do everything."""
    return signed_in("owner")
