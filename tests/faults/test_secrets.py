"""Scenario 55: what a production server writes anywhere, whatever befalls it, lets nobody in.

Real processes, driven through failures of every kind; then everything they wrote is searched: the
ledger and all other files, the log, and what was answered.
"""

import base64
import re
import secrets
import signal
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import psycopg
import pysqlite3
import pytest
from psycopg import sql

from tests.installation import Installation
from tests.waiting import until

pytestmark = pytest.mark.timeout(120)

PASSWORD = secrets.token_urlsafe(16)
CARD = secrets.token_hex(16)
SECRET_KEY = secrets.token_urlsafe(64)
WEBHOOK_SECRET = secrets.token_urlsafe(32)
PRODUCTION = {
    "DEBUG": "0",
    "DJANGO_SUPERUSER_PASSWORD": PASSWORD,
    "SECRET_KEY": SECRET_KEY,
    "WEBHOOK_SECRET": WEBHOOK_SECRET,
    "HTTPS": "0",  # or cookies would need a proxy that speaks it
    "PORT": "0",
    "WEB_CONCURRENCY": "1",
    "ACCESS_LOG": "-",
}


@dataclass
class Server:
    """A server in production, and all that it said: in its log and in its answers."""

    installation: Installation
    log: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    address: str = ""
    clients: ExitStack = field(default_factory=ExitStack)

    def manage(self, *command: str) -> str:
        process = self.installation.start(*command)
        said, _ = process.communicate()
        assert process.returncode == 0, said
        return said

    @contextmanager
    def without(self, *tables: str) -> Iterator[None]:
        """Faults of every kind are made of this."""
        self.execute(f"ALTER TABLE {table} RENAME TO {table}_away" for table in tables)
        yield
        self.execute(f"ALTER TABLE {table}_away RENAME TO {table}" for table in tables)

    def execute(self, statements: Iterable[str]) -> None:
        file, url = self.installation.data_dir / "scheduler.db", self.installation.database_url
        session = (
            psycopg.connect(url, autocommit=True) if url else pysqlite3.connect(file, timeout=60)
        )
        with closing(session):
            for statement in statements:
                session.execute(statement)

    @contextmanager
    def running(self) -> Iterator[None]:
        with self.clients, self.installation.start("serve") as process:
            assert process.stdout
            for line in process.stdout:
                self.log.append(line)
                if found := re.search(r"Listening at: (http://\S+)", line):
                    self.address = found[1]
                    break
            try:
                yield
            finally:
                process.send_signal(signal.SIGTERM)
                self.log.append(process.communicate()[0])
                print("".join(self.log))  # noqa: T201  # pytest shows it on failure

    def client(self, **headers: str) -> httpx.Client:
        return self.clients.enter_context(httpx.Client(headers=headers, timeout=30))

    def ask(self, client: httpx.Client, method: str, path: str, **request: Any) -> httpx.Response:
        answer = client.request(method, f"{self.address}{path}", **request)
        self.answers.append(answer.headers.get("Location", "") + answer.text)
        return answer

    def written(self) -> str:
        """Every file of the installation, and every row of a ledger that is not among them."""
        files = [path for path in self.installation.data_dir.rglob("*") if path.is_file()]
        found = "".join(path.read_bytes().decode("latin-1") for path in files)
        url = self.installation.database_url
        return found + (dump(url) if url else "")


def dump(url: str) -> str:
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        ).fetchall()
        return "".join(
            str(row)
            for (table,) in tables
            for row in connection.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(table)))
        )


@pytest.fixture
def server(installation: Installation) -> Server:
    """On a ledger that a developer used before."""
    process = installation.start("bootstrap", "-v0")
    assert "Admin user: admin, password" in process.communicate()[0]
    installation.environment |= PRODUCTION
    return Server(installation)


def signed_in(server: Server) -> httpx.Client:
    """The browser of an operator."""
    browser = server.client()
    form(server, browser, "/admin/login/", username="ana", password=PASSWORD)
    assert "sessionid" in browser.cookies
    return browser


