"""What the documentation shows works."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from scheduling import clock, registry
from scheduling.builtin.signing import secret_of, signature

ROOT = Path(__file__).resolve().parent.parent
HTTP_REQUESTS = ROOT / "docs" / "http-requests.md"


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
