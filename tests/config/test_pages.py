"""What every answer carries, whoever made it."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import pytest
from django.test import Client
from pytest_django import Settings

from scheduling.admin.site import Console
from scheduling.api.health import HealthView

pytestmark = pytest.mark.django_db

Answers: TypeAlias = dict[tuple[int, str], Any]

YEAR = 365 * 24 * 3600
FORBIDDEN = {
    "default-src 'none'",
    "script-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "object-src 'none'",
    "frame-ancestors 'none'",
}


def breaks_down(*args: object, **options: object) -> Any:
    raise RuntimeError("made for this test")


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Iterator[Answers]:
    """One of each kind, by its status and by whom it comes from. Faults of ours are answered, as outside."""
    client = Client(raise_request_exception=False)
    strict = Client(enforce_csrf_checks=True)
    elsewhere = {"Host": "elsewhere.example"}
    told: Answers = {
        (200, "a page"): client.get("/admin/login/"),
        (302, "the front door"): client.get("/"),
        (302, "a page for who is not signed in"): client.get("/admin/"),
        (401, "the API"): client.get("/v1/execution-control"),
        (404, "an unknown address"): client.get("/v1/no-such-thing"),
        (405, "a method that is not taken"): client.delete("/healthz"),
        (403, "a form of another site"): strict.post("/admin/login/", {"username": "ana"}),
        (400, "an unknown host"): client.get("/healthz", headers=elsewhere),
        (400, "an unknown host of a page"): client.get("/admin/", headers=elsewhere),
        (200, "a static file"): client.get("/static/rentroll/console.css"),
        (404, "an unknown static file"): client.get("/static/nowhere.css"),
    }
    settings.SECURE_SSL_REDIRECT = True
    told[301, "a page by plain http"] = Client().get("/admin/")
    settings.SECURE_SSL_REDIRECT = False
    monkeypatch.setattr(HealthView, "get", breaks_down)
    told[500, "a fault of the API"] = client.get("/healthz")
    monkeypatch.setattr(Console, "each_context", breaks_down)
    told[500, "a fault of a page"] = client.get("/admin/login/")
    yield told
    for answer in told.values():
        answer.close()


def test_every_answer_forbids_the_browser_what_no_page_needs(answers: Answers) -> None:
    for (status, whose), answer in answers.items():
        assert answer.status_code == status, whose
        policy = answer["Content-Security-Policy"]
        assert set(policy.split("; ")) >= FORBIDDEN, whose
        assert "unsafe" not in policy, whose
        assert answer["X-Content-Type-Options"] == "nosniff", whose
        assert answer["Referrer-Policy"] == "same-origin", whose
        assert answer["Cross-Origin-Opener-Policy"] == "same-origin", whose
        assert answer["Cross-Origin-Resource-Policy"] == "same-origin", whose
        assert "camera=()" in answer["Permissions-Policy"], whose


def test_browsers_are_told_to_stay_with_https_only_once_they_use_it(settings: Settings) -> None:
    settings.SECURE_HSTS_SECONDS = YEAR
    assert Client().get("/healthz", secure=True)["Strict-Transport-Security"] == f"max-age={YEAR}"
    assert "Strict-Transport-Security" not in Client().get("/healthz")


def test_the_front_door_leads_to_the_console(client: Client) -> None:
    assert client.get("/")["Location"] == "/admin/"
