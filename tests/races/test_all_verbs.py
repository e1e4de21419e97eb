"""Every verb at random, from many threads, on few tenants and lanes: no deadlock, and nothing out of place."""

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar
from uuid import UUID, uuid4

import pytest
from django.db import transaction

from scheduling import clock, ledger
from scheduling.errors import IdempotencyMismatch, LimitExceeded
from scheduling.ledger import (
    Claim,
    Fail,
    Failure,
    NewTask,
    Release,
    Settlement,
    Snooze,
    Stop,
    Succeed,
    Verdict,
)
from scheduling.models import Task
from tenants.models import Tenant
from tests.races.kit import at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

T = TypeVar("T")
THREADS, STEPS = 8, 150
QUEUES, NAMES = ("one", "two"), ("demo.echo", "demo.sleep")
UNLUCKY = Failure("ValueError", "no luck")
NO_DELAY, SOON = timedelta(0), timedelta(milliseconds=5)
VERDICTS: Sequence[Verdict] = (
    Succeed(),
    Fail(UNLUCKY, NO_DELAY),
    Fail(UNLUCKY, SOON),
    Fail(UNLUCKY, None),
    Snooze(SOON),
    Release(),
    Stop(),
)


class Somebody:
    """Does one thing after another, each drawn at random, and keeps what it claimed in hand for a while."""

    def __init__(self, seed: int, tenants: Sequence[Tenant]) -> None:
        self.dice = random.Random(seed)
        self.tenants = tenants
        self.worker = uuid4()
        self.hand: list[Claim] = []

    def run(self) -> None:
        likely: list[Callable[[], object]] = [self.enqueue, self.claim, self.settle] * 3
        others = [
            self.renew,
            self.reap,
            self.promote,
            self.cancel,
            self.reschedule,
            self.redrive,
            self.redrive_what_fits,
            self.discard,
            self.pause,
            self.resume,
        ]
        for _ in range(STEPS):
            self.dice.choice([*likely, *others])()

    def enqueue(self) -> None:
        tasks = [self.new_task() for _ in range(self.dice.randint(1, 6))]
        try:
            ledger.enqueue(tasks)
        except (LimitExceeded, IdempotencyMismatch):
            return

    def new_task(self) -> NewTask:
        key = str(self.dice.randint(1, 200)) if self.dice.random() < 0.3 else None
        return NewTask(
            tenant_id=self.dice.choice(self.tenants).pk,
            name=self.dice.choice(NAMES),
            queue=self.dice.choice(QUEUES),
            priority=self.dice.randint(-1, 1),
            max_attempts=2,
            idempotency_key=key,
            fingerprint=key and self.dice.choice("ab"),
        )

    def claim(self) -> None:
        queues = self.dice.choice([None, QUEUES[:1], QUEUES])
        found = ledger.claim(self.worker, limit=self.dice.randint(1, 8), queues=queues)
        self.hand += found.claims

    def settle(self) -> None:
        batch = self.take_from_hand()
        ledger.settle([Settlement(claim, self.dice.choice(VERDICTS)) for claim in batch])

    def take_from_hand(self) -> list[Claim]:
        self.dice.shuffle(self.hand)
        cut = self.dice.randint(0, len(self.hand))
        batch, self.hand = self.hand[:cut], self.hand[cut:]
        return batch

    def renew(self) -> None:
        self.dice.shuffle(self.hand)
        ledger.renew(self.hand)

    def reap(self) -> None:
        held = self.draw(ledger.held_leases())
        ledger.reap(held, uncharged=[lease.task_id for lease in held if self.dice.random() < 0.5])

    def promote(self) -> None:
        ledger.promote(limit=self.dice.randint(1, 20))

    def cancel(self) -> None:
        with self.transaction():
            ledger.cancel(self.some_tasks())

    def reschedule(self) -> None:
        due_at = self.dice.choice([None, clock.now(), clock.now() + SOON])
        with self.transaction():
            ledger.reschedule(self.some_tasks(), due_at=due_at, priority=self.dice.randint(-1, 1))

    def redrive(self) -> None:
        try:
            ledger.redrive(self.some_tasks(dead_reason__isnull=False))
        except LimitExceeded:
            return

    def redrive_what_fits(self) -> None:
        tasks = list(Task.objects.filter(pk__in=self.some_tasks(dead_reason__isnull=False)))
        self.dice.shuffle(tasks)
        with self.transaction():
            ledger.redrive_what_fits(tasks, {})

    def discard(self) -> None:
        with self.transaction():
            ledger.discard(self.some_tasks(dead_reason__isnull=False)[:2])

    def transaction(self) -> AbstractContextManager[object]:
        """Of the verb's own, or the one in which a request puts on record what it does."""
        return self.dice.choice([nullcontext(), transaction.atomic()])

    def pause(self) -> None:
        duration = self.dice.choice([SOON, None])
        ledger.pause(**self.scope(), by="operator", duration=duration)

    def resume(self) -> None:
        for _ in range(3):
            ledger.resume(**self.scope(), by="operator")

    def scope(self) -> dict[str, Any]:
        return {
            "tenant": self.dice.choice([*self.tenants, None]),
            "queue": self.dice.choice(["", QUEUES[0]]),
            "name": self.dice.choice(["", NAMES[0]]),
        }

    def some_tasks(self, **only: Any) -> list[UUID]:
        return self.draw(list(Task.objects.filter(**only).values_list("pk", flat=True)[:40]))

    def draw(self, things: Sequence[T]) -> list[T]:
        return self.dice.sample(things, min(len(things), self.dice.randint(0, 8)))


def test_any_mixture_of_verbs_leaves_the_ledger_in_order() -> None:
    tenants = [
        Tenant.objects.create(slug="capped", max_in_flight=3, max_queued=60),
        Tenant.objects.create(slug="rated", rate_per_second=200, rate_burst=20),
        Tenant.objects.create(slug="free"),
    ]
    crowd = [Somebody(seed, tenants) for seed in range(THREADS)]
    at_once(*[partial(one.run) for one in crowd])
