"""What the pages for those who come from another queue show of Rentroll works as it is written there.

Their own snippets are fenced as `py`, `ruby`, `elixir` and `yaml`, ours as `python` and `sh`.
"""

import json
import re
import shlex
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.core.management import get_commands, load_command_class

from scheduling import ledger
from scheduling import recurring as declarations
from scheduling.compat import TaskResultStatus, task
from scheduling.context import Context
from scheduling.declaring import registry
from scheduling.models import RecurringTask
from scheduling.testing import enqueued, run_due_tasks
from tenants.models import ApiToken, Tenant
from tests.api.kit import Api
from tests.pages import DOCS, shown_in

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

PAGES = sorted(page.name for page in (DOCS / "coming-from").glob("*.md") if page.stem != "index")
TEXTS = {page: (DOCS / "coming-from" / page).read_text() for page in PAGES}
COMMANDS = [
    (page, *shlex.split(command))
    for page, text in TEXTS.items()
    for command in re.findall(r"manage\.py ([^`\n]+)", text)
]
THEIRS = {"qcluster", "qmonitor", "run_huey"}
"""Those of the others that `manage.py` runs as well."""


@task(name="chains.second")
def second() -> str:
    return "second"


@task(name="chains.first", tenant="acme")
def first(context: Context) -> None:
    with context.settle("first"):
        second.enqueue()


@pytest.fixture
def acme(db: None) -> Tenant:
    return Tenant.objects.create(slug="acme")


@pytest.fixture
def known_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page is another reader's project, so the tasks of one are not known to the next."""
    ours = {
        name: task
        for name, task in registry._tasks.items()
        if not task.module_path.startswith("readers.")
    }
    monkeypatch.setattr(registry, "_tasks", ours)
    monkeypatch.setattr(declarations, "_declared", {})


@pytest.fixture(params=PAGES)
def shown(request: pytest.FixtureRequest, acme: Tenant, known_here: None) -> SimpleNamespace:
    return SimpleNamespace(**shown_in(f"coming-from/{request.param}"))


def run_for_an_hour() -> list[str]:
    """The ids of what runs, so that every retry and every delay has had its turn, and no deadline passes."""
    return [
        result.id
        for minutes in (0, 15, 30, 45)
        for result in run_due_tasks(ahead=timedelta(minutes=minutes), may_fail=True)
    ]


def test_what_is_enqueued_succeeds_in_the_end_and_no_earlier_than_it_was_to(
    shown: SimpleNamespace,
) -> None:
    assert shown.later.id not in {one.id for one in run_due_tasks(may_fail=True)}
    assert shown.later.id in run_for_an_hour()
    assert {one.status for one in enqueued()} == {TaskResultStatus.SUCCESSFUL}


def test_some_of_it_runs_more_than_once(shown: SimpleNamespace) -> None:
    """So that what the page says of retries, or of snoozing, is tried at all."""
    ran = run_for_an_hour()
    assert len(ran) > len(set(ran))


def test_the_same_key_gives_the_same_task(shown: SimpleNamespace) -> None:
    assert shown.again.id == shown.once.id != shown.soon.id


def test_what_recurs_is_taken_and_runs(shown: SimpleNamespace) -> None:
    declarations.sync()
    (row,) = RecurringTask.objects.all()
    assert (row.timezone, row.disabled_reason) == ("Europe/Berlin", "")

    ledger.fire_due(now=row.fires_at)

    made = [one.id for one in enqueued(registry.get(row.task_name))]
    assert made
    assert set(made) <= set(run_for_an_hour())


def test_calling_a_task_enqueues_nothing_and_runs_nothing(acme: Tenant, known_here: None) -> None:
    """As the page for those who come from huey says."""
    shown = SimpleNamespace(**shown_in("coming-from/huey.md"))
    before = len(enqueued())
    with pytest.raises(TypeError, match="not callable"):
        shown.make_thumbnail("cat.png")
    assert shown.upload.call is not None
    assert len(enqueued()) == before


def test_next_task_is_enqueued_with_the_settlement(acme: Tenant, known_here: None) -> None:
    """As the first page says of those who had chains."""
    first.enqueue()
    assert [one.return_value for one in run_due_tasks()] == ["first", "second"]


@pytest.mark.parametrize("page", ["solid-queue.md", "oban.md"])
def test_requests_are_taken(page: str, acme: Tenant, known_here: None) -> None:
    shown_in(f"coming-from/{page}")
    api = Api(ApiToken.objects.issue(tenant=acme)[1])
    (key, body) = re.findall(r"-H 'Idempotency-Key: (.*?)'.*?-d '(.*?)'\n", TEXTS[page], re.DOTALL)[
        0
    ]

    answer = api.post("/v1/tasks", json.loads(body), idempotency_key=key)

    assert answer.status_code == 201, answer.content
    assert answer.json()["idempotency_key"] == json.loads(key)


def test_commands_are_ones_that_are_understood() -> None:
    ours = [(page, name, words) for page, name, *words in COMMANDS if name not in THEIRS]
    assert {page for page, _, _ in ours} == set(PAGES)
    for _, name, words in ours:
        command = load_command_class(get_commands()[name], name)
        command.create_parser("manage.py", name).parse_args(words)
