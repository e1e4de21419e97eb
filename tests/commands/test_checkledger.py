"""`checkledger`: what it finds, and what the shell is told."""

import pytest
from django.core.management.base import OutputWrapper

from scheduling.ledger import check
from scheduling.models import Task
from scheduling.states import TaskState
from tenants.management.plain import CLEAR_LINE
from tenants.models import Tenant
from tests.commands.kit import manage
from tests.ledger import kit

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_ledger_in_order_is_said_to_be(tenant_a: Tenant) -> None:
    kit.put(tenant_a)
    said = manage("checkledger")
    assert (said.code, said.out) == (0, "The ledger keeps its invariants.\n")


def test_long_recounts_show_on_a_terminal_how_far_they_are_and_nowhere_else(
    tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert manage("checkledger").err == ""
    monkeypatch.setattr(OutputWrapper, "isatty", lambda wrapper: True)
    said = manage("checkledger")
    assert said.out == "The ledger keeps its invariants.\n"
    assert f"1 of {len(check.CHECKS)}: " in said.err
    assert "a task waits exactly while it is queued" in said.err
    assert said.err.endswith(CLEAR_LINE)


def test_what_is_wrong_is_printed_and_the_exit_code_is_1(tenant_a: Tenant) -> None:
    [task_id] = kit.put(tenant_a)
    Task.objects.filter(pk=task_id).update(state=TaskState.RUNNING)
    said = manage("checkledger")
    assert said.code == 1
    assert str(task_id) in said.out
    assert "violates its invariants" in said.err
