"""What clients do, and what operators let them do: enqueue, also under keys used before, and change of limits."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from scheduling import ledger
from scheduling.errors import IdempotencyMismatch, LimitExceeded
from scheduling.ledger.values import NewTask
from scheduling.states import TaskState
from tests.ledger.story.stage import NAMES, QUEUES, TENANTS, Stage, delays

tenants = st.sampled_from(TENANTS)
specs = st.fixed_dictionaries(
    {
        "tenant": tenants,
        "queue": st.sampled_from(QUEUES),
        "name": st.sampled_from(NAMES),
        "priority": st.integers(-1, 1),
        "max_attempts": st.integers(1, 3),
        "delay": delays,
        "patience": st.sampled_from(
            [None, None, timedelta(seconds=3), timedelta(seconds=6), timedelta(seconds=25)]
        ),
        "key": st.sampled_from([None, None, None, "k", "l"]),
        "fingerprint": st.sampled_from(["f", "f", "f", "g"]),
    }
)


class Accepting(Stage):
    @initialize(batch=st.lists(specs, min_size=6, max_size=8))
    def begin(self, batch: list[dict[str, Any]]) -> None:
        self._enqueue(batch)

    @rule(batch=st.lists(specs, min_size=1, max_size=3))
    def enqueue(self, batch: list[dict[str, Any]]) -> None:
        self._enqueue(batch)

    def _enqueue(self, batch: list[dict[str, Any]]) -> None:
        tasks = [self._new(**spec) for spec in batch]
        originals = self._originals(tasks)
        new = [task for task, original in zip(tasks, originals, strict=True) if task is original]
        counts = Counter(self.slugs[task.tenant_id] for task in new)
        if any(
            task.fingerprint != original.fingerprint
            for task, original in zip(tasks, originals, strict=True)
        ):
            with pytest.raises(IdempotencyMismatch):
                ledger.enqueue(tasks, now=self.model.now)
        elif limit := self.model.refusal(counts):
            with pytest.raises(LimitExceeded) as refusal:
                ledger.enqueue(tasks, now=self.model.now)
            assert refusal.value.limit == limit
        else:
            self._accept(tasks, originals)
            self.model.charge(counts)

    def _accept(self, tasks: list[NewTask], originals: list[Any]) -> None:
        ids = {}
        answers = ledger.enqueue(tasks, now=self.model.now)
        for answer, task, original in zip(answers, tasks, originals, strict=True):
            if task is original:
                ids[id(task)] = answer.task_id
                self.model.add(answer.task_id, self.slugs[task.tenant_id], task)
                assert (answer.replayed, answer.created_at) == (False, self.model.now)
            else:
                standing = original.id if hasattr(original, "id") else ids[id(original)]
                assert (answer.task_id, answer.replayed) == (standing, True)

    def _originals(self, tasks: list[NewTask]) -> list[Any]:
        """Of each task the one that stands under its key: in the model, earlier in the batch, or itself."""
        first: dict[Any, NewTask] = {}
        return [
            self.model.standing(self.slugs[task.tenant_id], task.idempotency_key)
            or first.setdefault(
                (task.tenant_id, task.idempotency_key) if task.idempotency_key else id(task), task
            )
            for task in tasks
        ]

    def _new(
        self,
        *,
        tenant: str,
        delay: timedelta,
        patience: timedelta | None,
        key: str | None,
        fingerprint: str,
        **options: Any,
    ) -> NewTask:
        return NewTask(
            tenant_id=self.tenants[tenant].pk,
            due_at=self.model.now + delay,
            deadline=self.model.now + patience if patience else None,
            idempotency_key=key,
            fingerprint=fingerprint if key else None,
            **options,
        )

    @rule(
        tenant=tenants,
        weight=st.integers(1, 3),
        max_in_flight=st.sampled_from([None, 1, 2, 3]),
        max_queued=st.sampled_from([None, 4, 8]),
        rate=st.sampled_from([None, 0.125, 0.5]),
        burst=st.sampled_from([1, 4, 8]),
        retention=st.sampled_from([None, 5, 15]),
    )
    def change_limits(
        self,
        *,
        tenant: str,
        weight: int,
        max_in_flight: int | None,
        max_queued: int | None,
        rate: float | None,
        burst: int,
        retention: int | None,
    ) -> None:
        """Never below what runs: that would be over the cap until some of it has ended."""
        running = sum(task.tenant == tenant for task in self.model.in_state(TaskState.RUNNING))
        limits = self.model.limits[tenant]
        limits.max_in_flight = max_in_flight and max(max_in_flight, running)
        limits.max_queued, limits.rate_per_second = max_queued, rate
        limits.rate_burst, limits.retention_seconds = burst, retention
        self.grant(tenant, weight=weight)
