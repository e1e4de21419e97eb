"""The ground of these tests: what a page must not do is noticed, and the console's pages do none of it."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from tests.console.browser import DARK, PHONE, Look, Watch, barriers, follow, sideways
from tests.console.looks import in_every_look

INLINE = """
    const script = document.createElement("script");
    script.textContent = "document.title = 'ran'";
    document.head.append(script);
"""
ELSEWHERE = """
    const picture = document.createElement("img");
    picture.alt = "";
    picture.src = "http://rentroll.example/pixel";
    document.body.append(picture);
"""


@in_every_look
def test_signing_in(page: Page) -> None:
    User.objects.create_superuser("ana", password="correct horse battery")
    page.goto("/")
    page.get_by_label("Username").fill("ana")
    page.get_by_label("Password").fill("correct horse battery")
    follow(page.get_by_role("button", name="Log in"))
    expect(page.get_by_role("heading", name="Dashboard")).to_be_visible()


def test_inline_script_is_noticed_and_does_not_run(viewer: Page, watch: Watch) -> None:
    viewer.goto("/admin/")
    assert_noticed("script-src", INLINE, viewer, watch)
    assert viewer.title() != "ran"


def test_a_request_to_another_host_is_noticed(viewer: Page, watch: Watch) -> None:
    viewer.goto("/admin/")
    assert_noticed("img-src", ELSEWHERE, viewer, watch)


def assert_noticed(directive: str, script: str, viewer: Page, watch: Watch) -> None:
    """The browser and the page itself tell of it, one after the other."""
    with viewer.expect_console_message(lambda message: directive in message.text):
        viewer.evaluate(script)
    assert any(directive in fault for fault in watch.faults)
    watch.faults.clear()
    watch.expect(directive)


def test_a_barrier_is_noticed(viewer: Page) -> None:
    viewer.goto("/admin/")
    viewer.evaluate("document.querySelector('main').append(document.createElement('button'))")
    assert any("button-name" in one for one in barriers(viewer))
    viewer.reload()


@pytest.mark.parametrize("look", [PHONE], ids=str)
def test_what_is_wider_than_a_phone_is_noticed(viewer: Page) -> None:
    viewer.goto("/admin/")
    viewer.evaluate("document.querySelector('#content').append('w'.repeat(200))")
    assert sideways(viewer)
    viewer.reload()


@pytest.mark.parametrize("look", [DARK], ids=str)
def test_an_operators_choice_of_theme_wins(viewer: Page, look: Look) -> None:
    viewer.goto("/admin/")
    body = viewer.locator("body")
    expect(body).to_have_css("background-color", "rgb(18, 18, 18)")
    viewer.get_by_role("button", name="Toggle theme").click()
    expect(viewer.locator("html")).to_have_attribute("data-theme", "light")
    expect(body).to_have_css("background-color", "rgb(255, 255, 255)")
