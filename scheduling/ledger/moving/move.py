"""Owns the move: what is looked at before, when each side is sealed, and when it is over."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from scheduling.ledger.moving.both import Both, Phase, require_same, staying_sealed
from scheduling.ledger.moving.compare import Compared
from scheduling.ledger.moving.errors import CannotMove
from scheduling.ledger.moving.source import FAULTS, Sealing
from scheduling.ledger.moving.tables import Row, Table
from scheduling.ledger.moving.values import Unfit

CHUNK_ROWS = 2_000
CHUNK_CHARACTERS = 4_000_000
"""A transaction has no more rows than that, nor many more characters, so memory stays flat."""


def move(both: Both, *, checked: bool) -> list[Compared]:
    """Move everything, and answer what was compared at the end; go on with a move that was killed.

    Until anything is in the target, whatever goes wrong leaves the source as it was. After that it stays sealed, for
    this to be called again, or `undo`. Raises CannotMove, InFlight, Differs. `checked=False` also moves a ledger that
    violates its invariants.
    """
    both.require_same_migrations()
    sealing = both.source.sealing()
    if sealing is None:
        both.target.require_room(None, both.tables)
        require_fit(both)
        sealing = both.source.seal(both.target.place)
    if not sealing.is_begun:
        begin(both, sealing, checked=checked)
    elif not both.the_copy_of(sealing):
        raise CannotMove(
            f"This ledger moves to {sealing.place} already, and {both.target.place} holds nothing of it. Go on "
            "with that one, or undo that move."
        )
    with staying_sealed():
        both.target.begin(
            sealing.identity, both.tables, both.source.place
        )  # if it was undone by half
        copy(both)
        same = both.compare()
        require_same(same)
        if checked:
            both.require_kept_invariants_there()
        both.target.finish()
        both.source.note(is_over=True)
    return same


def has_moved(both: Both) -> bool:
    """Whether the target is this ledger, whole. A move that was killed at its very end is noted as over now."""
    sealing = both.source.sealing()
    there = both.the_copy_of(sealing) if sealing else None
    if sealing is None or there is None or there.state != "moved":
        return False
    if not sealing.is_over:
        both.source.note(is_over=True)
    return True


def require_fit(both: Both) -> None:
    """Raises CannotMove with the first values that PostgreSQL would not take.

    Before the seal, since it takes long. What is accepted meanwhile has been looked at by who accepted it.
    """
    found = list(islice(chain(faults(both), both.source.damage()), FAULTS))
    if found:
        shown = "\n  ".join(found)
        raise CannotMove(
            "Some of what this ledger holds cannot be kept by PostgreSQL. Nothing was changed. Mend or delete "
            f"these rows first:\n  {shown}"
        )


def faults(both: Both) -> Iterator[str]:
    done, total = 0, both.rows_of(both.tables)
    for table in both.tables:
        both.hear(Phase.LOOKING, table.name, done, total)
        yield from both.source.faults(table)
        done += both.source.count(table)
    both.hear(Phase.LOOKING, "every page", done, total)


def begin(both: Both, sealing: Sealing, *, checked: bool) -> None:
    """From the seal of the source to that of the target. If that does not come about, the source works again."""
    try:
        if checked and (violations := both.violations_here()):
            raise CannotMove(
                f"The ledger violates its invariants ({len(violations)} times): {violations[0]}. Nothing was "
                "moved. Run checkledger; --unchecked moves it as it is."
            )
        both.target.begin(sealing.identity, both.tables, both.source.place)
    except BaseException:
        both.source.unseal()
        raise
    both.source.note(is_over=False)


def copy(both: Both) -> None:
    """What is not in the target yet, in the order of its keys, a chunk to a transaction."""
    done, total = 0, both.rows_of(both.tables)
    for table in both.tables:
        done += both.target.count(table)
        both.hear(Phase.COPYING, table.name, done, total)
        for chunk in chunks(both.source.rows(table, after=both.target.last_key(table))):
            both.target.append(table, read(table, chunk))
            done += len(chunk)
            both.hear(Phase.COPYING, table.name, done, total)
    for table in both.tables:
        if table.counts_up:
            both.target.go_on_numbering(table, both.source.highest_given(table))
    both.target.analyze(both.tables)


def read(table: Table, chunk: Sequence[Row]) -> list[Row]:
    try:
        return [table.read(raw) for raw in chunk]
    except Unfit as fault:  # written between the look and the seal, by a hand
        raise CannotMove(f"{fault}. Mend or delete that row after --undo.") from fault


def chunks(rows: Iterator[Row]) -> Iterator[list[Row]]:
    chunk: list[Row] = []
    characters = 0
    for row in rows:
        chunk.append(row)
        characters += sum(len(value) for value in row if type(value) is str)
        if len(chunk) == CHUNK_ROWS or characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk
