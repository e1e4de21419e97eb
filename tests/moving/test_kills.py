"""`moveledger` is killed at its statements, there and back: it goes on, and nothing is lost or done twice."""

import signal
from collections.abc import Iterator

import pytest

from scheduling.ledger.moving import seal
from scheduling.ledger.moving.tables import LEFT_OUT
from tenants.models import Tenant
from tests.moving.both_sides import Sides, Templates, accepts_work, ledger_at, moved, python
from tests.moving.furnishing import contents, furnish

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(180),  # many programs are started, one after the other
]


def killed_again_and_again(sides: Sides, *options: str) -> Iterator[None]:
    """Say it in programs that die, each a little later, on what the one before left; until one gets to the end."""
    words = ("--to", sides.target, *options)
    with python("-m", "tests.moving.killer", *words, source=sides.source) as killer:
        assert killer.stdin
        assert killer.stdout
        for statements in range(5, 5000, 37):
            killer.stdin.write(f"{statements}\n")
            killer.stdin.flush()
            if (ended := int(killer.stdout.readline())) == 0:
                break
            assert ended == -signal.SIGKILL
            yield
        killer.stdin.close()
    assert ended == 0


def test_killed_at_any_statement_it_goes_on_and_nothing_is_lost(templates: Templates) -> None:
    sides = templates.sides()
    with ledger_at(sides.source):
        furnish()
        before = contents()
    met_a_part = False
    for _ in killed_again_and_again(sides):
        with ledger_at(sides.target):
            is_a_part = Tenant.objects.exists()
        if is_a_part:
            assert not accepts_work(sides.source)
            met_a_part = met_a_part or not accepts_work(sides.target)
    assert met_a_part
    with ledger_at(sides.target):
        after = contents()
    for label, rows in before.items():
        assert after[label] == ([] if label.lower() in LEFT_OUT else rows), label
    assert accepts_work(sides.target)


def test_killed_on_the_way_back_it_goes_on_and_one_side_at_most_takes_work(
    sides: Sides, acme: Tenant
) -> None:
    moved(sides)
    kills = 0
    for _ in killed_again_and_again(sides, "--undo"):
        kills += 1
        with ledger_at(sides.source):
            is_sealed = seal.sealed() is not None
        with ledger_at(sides.target):
            assert is_sealed or seal.sealed() is not None or not Tenant.objects.exists()
    assert kills > 3
    assert accepts_work(sides.source)
    with ledger_at(sides.target):
        assert not Tenant.objects.exists()
