"""Views check what somebody may do, whatever their pages offered: each address is asked outright."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission, User
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import URLPattern, URLResolver

from scheduling import clock, ledger, sweeps
from scheduling.admin.site import console
from scheduling.audit import Actor, Via
from scheduling.models import Lane, OperatorAction, Pause, Sweep
from tenants.models import ApiToken, Tenant
from tests.admin.kit import RECURRING, TASKS, bury, put, worker
from tests.console.roles import PERMISSIONS
from tests.ledger.recurring.kit import recurring

pytestmark = pytest.mark.ledger

TENANTS, TOKENS, LETTERS = (
    "/admin/tenants/tenant/",
    "/admin/tenants/apitoken/",
    "scheduling/deadletter/",
)
OWN = ("login/", "logout/", "password_change/")
"""What everybody may do, to themselves."""
HARMLESS = (f"{LETTERS}export", "scheduling/recurringtask/preview/")
"""They read. That something was taken home is on record."""

Keys = dict[str, Any]


@pytest.fixture
def keys(tenant_a: Tenant) -> Keys:
    """Of one of each thing that something can be done to, by the parts of addresses that name them."""
    (dead,) = bury(tenant_a)
    (waiting,) = put(tenant_a)
    ledger.pause(queue="mail", reason="their outage", by="ana")
    token, _ = ApiToken.objects.issue(tenant=tenant_a, name="production")
    ana = Actor("ana", Via.CONSOLE)
    sweep = sweeps.begin(Sweep.Operation.DISCARD, {}, which="all dead letters", by=ana)
    return {
        "deadletter": dead,
        "task": waiting,
        "lane": Lane.objects.values_list("pk", flat=True)[0],
        "pause": Pause.objects.get().pk,
        "tenant": tenant_a.pk,
        "apitoken": token.pk,
        "recurringtask": recurring(tenant_a, now=clock.now()).pk,
        "workerprocess": worker().pk,
        "operatoraction": OperatorAction.objects.values_list("pk", flat=True)[0],
        "user": User.objects.create_user("bo", is_staff=True).pk,
        "group": Group.objects.create(name="friends").pk,
        "sweep_id": sweep.pk,
        "kind": "csv",
    }


def addresses(keys: Keys) -> Iterator[str]:
    """Every address of the console, about one of those things."""
    for route, parts in _routes(console.urls[0]):
        model = route.split("/")[1] if "/" in route else ""
        if any(part not in keys and model not in keys for part in parts):
            continue
        for part in parts:
            route = _filled(route, part, str(keys.get(part, keys.get(model))))
        yield f"/admin/{route}"


def _routes(patterns: list[Any], prefix: str = "") -> Iterator[tuple[str, list[str]]]:
    for one in patterns:
        match one:
            case URLResolver():
                yield from _routes(one.url_patterns, f"{prefix}{one.pattern}")
            case URLPattern() if "^" not in str(one.pattern):
                yield f"{prefix}{one.pattern}", list(one.pattern.converters)


def _filled(route: str, part: str, value: str) -> str:
    before, _, rest = route.partition("<")
    named, _, after = rest.partition(">")
    assert named.endswith(part)
    return f"{before}{value}{after}"


def body(keys: Keys) -> dict[str, Any]:
    """Whatever any of them may want to hear, so that nothing is left alone for the lack of it."""
    typed = {
        "name": "other",
        "slug": "other",
        "username": "eve",
        "password1": "s3cret-pass",
        "weight": 5,
    }
    rule = {"tenant": "tenant-a", "task_name": "demo.echo", "cron": "0 3 * * *", "version": 1}
    return {
        "confirmed": "1",
        "action": "revoke",
        "_selected_action": str(keys["apitoken"]),
        "post": "yes",
        "reason": "because",
        "task": [str(keys["task"]), str(keys["deadletter"])],
        "due_at": "2100-01-01T00:00",
        "priority": 9,
        "max_in_flight": 1,
        "scopes": "read",
        **typed,
        **rule,
    }


def stored() -> dict[str, list[dict[str, Any]]]:
    """Everything there is, but who is signed in."""
    models = [model for model in apps.get_models() if model is not Session]
    return {
        str(model._meta.label): list(model._default_manager.order_by("pk").values())
        for model in models
    }


def somebody(*permissions: str) -> Client:
    user = User.objects.create_user("vera", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize("role", ["newcomer", "viewer"])
def test_who_may_only_look_changes_nothing_at_any_address(role: str, keys: Keys) -> None:
    hand = somebody(*PERMISSIONS[role])
    before, asked = stored(), 0
    for address in addresses(keys):
        if address.removeprefix("/admin/").startswith((*OWN, *HARMLESS)):
            continue
        answer = hand.post(address, body(keys))
        assert answer.status_code in {200, 204, 302, 403, 404, 405}, address
        assert stored() == before, f"{address} answered {answer.status_code}"
        asked += 1
    assert asked > 60


ACTIONS = {
    "cancel_task": [f"{TASKS}cancel/"],
    "reschedule_task": [f"{TASKS}run-now/", f"{TASKS}{{task}}/reschedule/"],
    "redrive_task": [f"{TASKS}redrive/", f"/admin/{LETTERS}redrive-all/"],
    "discard_task": [
        f"{TASKS}discard/",
        f"/admin/{LETTERS}discard-all/",
        f"/admin/{LETTERS}sweeps/{{sweep_id}}/cancel/",
    ],
    "change_pause": ["/admin/scheduling/pause/add/", "/admin/scheduling/pause/{pause}/resume/"],
    "add_recurringtask": [f"{RECURRING}add/"],
    "change_recurringtask": [f"{RECURRING}{{recurringtask}}/edit/"],
    "pause_recurringtask": [
        f"{RECURRING}{{recurringtask}}/pause/",
        f"{RECURRING}{{recurringtask}}/resume/",
    ],
    "run_recurringtask": [f"{RECURRING}{{recurringtask}}/run/"],
    "backfill_recurringtask": [f"{RECURRING}{{recurringtask}}/backfill/"],
    "delete_recurringtask": [f"{RECURRING}{{recurringtask}}/delete/"],
    "change_tenant": [f"{TENANTS}{{tenant}}/change/"],
    "add_tenant": [f"{TENANTS}add/"],
    "add_apitoken": [f"{TOKENS}add/"],
    "change_user": ["/admin/auth/user/{user}/change/", "/admin/auth/user/{user}/password/"],
}


@pytest.mark.parametrize("permission", ACTIONS)
def test_each_action_wants_its_own_permission(permission: str, keys: Keys) -> None:
    """Of somebody who has every other one."""
    others = Permission.objects.exclude(codename=permission).values_list("codename", flat=True)
    hand = somebody(*others)
    before = stored()
    for address in ACTIONS[permission]:
        assert hand.post(address.format(**keys), body(keys)).status_code == 403, address
    assert stored() == before


@pytest.mark.parametrize("permission", ACTIONS)
def test_each_action_wants_no_other_permission(permission: str, keys: Keys) -> None:
    hand = somebody(permission)
    for address in ACTIONS[permission]:
        assert hand.post(address.format(**keys), body(keys)).status_code in {200, 302}, address
