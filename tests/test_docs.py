"""What the documentation shows works, and what it lists is complete."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from scheduling import clock
from scheduling.builtin.signing import secret_of, signature
from scheduling.declaring import registry

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    *ROOT.glob("docs/**/*.md"),
]
HTTP_REQUESTS = ROOT / "docs" / "http-requests.md"
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
FROM_THE_ENVIRONMENT = re.compile(r'(?:env\.\w+|os\.environ\.get)\(\s*"([A-Z_]+)"')


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_page_leads_to_one(page: Path) -> None:
    assert [to for to in LINK.findall(page.read_text()) if not (page.parent / to).exists()] == []


def test_the_readme_fits_on_one_screen() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 60


def test_every_test_that_a_scenario_names_is_there() -> None:
    page = (ROOT / "docs" / "reliability.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page)
    assert len(named) > 50
    missing = [
        f"{file}::{name}"
        for file, name in named
        if not re.search(rf"^(def|class) {name}\b", (ROOT / file).read_text(), re.MULTILINE)
    ]
    assert missing == []


def test_every_setting_of_the_environment_is_in_the_table_of_operations() -> None:
    code = "".join(file.read_text() for file in ROOT.glob("config/*.py"))
    page = (ROOT / "docs" / "operations.md").read_text()
    rows = "".join(line.split("|")[1] for line in page.splitlines() if line.startswith("|"))
    settings = set(FROM_THE_ENVIRONMENT.findall(code))
    assert {"DEBUG", "DATABASE_URL", "WEB_THREADS", "WEB_SECONDS_TO_SEND"} <= settings
    assert {name for name in settings if f"`{name}`" not in rows} == set()


def test_the_request_that_is_shown_is_one_that_is_taken() -> None:
    (request,) = re.findall(r"-d '(.*)'", HTTP_REQUESTS.read_text())
    asked = json.loads(request)
    registry.bind(registry.get(asked["name"]), [], asked["payload"])


class TestVerifyingSignatures:
    """By the lines that the page about `http.request` gives to those who receive them."""

    SECRET = secret_of("acme")
    BODY = b'{"invoice":7}'

    def is_genuine(self, body: bytes = BODY, *, age: int = 0, **changed: str) -> Any:
        (snippet,) = re.findall(r"```python\n(.*?)```", HTTP_REQUESTS.read_text(), re.DOTALL)
        receivers: dict[str, Any] = {}
        exec(snippet, receivers)  # noqa: S102  # our own page
        sent_at = int(clock.now().timestamp()) - age
        headers = {
            "webhook-id": "a",
            "webhook-timestamp": str(sent_at),
            "webhook-signature": signature(self.SECRET, "a", sent_at, self.BODY),
        }
        changed = {f"webhook-{name}": value for name, value in changed.items()}
        return receivers["is_genuine"](self.SECRET, headers | changed, body)

    def test_a_request_of_ours_is_genuine(self) -> None:
        assert self.is_genuine() is True

    @pytest.mark.parametrize(
        "changed",
        [
            {"id": "b"},
            {"timestamp": "1"},
            {"timestamp": "now"},
            {"signature": "v1,"},
            {"signature": "ÿ"},
            {"body": b'{"invoice":8}'},
            {"age": 301},
        ],
    )
    def test_one_that_was_changed_or_is_old_is_not(self, changed: dict[str, Any]) -> None:
        assert self.is_genuine(**changed) is False
