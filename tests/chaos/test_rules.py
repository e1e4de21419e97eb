"""The checker itself: a record of a run in which all is well, and for each rule one that breaks it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from tests.chaos import rules
from tests.chaos.records import (
    Answer,
    Effect,
    Entry,
    Event,
    Fault,
    Paused,
    Records,
    Sample,
    TaskRow,
    TenantRow,
    Token,
    What,
)

TENANT, CAP = 1, 1
PID, OTHER = 100, 200
LEASE = 2.0


@dataclass
class Story:
    """A run in the making: every change of the ledger is a transaction, seen by a look right before and after."""

    log: list[Entry] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    now: float = 0.0

    def commit(self, *changes: Entry) -> None:
        """All in one transaction, a second after the last thing that happened."""
        self._look()
        group = len(self.log) + 1
        for change in changes:
            self.log.append(replace(change, seq=len(self.log) + 1, group=group))
        self._look()

    def _look(self) -> None:
        self.now += 0.5
        self.samples.append(Sample(self.now, self.now, len(self.log)))

    def claim(self, task: str, generation: int = 1) -> None:
        self.commit(
            entry(What.STATE, task, generation, "queued running"),
            entry(What.CLAIMED, task, generation),
        )

    def settle(self, task: str, generation: int, outcome: str, state: str) -> None:
        self.commit(
            entry(What.ENDED, task, generation),
            entry(What.SETTLED, task, generation, outcome),
            entry(What.STATE, task, generation, f"running {state}"),
        )

    def effect(self, event: Event, task: str, generation: int = 1, pid: int = PID) -> None:
        self.now += 0.5
        self.effects.append(
            Effect(task, generation, 1, "acme", event, at=self.now, wall=0.0, pid=pid)
        )

    def run(self, task: str, generation: int = 1) -> None:
        """From its claim to its success."""
        self.claim(task, generation)
        self.effect(Event.START, task, generation)
        self.effect(Event.END, task, generation)
        self.settle(task, generation, "succeeded", "succeeded")

    def lose(self, task: str, generation: int = 1) -> None:
        """From its claim to the end of its lease."""
        self.claim(task, generation)
        self.effect(Event.START, task, generation)
        self.settle(task, generation, "lost", "queued")

    def records(self, *, answers: Sequence[Answer] = (), **tasks: TaskRow) -> Records:
        return Records(
            lease=LEASE,
            answers=answers,
            effects=self.effects,
            log=self.log,
            samples=self.samples,
            tenants={TENANT: TenantRow("acme", CAP)},
            tasks=tasks,
            attempts={entry.token: entry.said for entry in self.log if entry.what is What.SETTLED},
        )


def entry(what: What, task: str = "", generation: int = 0, said: str = "") -> Entry:
    return Entry(0, 0, what, task, generation, TENANT, said)


def row(state: str = "succeeded", generation: int = 1) -> TaskRow:
    return TaskRow(TENANT, "work", "default", state, generation, attempts=1, max_attempts=2)


def accepted(task: str, key: str = "") -> Answer:
    return Answer("enqueue", 201, sent_at=0.0, task=task, key=key, said="queued")


def broken(records: Records) -> set[str]:
    """The names of the rules that are violated."""
    return {violation.partition(":")[0] for violation in rules.violations(records)}


@pytest.fixture
def story() -> Story:
    return Story()


def test_nothing_is_wrong_with_a_task_that_was_lost_to_a_kill_and_ran_again(story: Story) -> None:
    story.lose("a")
    story.run("a", 2)
    story.run("b")
    records = story.records(
        answers=[accepted("a"), accepted("b", "k"), accepted("b", "k")],
        a=row(generation=2),
        b=row(),
    )
    records.faults = [Fault("kill", 1.0, 1.0, frozenset({PID}), killed=True)]

    assert rules.violations(records) == []


def test_accepted_task_that_is_missing_is_told(story: Story) -> None:
    assert broken(story.records(answers=[accepted("a")])) == {"accepted_tasks_are_there"}


def test_accepted_task_that_the_load_discarded_is_not_missing(story: Story) -> None:
    discarding = Answer("discard", 200, 0.0, task="a")
    records = story.records(answers=[accepted("a"), discarding])

    assert broken(records) == set()


def test_task_that_is_not_over_is_told(story: Story) -> None:
    assert broken(story.records(a=row("queued", generation=0))) == {"every_task_is_over"}


def test_key_that_stands_for_two_tasks_is_told(story: Story) -> None:
    story.run("a")
    story.run("b")
    answers = [accepted("a", "key"), accepted("b", "key")]

    assert broken(story.records(answers=answers, a=row(), b=row())) == {"a_key_stands_for_one_task"}


@pytest.mark.parametrize(("status", "said"), [(500, "internal-error"), (400, ""), (503, "full ")])
def test_answer_that_is_not_honest_is_told(story: Story, status: int, said: str) -> None:
    records = story.records(answers=[Answer("cancel", status, 0.0, said=said)])

    assert broken(records) == {"answers_are_honest"}


def test_handler_without_a_claim_is_told(story: Story) -> None:
    story.effect(Event.START, "a")

    assert broken(story.records(a=row("cancelled", 0))) == {"handlers_run_under_a_claim"}


def test_handler_that_started_before_its_claim_was_committed_is_told(story: Story) -> None:
    story.effect(Event.START, "a")
    story.run("a")
    del story.effects[1]

    assert broken(story.records(a=row())) == {"handlers_run_under_a_claim"}


def test_claim_that_was_started_twice_is_told(story: Story) -> None:
    story.run("a")
    story.effect(Event.START, "a", pid=OTHER)

    assert broken(story.records(a=row())) == {"a_claim_starts_once"}


def test_success_of_a_handler_that_did_not_end_is_told(story: Story) -> None:
    story.run("a")
    story.effects.pop()

    assert broken(story.records(a=row())) == {"a_success_is_a_handlers"}


def test_second_success_is_told(story: Story) -> None:
    story.run("a")
    story.run("a", 2)

    assert broken(story.records(a=row(generation=2))) >= {
        "a_success_is_a_handlers",
        "lives_are_told_in_order",
    }


def billed(generation: int = 1) -> TaskRow:
    return replace(row(generation=generation), name=rules.BILLED)


def test_bill_that_came_with_a_success_is_right(story: Story) -> None:
    story.run("a")
    records = story.records(a=billed())
    records.bills = [Token("a", 1)]

    assert broken(records) == set()


@pytest.mark.parametrize("bills", [[], [1], [2, 2], [1, 2]])
def test_bill_that_is_missing_twice_there_or_of_a_lost_generation_is_told(
    story: Story, bills: list[int]
) -> None:
    story.claim("a")
    story.settle("a", 1, "released", "queued")
    story.run("a", 2)
    records = story.records(a=billed(generation=2))
    records.bills = [Token("a", generation) for generation in bills]

    assert broken(records) == {"bills_are_those_of_successes"}


def test_attempt_past_the_allowance_is_told(story: Story) -> None:
    for generation in (1, 2):
        story.claim("a", generation)
        story.settle("a", generation, "failed", "queued")
    story.run("a", 3)

    assert broken(story.records(a=row(generation=3))) == {"allowances_are_kept"}


def test_redrive_gives_a_fresh_allowance(story: Story) -> None:
    story.claim("a")
    story.settle("a", 1, "failed", "queued")
    story.claim("a", 2)
    story.settle("a", 2, "failed", "dead")
    story.commit(entry(What.STATE, "a", 2, "dead queued"))
    story.run("a", 3)

    assert broken(story.records(a=row(generation=3))) == set()


@pytest.mark.parametrize("state", ["cancelled", "running"])
def test_task_that_was_cancelled_and_died_is_told(story: Story, state: str) -> None:
    records = story.records(
        answers=[Answer("cancel", 200, 0.0, task="a", said=state)], a=row("dead", 0)
    )

    assert broken(records) == {"cancelled_means_cancelled"}


def paused(story: Story, records: Records, *, until: float) -> Records:
    records.pauses = [Paused("p-1", received_at=1.0, resumed_at=until, queue="default")]
    return records


PAUSE = Entry(0, 0, What.PAUSED, tenant_id=None, said="default\n\np-1")
LIFT = replace(PAUSE, what=What.LIFTED)


def test_claim_under_a_pause_is_told(story: Story) -> None:
    story.commit(PAUSE)
    story.run("a")
    records = paused(story, story.records(a=row()), until=9.0)

    assert broken(records) == {
        "nothing_starts_while_it_is_paused",
        "nothing_is_claimed_while_it_is_paused",
    }


def test_pause_that_the_ledger_does_not_know_is_told(story: Story) -> None:
    story.run("a")

    assert broken(paused(story, story.records(a=row()), until=9.0)) == {
        "nothing_starts_while_it_is_paused"
    }


def test_what_was_claimed_before_the_pause_may_start_under_it(story: Story) -> None:
    story.claim("a")
    story.commit(PAUSE)
    story.effect(Event.START, "a")
    story.effect(Event.END, "a")
    story.settle("a", 1, "succeeded", "succeeded")
    story.commit(LIFT)
    story.run("b")

    records = paused(story, story.records(a=row(), b=row()), until=5.0)

    assert broken(records) == set()


def test_lease_that_was_taken_from_a_process_that_was_well_is_told(story: Story) -> None:
    story.lose("a")
    story.run("a", 2)
    records = story.records(a=row(generation=2))
    records.faults = [
        Fault("kill", 1.0, 1.0, frozenset({OTHER}), killed=True),
        Fault("step a wall clock", 1.0, 1.0),
    ]

    assert broken(records) == {"no_lease_is_taken_from_the_living"}


def test_fault_that_strikes_everybody_excuses_a_lost_lease(story: Story) -> None:
    story.lose("a")
    story.run("a", 2)
    records = story.records(a=row(generation=2))
    records.faults = [Fault("restart the database", 1.0, 1.0, is_general=True)]

    assert broken(records) == set()


def test_tenant_over_its_cap_is_told(story: Story) -> None:
    story.claim("a")
    story.run("b")
    story.effect(Event.START, "a")
    story.effect(Event.END, "a")
    story.settle("a", 1, "succeeded", "succeeded")

    assert broken(story.records(a=row(), b=row())) == {"caps_are_kept"}


def test_cap_is_asked_of_whole_transactions(story: Story) -> None:
    story.claim("a")
    story.effect(Event.START, "a")
    story.effect(Event.END, "a")
    story.commit(
        entry(What.CLAIMED, "b", 1),
        entry(What.STATE, "b", 1, "queued running"),
        entry(What.ENDED, "a", 1),
        entry(What.SETTLED, "a", 1, "succeeded"),
        entry(What.STATE, "a", 1, "running succeeded"),
    )
    story.effect(Event.START, "b")
    story.effect(Event.END, "b")
    story.settle("b", 1, "succeeded", "succeeded")

    assert broken(story.records(a=row(), b=row())) == set()


def test_settlement_by_an_old_generation_is_told(story: Story) -> None:
    story.claim("a")
    story.effect(Event.START, "a")
    story.settle("a", 1, "released", "queued")
    story.claim("a", 2)
    story.effect(Event.START, "a", 2)
    story.effect(Event.END, "a")
    story.commit(
        entry(What.ENDED, "a", 2),
        entry(What.SETTLED, "a", 1, "succeeded"),
        entry(What.STATE, "a", 2, "running succeeded"),
    )

    assert "lives_are_told_in_order" in broken(story.records(a=row(generation=2)))


WRONG_LIVES = {
    "claimed while in flight": [entry(What.CLAIMED, "a", 1), entry(What.CLAIMED, "a", 2)],
    "generation again": [
        entry(What.CLAIMED, "a", 1),
        entry(What.ENDED, "a", 1),
        entry(What.SETTLED, "a", 1, "lost"),
        entry(What.CLAIMED, "a", 1),
    ],
    "no attempt": [entry(What.CLAIMED, "a", 1), entry(What.ENDED, "a", 1)],
    "attempt in flight": [entry(What.CLAIMED, "a", 1), entry(What.SETTLED, "a", 1, "failed")],
    "attempt of nothing": [entry(What.SETTLED, "a", 3, "failed")],
    "back from the end": [entry(What.STATE, "a", 1, "succeeded queued")],
    "leased to the end": [entry(What.CLAIMED, "a", 1)],
    "claimed when over": [
        entry(What.STATE, "a", 0, "queued cancelled"),
        entry(What.CLAIMED, "a", 1),
    ],
}


@pytest.mark.parametrize("changes", WRONG_LIVES.values(), ids=WRONG_LIVES)
def test_life_out_of_order_is_told(story: Story, changes: list[Entry]) -> None:
    for change in changes:
        story.commit(change)

    assert "lives_are_told_in_order" in broken(story.records(a=row()))


def test_attempt_that_is_another_than_was_settled_is_told(story: Story) -> None:
    story.run("a")
    records = story.records(a=row())
    records.attempts = {Token("a", 1): "failed"}

    assert "attempts_are_what_was_settled" in broken(records)
