"""docs/tutorial: whoever follows it to the letter sees what it promises.

The environment that these tests run in stands for those that the reader builds. That the wheel can be built, and
installed into a new one, is tested in tests/packaging.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.pages import DOCS
from tests.walks import ROOT, cloned_into, walking

pytestmark = pytest.mark.timeout(180)  # servers and workers, started more than once

TUTORIAL = DOCS / "tutorial"
STANDING_IN = f"""
make() {{ test "$*" = wheel; }}
python3() {{ test "$*" = "-m venv .venv" && ln -s {sys.prefix} .venv; }}
pip() {{ test "$1" = install; }}
"""


@contextmanager
def signed_in(console: str, user: str, password: str) -> Iterator[httpx.Client]:
    """By the form that the console shows to who is not."""
    with httpx.Client(base_url=console, follow_redirects=True, timeout=30) as browser:
        form = browser.get("").raise_for_status()
        told = {"username": user, "password": password, "next": form.url.params["next"]}
        token = {"csrfmiddlewaretoken": browser.cookies["csrftoken"]}
        assert "Log out" in browser.post(form.url, data=told | token).raise_for_status().text
        yield browser


def test_first_task(tmp_path: Path) -> None:
    with walking(cloned_into(tmp_path), PORT="0", WEB_CONCURRENCY="1") as walk:
        walk.follow(TUTORIAL / "first-task.md")

        (password,) = re.findall(r"password (\S+) \(shown this once\)", walk.heard)
        (task_id,) = re.findall(r"^([0-9a-f]{8}-[0-9a-f-]{27})$", walk.heard, re.MULTILINE)
        with signed_in(f"{walk.address}/admin/", "admin", password) as browser:
            assert "my first" in browser.get("scheduling/task/").text
            page = browser.get(f"scheduling/task/{task_id}/change/").raise_for_status().text
        assert page.count("The post office is closed.") >= 2
        assert "A postcard to Ada" in page


def test_multi_tenant_app(tmp_path: Path) -> None:
    """Its project finds the two apps, and nothing else of ours."""
    for folder in ("rentroll", "apps"):
        (tmp_path / folder).mkdir()
    for app in ("scheduling", "tenants"):
        (tmp_path / "apps" / app).symlink_to(ROOT / app)
    with walking(tmp_path / "rentroll", PYTHONPATH=str(tmp_path / "apps")) as walk:
        walk.type(STANDING_IN)
        walk.follow(TUTORIAL / "multi-tenant-app.md")

        with signed_in(f"{walk.address}/console/", "ada", "only-for-the-tutorial") as browser:
            assert "the wrong file" in browser.get("").text
            assert "loud" in browser.get("tenants/tenant/").text


def test_every_tutorial_is_followed() -> None:
    """One more needs one more test above."""
    assert {page.name for page in TUTORIAL.iterdir()} == {"first-task.md", "multi-tenant-app.md"}
