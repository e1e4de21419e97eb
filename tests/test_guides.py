"""What the guides for those who write tasks show works as it is written there."""

import doctest
import re
import unittest
from collections.abc import Iterator
from datetime import timedelta
from threading import Event
from typing import Any, ClassVar
from unittest.mock import patch
from uuid import uuid4

import pytest
from django.db import connection, models

from scheduling import clock, ledger
from scheduling import recurring as declarations
from scheduling.context import Context
from scheduling.errors import StaleLease
from scheduling.models import RecurringTask, Task
from scheduling.states import TaskState
from scheduling.testing import run_due_tasks
from tenants.current import acting_for
from tenants.models import Tenant
from tests.pages import DOCS, shown_in
from tests.workers.kit import a_claim

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


class Readers(models.Model):
    """A model of the reader's own app."""

    class Meta:
        app_label = "readers"
        abstract = True


class Invoice(Readers):
    number = models.CharField(max_length=20, unique=True)
    total = models.IntegerField()
    objects: ClassVar[models.Manager[Any]] = models.Manager()

    def __str__(self) -> str:
        return self.number


class Store(dict[str, str]):
    """What is kept under which key."""

    def put(self, key: str, content: str) -> None:
        self[key] = content


with patch.object(models, "Model", Readers):
    FENCING = shown_in("fencing.md", Invoice=Invoice, store=Store())


@pytest.fixture(autouse=True)
def readers_tables(transactional_db: None) -> Iterator[None]:
    tables = [Invoice, FENCING["Fence"]]
    with connection.schema_editor() as editor:
        for table in tables:
            editor.create_model(table)
    yield
    with connection.schema_editor() as editor:
        for table in tables:
            editor.delete_model(table)


@pytest.fixture(autouse=True)
def acme(tenant_a: Tenant) -> Iterator[Tenant]:
    """A tenant acted for."""
    with acting_for(tenant_a):
        yield tenant_a


def context_of(claim: Any, declared: Any) -> Context:
    return Context(claim, declared, Event(), Event())


class TestSettlingInTheSameTransaction:
    BILL = FENCING["bill"]

    def test_row_and_result_are_committed(self) -> None:
        self.BILL.enqueue("7", 100)
        (result,) = run_due_tasks()
        assert result.return_value == {"invoice": Invoice.objects.get(number="7").pk}

    def test_zombie_leaves_no_row(self) -> None:
        self.BILL.enqueue("7", 100)
        (claim,) = ledger.claim(uuid4(), limit=1).claims
        ledger.reap(ledger.held_leases())

        with pytest.raises(StaleLease):
            self.BILL.func(context_of(claim, self.BILL), "7", 100)

        assert not Invoice.objects.exists()
        assert Task.objects.get().state == TaskState.QUEUED


class TestFencingOtherTables:
    def write(self, claim: Any, total: int) -> None:
        FENCING["write_down"](context_of(claim, FENCING["bill"]), "7", total)

    def test_zombie_that_comes_second_is_refused(self) -> None:
        zombie = a_claim(generation=1)
        successor = a_claim(task_id=zombie.task_id, generation=2)
        self.write(successor, 200)

        with pytest.raises(StaleLease):
            self.write(zombie, 100)

        assert Invoice.objects.get().total == 200

    def test_zombie_that_comes_first_is_written_over(self) -> None:
        zombie = a_claim(generation=1)
        self.write(zombie, 100)
        self.write(a_claim(task_id=zombie.task_id, generation=2), 200)
        assert Invoice.objects.get().total == 200

    def test_one_generation_may_write_as_often_as_it_likes(self) -> None:
        claim = a_claim(generation=3)
        self.write(claim, 100)
        self.write(claim, 101)
        assert Invoice.objects.get().total == 101

    def test_other_tasks_have_fences_of_their_own(self) -> None:
        self.write(a_claim(generation=9), 100)
        self.write(a_claim(generation=1), 200)
        assert Invoice.objects.get().total == 200


def test_each_generation_writes_to_a_place_of_its_own() -> None:
    FENCING["render"].enqueue("march")
    (result,) = run_due_tasks()
    key = result.return_value["key"]
    assert key.endswith("/1.pdf")
    assert FENCING["store"][key] == "report march"


@pytest.mark.parametrize("name", ["explanation/fairness.md", "recurring.md"])
def test_sessions_say_what_they_are_shown_to_say(name: str) -> None:
    page = DOCS / name
    session = "\n".join(re.findall(r"```pycon\n(.*?)```", page.read_text(), re.DOTALL))
    shown = doctest.DocTestParser().get_doctest(session, {}, page.name, str(page), 0)
    results = doctest.DocTestRunner().run(shown)
    assert results.attempted > 5
    assert results.failed == 0


def test_what_the_guide_declares_recurs_and_keeps_what_operators_edit(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declarations, "_declared", {})
    Tenant.objects.filter(pk=acme.pk).update(slug="acme")
    shown_in("recurring.md")
    declarations.sync()
    nightly, often = RecurringTask.objects.order_by("name")
    assert (nightly.name, nightly.cron, nightly.payload) == (
        "reports.make",
        "30 2 * * *",
        {"kind": "nightly"},
    )
    assert (often.every_seconds, often.overlap) == (900, "allow")

    ledger.edit_recurring(nightly.pk, {"cron": "0 4 * * *"})
    declarations.sync()
    nightly.refresh_from_db()
    assert nightly.cron == "0 4 * * *"

    ledger.fire_due(now=clock.now() + timedelta(days=1, minutes=1))
    assert {result.return_value for result in run_due_tasks()} >= {"a nightly report"}


def test_guide_to_testing_is_a_test_that_passes() -> None:
    Tenant.objects.all().delete()
    guide = shown_in("testing.md")
    tests = unittest.defaultTestLoader.loadTestsFromTestCase(guide["WelcomeTest"])
    outcome = unittest.TestResult()

    tests.run(outcome)

    assert outcome.testsRun == 1
    assert outcome.errors + outcome.failures == []