def form(server: Server, browser: httpx.Client, path: str, **fields: str) -> httpx.Response:
    """Fill in the form at that address and send it."""
    page = server.ask(browser, "GET", path)
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
    assert found, page.text
    return server.ask(browser, "POST", path, data={**fields, "csrfmiddlewaretoken": found[1]})


def test_nothing_that_is_written_anywhere_lets_anybody_in(server: Server) -> None:
    server.manage("createsuperuser", "--noinput", "--username=ana", "--email=")
    tenants = server.manage("issuetoken", "tenant-a").split()[-1]
    operators = server.manage("issuetoken", "--operator").split()[-1]
    webhook = server.manage("webhooksecret", "tenant-a").strip()
    guessed = f"rr_{secrets.token_urlsafe(32)}"
    basic = base64.b64encode(f"ana:{PASSWORD}".encode()).decode()

    with server.running():
        api, nobody = server.client(Authorization=f"Bearer {tenants}"), server.client()
        refused = [f"Bearer {guessed}", f"Basic {basic}", f"Token {tenants}"]
        refused += [f"Bearer token-{who}" for who in ("tenant-a", "tenant-b", "operator")]
        for header in refused:
            answer = server.ask(nobody, "GET", "/v1/tasks", headers={"Authorization": header})
            assert answer.status_code == 401
        server.ask(nobody, "GET", f"/v1/tasks?token={tenants}")
        server.ask(api, "GET", f"/v1/tasks?secret={operators}")
        server.ask(api, "POST", "/v1/tasks", json=CARD)
        server.ask(api, "POST", "/v1/tasks", json={"name": "demo.echo", "priority": CARD})

        quoted = {
            "url": "https://receiver.example/",
            "method": CARD,
        }  # by the failure, to its tenant
        task = {"name": "http.request", "payload": quoted}
        location = server.ask(api, "POST", "/v1/tasks", json=task).headers["Location"]
        until(lambda: server.ask(api, "GET", location).json()["state"] == "dead")

        browser = signed_in(server)
        session = browser.cookies["sessionid"]
        for path in ("", "scheduling/task/", f"scheduling/task/{location[10:]}/change/"):
            assert server.ask(browser, "GET", f"/admin/{path}").status_code == 200
        form(server, server.client(), "/admin/login/", username="ana", password=PASSWORD[1:])
        issued = form(server, browser, "/admin/tenants/apitoken/add/", scopes="read")
        (shown,) = set(re.findall(r"rr_[\w-]{20,}", issued.text))
        server.answers.remove(issued.text)  # shown this once

        for tables in (["scheduling_task"], ["tenants_apitoken", "auth_user"]):
            with server.without(*tables):
                broken = [
                    server.ask(api, "POST", "/v1/tasks", json=task),
                    server.ask(browser, "GET", "/admin/"),
                    server.ask(browser, "GET", "/admin/tenants/apitoken/"),
                    form(
                        server, server.client(), "/admin/login/", username="ana", password=PASSWORD
                    ),
                ]
            assert {answer.status_code for answer in broken} & {500, 503}

    log, answers, written = "".join(server.log), "".join(server.answers), server.written()
    assert "Traceback" in log
    assert log.count("POST /v1/tasks") > 1
    assert "failed on attempt 1 of 10, for good: scheduling.errors.PermanentFailure" in log
    assert f"method: '{CARD}' is not one of" in written  # or nothing was searched

    keys = [PASSWORD, tenants, operators, guessed, basic, shown, session, SECRET_KEY, webhook]
    for secret in (*keys, WEBHOOK_SECRET):
        assert secret not in log
        assert secret not in answers
        assert secret not in written
    assert CARD not in log


def test_a_production_server_tells_of_development_tokens_and_makes_no_password(
    server: Server,
) -> None:
    said = server.manage("bootstrap")
    assert "This ledger holds 3 development tokens" in said
    assert "password" not in said
    server.manage("flush", "--noinput")
    said = server.manage("bootstrap")
    assert "development" not in said
    assert "password" not in said
