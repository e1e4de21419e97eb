"""Owns how the tests see a page: Debian's Chromium, watched for whatever a page must never do.

Playwright brings no browser of its own here. axe-core is evaluated through the devtools protocol, which no
content security policy concerns, so pages are tried under the very policy that they are served with.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Locator,
    Page,
    Request,
    expect,
    sync_playwright,
)

CHROMIUM = Path("/usr/bin/chromium")
QUIET = ("--disable-quic", "--disable-background-networking", "--disable-component-update")
PATIENCE_MILLISECONDS = 30_000
"""For what comes in the end; a machine may be busy."""
AXE = {
    "resultTypes": ["violations"],
    "preload": False,
}  # it would put styles into the page to read them
MINDED = ("serious", "critical")
"""Impacts of violations that fail a test."""
UNMINDED = [
    rule
    for rule, impact in re.findall(r'id:"([a-z0-9-]+)",impact:"(\w+)"', AXE_SCRIPT)
    if impact not in MINDED
]
"""Rules that axe-core is not asked for, since nothing they find fails a test."""
COLOURS = ["color-contrast", "link-in-text-block"]

REPORT_VIOLATIONS = """
    document.addEventListener("securitypolicyviolation", (event) =>
        console.error(`CSP: ${event.violatedDirective} forbids ${event.blockedURI} ${event.sample}`));
"""
KEEP_STILL = """
    for (const moment of ["htmx:beforeRequest", "htmx:beforeSwap"])
        document.addEventListener(moment, (event) => window.isInspected && event.preventDefault());
"""
"""Nothing of a page is exchanged while axe-core looks at it."""

expect.set_options(timeout=PATIENCE_MILLISECONDS)


@dataclass(frozen=True, slots=True)
class Look:
    """What a page is looked at with: a screen, in one of the two themes."""

    theme: str = "light"
    width: int = 1280
    height: int = 900
    scale: int = 1

    def __str__(self) -> str:
        return f"{self.theme}-{self.width}"


LIGHT = Look()
DARK = Look("dark")
PHONE = Look(width=390, height=844)


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=QUIET, chromium_sandbox=False
        )
        yield browser
        browser.close()


@contextmanager
def window(browser: Browser, look: Look, base_url: str) -> Iterator[BrowserContext]:
    """A browser that knows nothing yet: no cookies, nothing in its caches."""
    context = browser.new_context(
        base_url=base_url,
        color_scheme="dark" if look.theme == "dark" else "light",
        viewport={"width": look.width, "height": look.height},
        device_scale_factor=look.scale,
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    context.add_init_script(REPORT_VIOLATIONS + KEEP_STILL)
    yield context
    context.close()


@dataclass  # without slots: Playwright notes on it what listens
class Watch:
    """What a page did that it must not: errors in its console, and requests to any host but ours."""

    home: str
    faults: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def over(self, page: Page) -> None:
        page.on("console", self._said)
        page.on("pageerror", self._raised)
        page.on("request", self._asked)

    def leave(self, page: Page) -> None:
        page.remove_listener("console", self._said)
        page.remove_listener("pageerror", self._raised)
        page.remove_listener("request", self._asked)

    def expect(self, text: str) -> None:
        """A fault with that text in it is what this test is about, such as `403 (Forbidden)`."""
        self.expected.append(text)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._note(f"console: {message.text} ({message.location.get('url')})")

    def _raised(self, error: Error) -> None:
        self._note(f"error: {error}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith(f"{self.home}/"):
            self._note(f"request to another host: {request.url}")

    def _note(self, fault: str) -> None:
        if not any(text in fault for text in self.expected):
            self.faults.append(fault)


def follow(link: Locator) -> None:
    """Click on it, and go on when the page that it leads to is there: a click alone does not wait for one."""
    with link.page.expect_navigation():
        link.click()


def barriers(page: Page) -> list[str]:
    """What keeps people from using the page as it stands, by axe-core: only what it minds much.

    A theme changes colours and nothing else, and a narrow screen everything else: each is asked for that, and
    only who looks in the light on a wide one for all of it.
    """
    page.wait_for_load_state()  # of what is seen of it already, its styles may be on their way
    page.evaluate(f"isInspected = true; {AXE_SCRIPT}")
    options = AXE | _rules_for(page)
    found: list[dict[str, Any]] = page.evaluate("options => axe.run(options)", options)[
        "violations"
    ]
    page.evaluate("isInspected = false")
    return [
        f"{one['impact']}: {one['id']} at {node['target']}: {node['failureSummary']}"
        for one in found
        if one["impact"] in MINDED
        for node in one["nodes"]
    ]


def _rules_for(page: Page) -> dict[str, Any]:
    if page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches"):
        return {"runOnly": COLOURS}
    is_narrow = page.viewport_size is not None and page.viewport_size["width"] <= PHONE.width
    left_out = UNMINDED + COLOURS if is_narrow else UNMINDED
    return {"rules": {rule: {"enabled": False} for rule in left_out}}


def sideways(page: Page) -> int:
    """By how many pixels the page, as a whole, has to be scrolled sideways."""
    wide: int = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return max(wide, 0)
