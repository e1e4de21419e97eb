"""How a connection to the ledger is set up, and what Django's ORM gets out of it."""

import datetime
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, models, transaction
from django.db.models import Value
from django.utils import timezone

from scheduling.models import Task
from tenants.models import ApiToken, Tenant

pytestmark = pytest.mark.django_db(transaction=True)


def pragma(name: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA {name}")
        return cursor.fetchone()[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("journal_mode", "wal"),
        ("synchronous", 2),  # FULL
        ("foreign_keys", 1),
        ("mmap_size", 0),
        ("temp_store", 2),  # MEMORY
        ("journal_size_limit", 64 * 1024 * 1024),
        ("busy_timeout", 10_000),
    ],
)
def test_a_connection_is_durable_and_lets_readers_read(name: str, value: object) -> None:
    connection.close()
    assert pragma(name) == value


def test_the_gate_is_for_the_owner_of_the_ledger_alone() -> None:
    """Who may open it may hold it, and then nobody writes."""
    Tenant.objects.create(slug="tenant-a")
    gate = Path(f"{connection.settings_dict['NAME']}-gate")
    assert gate.stat().st_mode & 0o777 == 0o600


def store(tenant: Tenant, **values: Any) -> Task:
    task = Task.objects.create(
        tenant=tenant, name="demo.echo", queue="default", created_at=timezone.now(), **values
    )
    return Task.objects.get(pk=task.pk)


def test_rows_come_back_as_they_were_stored(tenant_a: Tenant) -> None:
    instant = datetime.datetime(2027, 3, 28, 1, 0, 0, 123456, tzinfo=datetime.UTC)
    key = uuid.UUID("0195e1a0-0000-7000-8000-000000000001")
    payload = {"text": "ä\u2028 %s ?", "list": [1, 2.5, None, True], "nested": {"": {}}}
    task = store(
        tenant_a,
        id=key,
        deadline=instant,
        kwargs=payload,
        args=[],
        timeout_seconds=0.1,
        result=None,
    )
    assert (task.pk, task.deadline, task.kwargs, task.args) == (key, instant, payload, [])
    assert (task.timeout_seconds, task.result) == (0.1, None)


def test_booleans_and_durations_come_back_as_they_were_stored(tenant_a: Tenant) -> None:
    tenant_a.retention = datetime.timedelta(days=3, microseconds=7)
    tenant_a.save()
    assert Tenant.objects.get().retention == datetime.timedelta(days=3, microseconds=7)
    User.objects.create(username="on", is_active=True)
    User.objects.create(username="off", is_active=False)
    assert dict(User.objects.values_list("username", "is_active")) == {"on": True, "off": False}


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (Decimal("1234.5600"), models.DecimalField(max_digits=12, decimal_places=4)),
        (datetime.date(2096, 2, 29), models.DateField()),
        (datetime.time(23, 59, 59, 999999), models.TimeField()),
        (datetime.datetime(2027, 1, 1, 0, 0, tzinfo=datetime.UTC), models.DateTimeField()),
        (True, models.BooleanField()),
        (b"\x00\xff", models.BinaryField()),
        (uuid.UUID(int=7), models.UUIDField()),
        (2**63 - 1, models.BigIntegerField()),
        (float("inf"), models.FloatField()),
    ],
)
def test_values_go_to_the_database_and_back(
    value: object, field: "models.Field[Any, Any]", tenant_a: Tenant
) -> None:
    assert Tenant.objects.values_list(Value(value, output_field=field), flat=True).get() == value


def test_json_can_be_asked_for_what_is_inside(tenant_a: Tenant) -> None:
    task = store(tenant_a, kwargs={"order": {"id": 7}})
    assert Task.objects.get(kwargs__order__id=7) == task
    token, _ = ApiToken.objects.issue(tenant=tenant_a, scopes=["read"])
    assert ApiToken.objects.get(scopes=["read"]) == token


def test_dates_can_be_taken_apart(tenant_a: Tenant) -> None:
    """These are functions of the engine's own, registered on each connection."""
    day = tenant_a.created_at.date()
    assert Tenant.objects.filter(created_at__date=day).exists()
    assert list(Tenant.objects.dates("created_at", "day")) == [day]


def test_more_rows_than_a_statement_has_parameters_are_stored_and_found(tenant_a: Tenant) -> None:
    ids = [uuid.UUID(int=n) for n in range(5000)]
    Task.objects.bulk_create(
        Task(pk=pk, tenant=tenant_a, name="x", queue="q", created_at=timezone.now()) for pk in ids
    )
    assert Task.objects.filter(pk__in=ids).count() == 5000
    assert len(Task.objects.in_bulk(ids)) == 5000


def test_percent_signs_and_question_marks_are_taken_literally(tenant_a: Tenant) -> None:
    Tenant.objects.update(name="100 % sure?")
    assert Tenant.objects.filter(name__contains="% sure?").exists()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 'a%b?'")
        assert cursor.fetchone() == ("a%b?",)
        cursor.execute("SELECT 'a%%b?', %s", [1])
        assert cursor.fetchone()[0] in ("a%b?",)
        cursor.execute("SELECT %(word)s", {"word": "named"})
        assert cursor.fetchone() == ("named",)


def test_a_broken_constraint_is_an_integrity_error_and_spoils_its_savepoint_only(
    tenant_a: Tenant,
) -> None:
    with transaction.atomic():
        with pytest.raises(IntegrityError), transaction.atomic():
            Tenant.objects.create(slug=tenant_a.slug)
        with pytest.raises(IntegrityError), transaction.atomic():
            Tenant.objects.create(slug="light", weight=0)
        Tenant.objects.create(slug="tenant-c")
    assert set(Tenant.objects.values_list("slug", flat=True)) == {"tenant-a", "tenant-c"}


def test_a_row_that_others_point_to_cannot_be_deleted_behind_django(tenant_a: Tenant) -> None:
    store(tenant_a)
    with pytest.raises(IntegrityError), connection.cursor() as cursor:
        cursor.execute("DELETE FROM tenants_tenant WHERE id = %s", [tenant_a.pk])


def test_the_query_log_shows_what_was_executed(
    tenant_a: Tenant, settings: Any, django_assert_num_queries: Any
) -> None:
    settings.DEBUG = True
    with django_assert_num_queries(1) as log:
        list(Tenant.objects.filter(slug="tenant-a", weight__gt=0))
    assert "'tenant-a'" in log.captured_queries[0]["sql"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT %(word)s, '100%%'", {"word": "named"})
    assert "'named'" in connection.queries[-1]["sql"]
