"""docs/api.md: every command that it shows is run, and every operation that there is has been documented."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from scheduling import clock
from scheduling.api.v1.openapi import document
from scheduling.models import Task
from tenants.models import ApiToken, Tenant
from tests.ledger import kit

DOCS = Path(__file__).resolve().parents[2] / "docs"
COMMANDS = re.findall(r"```sh\n(curl .*?)```", (DOCS / "api.md").read_text(), re.DOTALL)


@pytest.mark.ledger
@pytest.mark.django_db(transaction=True)
def test_every_command_is_answered_with_what_it_asks_for(
    live_server: LiveServer, tenant_a: Tenant, settings: Settings, tmp_path: Path
) -> None:
    """One after the other, as somebody who reads the page would try them."""
    settings.RENTROLL = settings.RENTROLL | {"REMOTE_QUEUES": ["films"]}
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
        if answer.get("tasks") and "worker" in answer:
            known |= {"WORKER": answer["worker"], "LEASED": answer["tasks"][0]["id"]}
        assert [lease for lease in answer.get("leases", []) if "problem" in lease] == []
        known |= entity_tag_in(tmp_path / "head")
    assert Task.objects.get(pk=known["LEASED"]).result == {"cut": 7}


def run(command: str, known: dict[str, str]) -> dict[str, Any]:
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
    answer: dict[str, Any] = json.loads(done.stdout or "{}")
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


def test_every_operation_is_shown_by_a_command_that_is_run() -> None:
    operations = {
        (method.upper(), path)
        for path, of_path in document()["paths"].items()
        for method in of_path
    }
    assert operations - set(map(asked_for, COMMANDS)) == set()
    assert set(map(asked_for, COMMANDS)) - operations == {("GET", "/v1/openapi.json")}


def asked_for(command: str) -> tuple[str, str]:
    """The operation that a command asks for: its method, and its path as the document writes it."""
    path = re.sub(r"\$(ID|DEAD)\b", "{task_id}", re.findall(r'"(\$API[^"?]*)', command)[0])
    path = path.replace("$API", "/v1").replace("$RECURRING", "{recurring_task_id}")
    (method,) = re.findall(r" -X (\w+)", command) or ["POST" if " -d '" in command else "GET"]
    return method, path
