"""docs/api.md: every command that it shows is run, and every operation that there is has been documented."""

import json
import os
import re
import subprocess
from pathlib import Path
from uuid import UUID

import pytest
from pytest_django.live_server_helper import LiveServer

from scheduling import clock
from scheduling.api.v1.openapi import document
from tenants.models import ApiToken, Tenant
from tests.ledger import kit

DOCS = Path(__file__).resolve().parents[2] / "docs"
COMMANDS = re.findall(r"```sh\n(curl .*?)```", (DOCS / "api.md").read_text(), re.DOTALL)


@pytest.mark.ledger
@pytest.mark.django_db(transaction=True)
def test_every_command_is_answered_with_what_it_asks_for(
    live_server: LiveServer, tenant_a: Tenant, tmp_path: Path
) -> None:
    """One after the other, as somebody who reads the page would try them."""
    known = {
        **os.environ,
        "API": f"{live_server.url}/v1",
        "TOKEN": ApiToken.objects.issue(tenant=tenant_a)[1],
        "DEAD": str(dead_letter(tenant_a)),
        "HEAD": str(tmp_path / "head"),
    }
    dead_letter(tenant_a)
    for command in COMMANDS:
        answer = run(command, known)
        if "order-4711" in command:
            known["ID"] = answer["id"]
        if "nightly-report" in command:
            known["RECURRING"] = answer["id"]
        known |= entity_tag_in(tmp_path / "head")
    assert len(COMMANDS) >= 15


def run(command: str, known: dict[str, str]) -> dict[str, str]:
    strict = f'curl() {{ command curl -sS --fail-with-body -D "$HEAD" "$@"; }}\n{command}'
    done = subprocess.run(
        ["/bin/bash", "-c", strict],
        env=known,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    answer: dict[str, str] = json.loads(done.stdout or "{}")
    return answer


def entity_tag_in(head: Path) -> dict[str, str]:
    """What the page calls $ETAG."""
    tags = re.findall(r"^etag: (.*)$", head.read_text(), re.MULTILINE | re.IGNORECASE)
    return {"ETAG": tags[0]} if tags else {}


def dead_letter(tenant: Tenant) -> UUID:
    now = clock.now()
    [task_id] = kit.put(tenant, now=now)
    kit.say(kit.take(now=now), kit.failing(retry_in=None), now=now)
    return task_id


def test_every_operation_is_on_a_page() -> None:
    pages = "".join(page.read_text() for page in DOCS.glob("**/*.md"))
    shown = re.sub(r"\$(ID|DEAD)", "{task_id}", pages).replace("$API", "/v1")
    shown = shown.replace("$RECURRING", "{recurring_task_id}")
    assert [path for path in document()["paths"] if path not in shown] == []
