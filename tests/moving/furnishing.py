"""A ledger with something in every table, made by its verbs, and with values that are hard to keep."""

from datetime import timedelta
from typing import Any

from django.apps import apps
from django.contrib.admin.models import ADDITION, LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import models

from scheduling import audit, ledger, sweeps
from scheduling.ledger.values import Succeed
from scheduling.models import Hour, Sweep, Task, Total
from tenants.models import ApiToken, SignInTries, Tenant
from tests.ledger.kit import START, at, failing, put, say, take
from tests.ledger.recurring.kit import recurring

HARD = {
    "numbers": [0.1, 1e16, 1e22, 5e-324, -1.7976931348623157e308, -0.0, 1.0, 2**63, -(2**63)],
    "text": "ÄΩ漢🎉 \t\n\x01\x7f\\ \\u0000 ' \" $$ \\.",
    "nothing": [None, {}, [], "", False],
    "z": 1,
    "a": {"b": {"c": [[[]]]}},
}


def furnish() -> Tenant:
    """Everything is paused at the end, and nothing in flight."""
    tenant = Tenant.objects.create(
        slug="acme",
        name="Äcme's",
        max_queued=None,
        rate_per_second=0.1 + 0.2,
        retention=timedelta(days=400, microseconds=1),
    )
    furnish_tasks(tenant)
    furnish_people(tenant)
    furnish_upkeep(tenant)
    ledger.register(ledger.Registration(queues=("mail",)), now=START)
    ledger.pause(by="operator", reason="We move.", now=START)
    return tenant


def furnish_tasks(tenant: Tenant) -> None:
    (winner, *_) = put(tenant, 3, args=[HARD], kwargs=HARD, label="order 7", now=at(0.000001))
    say(take(now=at(1)), Succeed('{"a":1.0,"b":[1e16,null]}'), now=at(1.5))
    (zombie,) = take(now=at(2))
    say(zombie, failing(retry_in=timedelta(days=1)), now=at(3))
    say(zombie, Succeed(), now=at(4))  # refused
    say(take(now=at(5)), failing(retry_in=None), now=at(6))
    put(tenant, due_at=at(86400.123456), queue="later", idempotency_key="k" * 255)
    put(tenant, 5, priority=-7, deadline=at(1e6))
    Task.objects.filter(pk=winner).update(trace_context=None)
    recurring(tenant, payload=HARD, now=START)
    ledger.fire_due(now=at(61))


def furnish_people(tenant: Tenant) -> None:
    user = User.objects.create_user("ada", "ada@example.org", "a password of hers")
    user.groups.add(Group.objects.create(name="night shift"))
    user.user_permissions.add(Permission.objects.get(codename="cancel_task"))
    about = ContentType.objects.get_for_model(Tenant)
    LogEntry.objects.create(
        user=user,
        content_type=about,
        object_id=str(tenant.pk),
        action_flag=ADDITION,
        change_message="[]",
    )
    Session.objects.create(session_key="s" * 40, session_data="e30", expire_date=at(1))
    SignInTries.objects.create(digest="d" * 64, full_at=at(0.5))
    ApiToken.objects.issue(tenant=tenant, name="front desk")
    ApiToken.objects.issue(tenant=None)[0].delete()  # its number is not given again


def furnish_upkeep(tenant: Tenant) -> None:
    actor = audit.Actor("ada", audit.Via.CONSOLE)
    tasks = list(Task.objects.values_list("pk", flat=True)[:2])
    audit.record(actor, "cancel", "two tasks", tenant=tenant, tasks=tasks, now=START)
    sweeps.begin(Sweep.Operation.REDRIVE, {}, which="all", by=actor, per_second=0.3)
    Total.objects.update_or_create(
        tenant=tenant, defaults={"refused": 2**40, "wait_seconds": 1 / 3}
    )
    Hour.objects.create(of_tenant=Hour.EVERYBODY, hour=START, ran_1s=5)
    ledger.write_paces()


def contents() -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every model, as Django reads them."""
    return {
        model._meta.label: sorted(model._default_manager.values_list(), key=repr)
        for model in every_model()
    }


def every_model() -> list[type[models.Model]]:
    found = apps.get_models(include_auto_created=True)
    return [model for model in found if not model._meta.proxy]
