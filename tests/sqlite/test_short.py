"""The ledger's own short transaction ends as `atomic` does."""

import pytest
from django.db import DatabaseError, IntegrityError, connection

from scheduling.models import Intake, Lane, Task
from scheduling.sqlite.base import DatabaseWrapper
from scheduling.sqlite.gate import WriteGate, gate_for
from scheduling.sqlite.short import ShortTransaction
from tenants.models import Tenant
from tests.races.kit import put

pytestmark = pytest.mark.django_db(transaction=True)

ADD_LANE = "INSERT INTO scheduling_lane VALUES (NULL, ?, 0, 0, 0, ?)"


@pytest.fixture
def ours() -> DatabaseWrapper:
    """The connection behind Django's proxy, open."""
    connection.ensure_connection()
    wrapper = connection._connections[connection._alias]  # type: ignore[attr-defined]
    assert isinstance(wrapper, DatabaseWrapper)
    return wrapper


@pytest.fixture
def gate() -> WriteGate:
    return gate_for(connection.settings_dict["NAME"])


def test_it_is_inside_the_gate_until_it_has_committed(
    ours: DatabaseWrapper, gate: WriteGate, tenant_a: Tenant
) -> None:
    with ShortTransaction(ours):
        assert gate.is_inside(ours)
        ours.connection.execute(ADD_LANE, ("mail", tenant_a.pk))
    assert gate.holder is None
    assert not ours.connection.in_transaction
    assert Lane.objects.filter(queue="mail").exists()


def add_lane_and_fail(ours: DatabaseWrapper, tenant: Tenant) -> None:
    with ShortTransaction(ours):
        ours.connection.execute(ADD_LANE, ("mail", tenant.pk))
        raise ZeroDivisionError


def test_what_raises_leaves_nothing_behind(
    ours: DatabaseWrapper, gate: WriteGate, tenant_a: Tenant
) -> None:
    with pytest.raises(ZeroDivisionError):
        add_lane_and_fail(ours, tenant_a)
    assert gate.holder is None
    assert not ours.connection.in_transaction
    assert not Lane.objects.exists()


def test_a_commit_that_fails_is_rolled_back(ours: DatabaseWrapper, gate: WriteGate) -> None:
    """A deferred constraint is looked at when the transaction commits, and only then."""
    with pytest.raises(IntegrityError), ShortTransaction(ours):
        ours.connection.execute(ADD_LANE, ("of nobody", 12345))
    assert gate.holder is None
    assert not ours.connection.in_transaction
    assert not Lane.objects.exists()


def test_a_connection_that_cannot_roll_back_is_closed(
    ours: DatabaseWrapper, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise DatabaseError("disk I/O error")

    monkeypatch.setattr(ours, "_rollback", fail)
    with pytest.raises(ZeroDivisionError), ShortTransaction(ours):
        raise ZeroDivisionError
    assert ours.connection is None


def test_a_taken_key_leaves_no_charge(tenant_a: Tenant) -> None:
    """It is found out by inserting, when the limits were charged already."""
    put(tenant_a, idempotency_key="order-1", fingerprint="same")
    put(tenant_a, idempotency_key="order-1", fingerprint="same")
    assert Task.objects.count() == 1
    assert Intake.objects.get(pk=tenant_a.pk).accepted == 1
