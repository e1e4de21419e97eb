"""What reapers, operators and tenants do: reap, cancel, reschedule, redrive, discard, prune."""

from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from scheduling import ledger, retry
from scheduling.errors import LimitExceeded
from scheduling.ledger.values import HeldLease, Release
from scheduling.states import TaskState
from tests.ledger.story.stage import TENANTS, Stage
from tests.ledger.story.task import ModelTask


class Upkeep(Stage):
    @rule(data=st.data())
    def sweep(self, data: st.DataObject) -> None:
        """End what has not changed since the sweep before, and read what there is now."""
        if self.read:
            self._reap(data)
        self.read = sorted(ledger.held_leases(), key=lambda lease: lease.task_id)
        assert [lease.task_id for lease in self.read] == sorted(
            task.id for task in self.model.in_state(TaskState.RUNNING)
        )

    def _reap(self, data: st.DataObject) -> None:
        uncharged = data.draw(st.sets(st.sampled_from([lease.task_id for lease in self.read])))
        unchanged = {lease.task_id for lease in self.read if self._is_unchanged(lease)}
        ended = ledger.reap(self.read, uncharged=uncharged, now=self.model.now)
        assert {one.task_id for one in ended} == unchanged
        for one in ended:
            task = self.model.tasks[one.task_id]
            if task.id in uncharged:
                self.model.settle(task, Release())
            else:
                longest = retry.ceiling(task.attempts + 1, base=retry.LOST_BASE)
                assert one.due_at is None or one.due_at - self.model.now <= longest
                self.model.lose(task, one.due_at)

    def _is_unchanged(self, lease: HeldLease) -> bool:
        task = self.model.tasks.get(lease.task_id)
        return task is not None and (task.generation, task.worker, task.expires_at) == (
            lease.generation,
            lease.worker,
            lease.expires_at,
        )

    @precondition(lambda self: self.model.tasks)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        chosen = data.draw(st.lists(st.sampled_from(list(self.model.tasks.values())), max_size=3))
        expected = {task.id: self.model.cancel(task) for task in set(chosen)}
        answers = ledger.cancel([task.id for task in chosen], now=self.model.now)
        assert [(one.task_id, one.state) for one in answers] == [
            (task.id, task.state) for task in chosen
        ]
        assert {one.task_id: one.requested for one in answers} == expected

    @precondition(lambda self: self.model.tasks)
    @rule(
        data=st.data(),
        delay=st.sampled_from([None, -5, 0, 5, 20]),
        priority=st.sampled_from([None, -2, 2]),
    )
    def reschedule(self, data: st.DataObject, delay: int | None, priority: int | None) -> None:
        chosen = data.draw(st.lists(st.sampled_from(list(self.model.tasks.values())), max_size=3))
        due_at = None if delay is None else self.model.now + timedelta(seconds=delay)
        moved = ledger.reschedule(
            [task.id for task in chosen], due_at=due_at, priority=priority, now=self.model.now
        )
        assert moved == {
            task.id for task in set(chosen) if self.model.reschedule(task, due_at, priority)
        }

    @rule(data=st.data())
    def redrive(self, data: st.DataObject) -> None:
        chosen = self._some_dead(data)
        ids = [task.id for task in chosen]
        counts = Counter(task.tenant for task in chosen)
        if self.model.refusal(counts, rated=False):
            with pytest.raises(LimitExceeded, match="max_queued"):
                ledger.redrive(ids, now=self.model.now)
        else:
            assert ledger.redrive(ids, now=self.model.now) == len(ids)
            self.model.redrive(chosen)

    @rule(data=st.data())
    def discard(self, data: st.DataObject) -> None:
        ids = [task.id for task in self._some_dead(data)]
        assert ledger.discard(ids) == len(ids)
        for task_id in ids:
            del self.model.tasks[task_id]

    @rule(tenant=st.sampled_from(TENANTS), seconds=st.sampled_from([0, 0, 5]))
    def prune(self, tenant: str, seconds: int) -> None:
        keep = timedelta(seconds=seconds)
        assert self._pruned_in_chunks(tenant, keep) == self.model.prune(tenant, keep)

    def _pruned_in_chunks(self, tenant: str, keep: timedelta) -> int:
        pruned, after = 0, None
        while True:
            chunk = ledger.prune(
                self.tenants[tenant], keep=keep, after=after, limit=3, now=self.model.now
            )
            pruned, after = pruned + chunk.pruned, chunk.after
            if after is None:
                return pruned

    def _some_dead(self, data: st.DataObject) -> list[ModelTask]:
        dead = list(self.model.in_state(TaskState.DEAD))
        return data.draw(st.lists(st.sampled_from(dead), unique_by=id)) if dead else []
