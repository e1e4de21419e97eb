"""Both sides of a move together, and what is asked of both: whether they have the same tables, and the same in them."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import partial

from django.db import Error

from scheduling.ledger import check
from scheduling.ledger.moving.compare import Compared, compare
from scheduling.ledger.moving.errors import CannotMove, Differs
from scheduling.ledger.moving.source import Sealing, Source
from scheduling.ledger.moving.tables import Table, moving_tables
from scheduling.ledger.moving.target import Copy, Migrations, Target
from scheduling.ledger.moving.values import Unfit


class Phase(Enum):
    """What is done at the moment."""

    LOOKING = "looking through"
    CHECKING = "recounting"
    COPYING = "copying"
    COMPARING = "comparing"


Hear = Callable[[Phase, str, int, int], None]
"""Is told the phase, what it is at, how many rows are done, and of how many."""


@dataclass(frozen=True)
class Both:
    """A source and a target. Raises CannotMove for a model that cannot be moved."""

    source: Source
    target: Target
    hear: Hear
    tables: Sequence[Table] = field(default_factory=moving_tables)

    def the_copy_of(self, sealing: Sealing) -> Copy | None:
        """What the target has of the move that the source is sealed for."""
        copy = self.target.copy_in_it()
        return copy if copy and copy.identity == sealing.identity else None

    def require_same_migrations(self) -> None:
        """Raises CannotMove, which names the difference."""
        ours, theirs = self.source.migrations, self.target.migrations
        if not theirs:
            raise CannotMove(
                f"{self.target.place} has no tables yet. Run `manage.py migrate` with DATABASE_URL set to it, "
                "and then this again."
            )
        parts = {"lacks": ours - theirs, "has more than the source:": theirs - ours}
        found = [f"It {word} {listed(names)}." for word, names in parts.items() if names]
        if found:
            raise CannotMove(
                f"The tables of {self.target.place} are not those of the source. {' '.join(found)}"
            )

    def compare(self, *, apart_from: Collection[str] = ()) -> list[Compared]:
        """Table by table; without those, and those columns, that are named."""
        tables = [one.without(apart_from) for one in self.tables if one.name not in apart_from]
        total = self.rows_of(tables)
        compared: list[Compared] = []
        for table in tables:
            before = sum(one.source_rows for one in compared)
            tell = partial(self._tell_compared, table.name, before, total)
            try:
                compared.append(compare(self.source, self.target, table, tell))
            except Unfit as fault:
                raise Differs(f"{fault}. PostgreSQL does not hold that.") from fault
        return compared

    def _tell_compared(self, name: str, before: int, total: int, rows: int) -> None:
        self.hear(Phase.COMPARING, name, before + rows, total)

    def violations_here(self) -> list[str]:
        return check.violations(lambda what: self.hear(Phase.CHECKING, what, 0, 0))

    def require_kept_invariants_there(self) -> None:
        with self.target.as_the_ledger():
            violations = self.violations_here()
        if violations:
            raise Differs(
                f"The target violates its invariants ({len(violations)} times): {violations[0]}."
            )

    def rows_of(self, tables: Sequence[Table]) -> int:
        return sum(map(self.source.count, tables))


def verify(both: Both) -> list[Compared]:
    """Compare and recount both sides, and change neither. Raises CannotMove, Differs."""
    both.require_same_migrations()
    same = both.compare()
    require_same(same)
    if violations := both.violations_here():
        raise Differs(
            f"The source violates its invariants ({len(violations)} times): {violations[0]}."
        )
    both.require_kept_invariants_there()
    return same


def require_same(compared: Sequence[Compared]) -> None:
    """Raises Differs with the first difference that there is."""
    different = [one for one in compared if one.difference]
    if different:
        first = different[0]
        raise Differs(
            f"The two sides differ, in {len(different)} of {len(compared)} tables. {first.table} has {first.source_rows} rows in the "
            f"source, {first.target_rows} in the target; the first difference: {first.difference}."
        )


def listed(migrations: Migrations) -> str:
    return ", ".join(f"{app}.{name}" for app, name in sorted(migrations))


@contextmanager
def staying_sealed() -> Iterator[None]:
    """Around what may fail when something is in the target already: who reads of it is told how to go on."""
    way_on = (
        "This ledger stays sealed. The same command goes on where it stopped; with --undo this ledger works "
        "again."
    )
    try:
        yield
    except (CannotMove, Error) as error:
        raise CannotMove(f"{str(error).strip()} {way_on}") from error
    except Differs as error:
        raise Differs(f"{error} {way_on}") from error
