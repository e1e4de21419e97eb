"""`/v1/docs`: the whole document, as a page that a strict content security policy lets be shown."""

import re

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

from scheduling.api.v1.openapi import document

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(client: Client) -> str:
    answer = client.get("/v1/docs")
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/html")
    assert "script-src 'self'" in answer["Content-Security-Policy"]
    return answer.content.decode()


def test_it_shows_every_operation_and_schema(page: str) -> None:
    for methods in document()["paths"].values():
        for operation in methods.values():
            assert f'<section id="{operation["operationId"]}">' in page
    for slug in document()["components"]["examples"]:
        assert f'<section id="problem-{slug}">' in page
    assert page.count("<summary>Example: ") > len(document()["paths"])
    for name in document()["components"]["schemas"]:
        assert f'<section id="schema-{name}">' in page


def test_every_link_within_it_leads_somewhere(page: str) -> None:
    places = set(re.findall(r'id="([^"]+)"', page))
    assert {to for to in re.findall(r'href="#([^"]+)"', page) if to not in places} == set()


def test_it_needs_no_script_no_inline_style_and_no_other_host(page: str) -> None:
    assert not re.search(r"<script|<style|\sstyle=|\son\w+=", page)
    addresses = re.findall(r'(?:href|src)="([^"#]+)"', page)
    assert addresses
    assert all(address.startswith("/") and address[1] != "/" for address in addresses)
    [stylesheet] = re.findall(r'<link rel="stylesheet" href="/static/([^"]+)"', page)
    assert finders.find(stylesheet)


def test_other_methods_are_refused(client: Client) -> None:
    assert client.head("/v1/docs").status_code == 200
    strict = Client(enforce_csrf_checks=True)  # as a program is, that has no cookies
    assert strict.post("/v1/docs").status_code == 405
