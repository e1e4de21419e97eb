"""Tables of a newer release, or of an older one: nobody touches them, and everybody says why."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.core.management import call_command
from django.db import OperationalError, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from scheduling import tables
from scheduling.management.commands import runworkers
from scheduling.models import Pause, Task
from tenants.models import Tenant
from tests.api.kit import Api, problem
from tests.commands.kit import complaint
from tests.ledger.kit import put

pytestmark = pytest.mark.django_db(transaction=True)

FUTURE = {"app": "scheduling", "name": "9999_of_the_future"}
COMMANDS = [
    ("bootstrap",),
    ("migrate",),
    ("runworkers",),
    ("checkledger",),
    ("createtenant", "acme"),
    ("issuetoken", "tenant-a"),
    ("prune",),
    ("setpaused", "true"),
    ("webhooksecret", "tenant-a"),
]


@pytest.fixture
def newer() -> Iterator[None]:
    """A migration was applied that this code does not know."""
    applied = MigrationRecorder.Migration.objects
    applied.create(**FUTURE)
    tables.require_fit_once.cache_clear()
    yield
    applied.filter(**FUTURE).delete()
    tables.require_fit_once.cache_clear()


@pytest.fixture
def older(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The code brings a migration that was not applied."""
    (ours,) = MigrationLoader(None).graph.leaf_nodes("scheduling")
    applied = MigrationRecorder.applied_migrations
    monkeypatch.setattr(
        MigrationRecorder,
        "applied_migrations",
        lambda self: {key: one for key, one in applied(self).items() if key != ours},
    )
    tables.require_fit_once.cache_clear()
    yield
    tables.require_fit_once.cache_clear()


@pytest.mark.usefixtures("newer")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_no_command_touches_the_tables_of_a_newer_release(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tenant_a: Tenant
) -> None:
    monkeypatch.delattr(runworkers, "Supervisor")
    sentence = complaint(*command)
    assert "A newer release has changed the tables (scheduling.9999_of_the_future)" in sentence
    assert "Run the newer release, or restore a backup" in sentence
    assert list(Tenant.objects.all()) == [tenant_a]
    assert not Pause.objects.exists()


@pytest.mark.usefixtures("older")
@pytest.mark.parametrize(
    "command",
    [command for command in COMMANDS if command[0] not in {"bootstrap", "migrate"}],
    ids=lambda command: command[0],
)
def test_no_command_runs_before_the_tables_are_up_to_date(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tenant_a: Tenant
) -> None:
    monkeypatch.delattr(runworkers, "Supervisor")
    assert "not up to date. Run `manage.py migrate`" in complaint(*command)


@pytest.mark.usefixtures("newer")
def test_the_web_server_answers_nothing_but_how_it_is(api_a: Api, tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    for answer in (
        api_a.enqueue(),
        api_a.get(f"/v1/tasks/{task_id}"),
        api_a.put("/v1/execution-control", {"paused": True}),
        Api().get("/admin/"),
        Api().get("/readyz"),
    ):
        assert problem(answer) == (503, "unavailable")
        assert "scheduling.9999_of_the_future" in answer.json()["detail"]
        assert int(answer["Retry-After"]) >= 1
    assert Api().get("/healthz").status_code == 200
    assert Task.objects.count() == 1
    assert not Pause.objects.exists()


@pytest.mark.usefixtures("older")
def test_the_web_server_waits_for_its_tables(api_a: Api) -> None:
    assert "manage.py migrate" in api_a.enqueue().json()["detail"]
    assert not Task.objects.exists()


def test_a_migration_that_was_squashed_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    loader = MigrationLoader(None)
    first = loader.disk_migrations["tenants", "0001_initial"]
    monkeypatch.setattr(first, "replaces", [("tenants", "0000_before")])
    loader.applied_migrations = {("tenants", "0000_before"): first}
    tables.require_known(loader)


def test_the_migrations_of_others_are_not_ours_to_know() -> None:
    loader = MigrationLoader(None)
    loader.applied_migrations = {("auth", "9999_of_the_future"): None}  # type: ignore[dict-item]
    tables.require_known(loader)


def test_threads_that_ask_at_once_read_the_migrations_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A process that was just started is asked by all its threads, and modules that are loaded twice at once break."""
    all_ask = Barrier(4)
    inside: list[int] = []

    class Executor(MigrationExecutor):
        def __init__(self, connection: Any) -> None:
            inside.append(1)
            super().__init__(connection)
            assert len(inside) == 1, "somebody else reads them too"
            inside.pop()

    def ask(_: int) -> None:
        all_ask.wait(30)
        try:
            tables.require_fit()
        finally:
            connections.close_all()

    monkeypatch.setattr(tables, "MigrationExecutor", Executor)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(ask, range(4)))


@pytest.mark.usefixtures("tenant_a")
def test_workers_wait_for_a_ledger_that_does_not_answer_yet(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    answers: list[Any] = [OperationalError("starting up"), OperationalError("starting up"), None]

    def look() -> None:
        if error := answers.pop(0):
            raise error

    class Supervisor:
        def __init__(self, options: Any, tell: Any) -> None:
            assert not answers

        def run(self) -> None:
            """Nothing: the command returns at once."""

    monkeypatch.setattr(tables, "require_fit", look)
    monkeypatch.setattr(runworkers, "Supervisor", Supervisor)
    call_command("runworkers")
    assert caplog.text.count("does not answer") == 1
    assert "answers again" in caplog.text
