"""What the documentation shows works, and what it lists is complete."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from scheduling import clock
from scheduling.api.metrics.collector import METRICS, SURVEY_SECONDS
from scheduling.builtin.signing import secret_of, signature
from scheduling.declaring import registry

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    *ROOT.glob("docs/**/*.md"),
]
HTTP_REQUESTS = ROOT / "docs" / "http-requests.md"
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
LINK_INTO_A_PAGE = re.compile(r"\]\((?!https?:)([^)#]*)#([^)]+)\)")
FENCED = re.compile(r"^ *(`{3,}).*?^ *\1", re.DOTALL | re.MULTILINE)
READERS = {"$API": "API=", "$TOKEN": "TOKEN=", "only_id": "only_id()"}
"""What readers have in their terminal, and how it gets there."""
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """What links into the page may name, as GitHub and the site make it of its headings."""
    headings = HEADING.findall(FENCED.sub("", page.read_text()))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_page_leads_to_one(page: Path) -> None:
    assert [to for to in LINK.findall(page.read_text()) if not (page.parent / to).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_into_a_page_names_one_of_its_headings(page: Path) -> None:
    links = LINK_INTO_A_PAGE.findall(page.read_text())
    assert [
        (to, heading)
        for to, heading in links
        if heading not in anchors(page.parent / to if to else page)
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_page_that_types_names_of_the_readers_tells_where_they_are_from(page: Path) -> None:
    text = page.read_text()
    assert [
        name
        for name, made in READERS.items()
        if name in text and made not in text and not re.search(rf"`{re.escape(name)}`.*\]\(", text)
    ] == []


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


def test_every_metric_has_a_row_with_its_labels_and_no_row_is_of_another() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text()
    rows = re.findall(r"^\| `(rentroll_\w+)` \| (.*?) \|", page, re.MULTILINE)
    told = {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in rows}
    assert told == {one.name: set(one.labels) for one in METRICS} | {SURVEY_SECONDS: set()}


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
