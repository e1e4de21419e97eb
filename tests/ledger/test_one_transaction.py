"""Every verb is one transaction: at whatever statement it fails, nothing of it is left."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import Model

from scheduling import ledger
from scheduling.ledger.dialects import dialect
from scheduling.ledger.progress import Progress
from scheduling.ledger.values import Settlement, Snooze, Succeed, Verdict
from scheduling.models import RecurringTask
from tenants.models import Tenant
from tests.ledger.kit import at, failing, new, pause, put, resume, run_all, say, take
from tests.ledger.recurring.kit import fire, recurring

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

Verb = Callable[[], object]


class Broken(Exception):
    """What no verb expects."""


@contextmanager
def breaking_at(number: int) -> Iterator[None]:
    """Let the statement fail that comes after so many others."""
    sent = 0

    def send(run: Callable[..., Any], *args: Any) -> Any:
        nonlocal sent
        sent += 1
        if sent == number + 1:
            raise Broken
        return run(*args)

    def breaking(run: Callable[..., Any]) -> Callable[..., Any]:
        return lambda db, *args: send(run, db, *args)

    kind = type(dialect())
    with pytest.MonkeyPatch.context() as patch, connection.execute_wrapper(send):
        for name in {"_run", "_run_many"} & set(dir(kind)):
            patch.setattr(kind, name, breaking(getattr(kind, name)))
        yield


def everything() -> dict[str, list[Any]]:
    """All rows of all tables of ours."""
    ours: list[type[Model]] = [*apps.get_app_config("scheduling").get_models(), Tenant]
    return {
        model.__name__: sorted(model._default_manager.values_list(), key=repr) for model in ours
    }


def enqueues_one(tenant: Tenant) -> Verb:
    put(tenant)
    return lambda: put(tenant)


def enqueues_a_batch(tenant: Tenant) -> Verb:
    batch = [new(tenant, queue=queue, idempotency_key=queue, fingerprint="f") for queue in "abb"]
    return lambda: ledger.enqueue([*batch[:2], new(tenant, due_at=at(60))], now=at(0))


def claims(tenant: Tenant) -> Verb:
    """Of three lanes that it empties, one of which holds a task with a paused name."""
    put(tenant, 2, queue="a")
    put(tenant, queue="b")
    put(tenant, name="paused", queue="c")
    pause(name="paused")
    return lambda: ledger.claim(uuid4(), limit=9, now=at(2))


def renews(tenant: Tenant) -> Verb:
    """One of three is stale, and one has news."""
    put(tenant, 3)
    held = take(3)
    ledger.reap(ledger.held_leases()[:1], now=at(1))
    news = {claim.task_id: Progress(0.5) for claim in held}
    return lambda: ledger.renew(held, progress=news, now=at(2))


def settles(tenant: Tenant) -> Verb:
    """In four ways, of which one is stale."""
    put(tenant, 4)
    held = take(4)
    ledger.reap(ledger.held_leases()[:1], now=at(1))
    verdicts: list[Verdict] = [
        Succeed(),
        failing(),
        failing(retry_in=None),
        Snooze(timedelta(seconds=9)),
    ]
    said = [Settlement(*pair) for pair in zip(held, verdicts, strict=True)]
    return lambda: ledger.settle(said, now=at(2))


def settles_successes(tenant: Tenant) -> Verb:
    put(tenant, 2)
    held = take(2)
    return lambda: say(held, Succeed(), now=at(2))


def settles_remotely(tenant: Tenant) -> Verb:
    put(tenant, 3)
    worker = uuid4()
    held = take(3, worker=worker)
    ledger.reap(ledger.held_leases()[:1], now=at(1))
    said = {(claim.task_id, claim.generation): failing() for claim in held}
    return lambda: ledger.settle_remotely(worker, said, now=at(2))


def settles_beside_other_rows(tenant: Tenant) -> Verb:
    put(tenant)
    (claim,) = take()

    def settle() -> None:
        with ledger.settle_with(claim, Succeed, now=at(2)):
            Tenant.objects.create(slug="made-by-a-handler")

    return settle


def reaps(tenant: Tenant) -> Verb:
    put(tenant, 3, max_attempts=1)
    put(tenant)
    take(4)
    leases = ledger.held_leases()
    return lambda: ledger.reap(leases, uncharged={leases[0].task_id}, now=at(11))


def promotes(tenant: Tenant) -> Verb:
    put(tenant, 2, due_at=at(1))
    put(tenant, due_at=at(1), queue="other")
    return lambda: ledger.promote(now=at(2))


def cancels(tenant: Tenant) -> Verb:
    ids = put(tenant, 3)
    take()
    return lambda: ledger.cancel(ids, now=at(1))


def reschedules(tenant: Tenant) -> Verb:
    ids = put(tenant, 2)
    return lambda: ledger.reschedule(ids, due_at=at(60), priority=1, now=at(1))


def redrives(tenant: Tenant) -> Verb:
    ids = dead(tenant)
    return lambda: ledger.redrive(ids, now=at(1))


def discards(tenant: Tenant) -> Verb:
    ids = dead(tenant)
    return lambda: ledger.discard(ids)


def dead(tenant: Tenant) -> list[Any]:
    ids = put(tenant, 2)
    say(take(2), failing(retry_in=None))
    return ids


def pauses(tenant: Tenant) -> Verb:
    put(tenant)
    return lambda: pause(tenant=tenant, now=1)


def resumes(tenant: Tenant) -> Verb:
    """What claims have set aside meanwhile is put back."""
    put(tenant, 2)
    put(tenant, queue="other")
    pause(name="demo.echo")
    run_all(now=1)
    return lambda: resume(name="demo.echo", now=2)


def prunes(tenant: Tenant) -> Verb:
    put(tenant, 2)
    say(take(2), Succeed())
    return lambda: ledger.prune(tenant, keep=timedelta(0), now=at(60))


def adds_minutes_up(tenant: Tenant) -> Verb:
    put(tenant)
    say(take(), Succeed())
    return lambda: ledger.prune_throughput(before=at(3600))


def keeps_a_new_recurring_task(tenant: Tenant) -> Verb:
    return lambda: recurring(tenant)


def edits_a_recurring_task(tenant: Tenant) -> Verb:
    """Of which two ticks have come meanwhile."""
    row = recurring(tenant)
    return lambda: ledger.edit_recurring(row.pk, {"cron": "0 0 * * *"}, now=at(150))


def pauses_a_recurring_task(tenant: Tenant) -> Verb:
    row = with_a_tick_that_waits(tenant)
    return lambda: ledger.pause_recurring(row.pk, True, now=at(130))


def retires_a_recurring_task(tenant: Tenant) -> Verb:
    row = with_a_tick_that_waits(tenant)
    RecurringTask.objects.update(declared_in_code=True)
    return lambda: ledger.retire_recurring(row.pk, now=at(130))


def with_a_tick_that_waits(tenant: Tenant) -> RecurringTask:
    row = recurring(tenant, overlap="buffer_one")
    fire(at(60))
    fire(at(120))
    return row


def fires(tenant: Tenant) -> Verb:
    for name in ("one", "two"):
        recurring(tenant, name=name)
    return lambda: ledger.fire_due(now=at(61))


def runs_a_recurring_task_now(tenant: Tenant) -> Verb:
    row = recurring(tenant)
    return lambda: ledger.run_now(row.pk, now=at(1))


VERBS = (
    enqueues_one,
    enqueues_a_batch,
    claims,
    renews,
    settles,
    settles_successes,
    settles_remotely,
    settles_beside_other_rows,
    reaps,
    promotes,
    cancels,
    reschedules,
    redrives,
    discards,
    pauses,
    resumes,
    prunes,
    adds_minutes_up,
    keeps_a_new_recurring_task,
    edits_a_recurring_task,
    pauses_a_recurring_task,
    retires_a_recurring_task,
    fires,
    runs_a_recurring_task_now,
)


@pytest.mark.parametrize("prepare", VERBS, ids=lambda verb: verb.__name__)
def test_it_does_all_or_nothing(tenant_a: Tenant, prepare: Callable[[Tenant], Verb]) -> None:
    """All: where it has only read on since it committed."""
    do = prepare(tenant_a)
    before = everything()
    broken: list[dict[str, list[Any]]] = []
    while is_broken_at(len(broken), do):
        broken.append(everything())
    after = everything()
    assert before != after
    assert before in broken
    for sent, left in enumerate(broken):
        assert left in (before, after), f"a part of it is left, after {sent} statements"


def is_broken_at(number: int, do: Verb) -> bool:
    try:
        with breaking_at(number):
            do()
    except Broken:
        return True
    return False
