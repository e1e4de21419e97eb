"""Owns which tables move, in which order, and what each of their columns holds.

Every model that is installed and kept in the ledger's database moves, those of your own apps included: whoever adds
one need not think of this. What is left out is named here, with the reason.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, models, router

from scheduling.ledger.moving.errors import CannotMove
from scheduling.ledger.moving.values import Kind, Unfit, UnknownKind, itself, kind_of

Model = type[models.Model]
Row = Sequence[Any]

LEFT_OUT = {
    "scheduling.workerprocess": (
        "It says who works on the source at this moment. Workers on the target register themselves."
    ),
}
FILLED_BY_MIGRATE = {
    "auth.group",
    "auth.group_permissions",
    "auth.permission",
    "contenttypes.contenttype",
}
"""Not empty in a target that was just migrated. What is there gives way to what the source has, with its ids:
both follow from the same code, and what a source lacks the next `migrate` adds."""
NOTED_IN_PASSING = {
    "auth_user.last_login",
    "django_session",
    "scheduling_dispatch",
    "scheduling_pace",
    "tenants_apitoken.last_used_at",
    "tenants_signintries",
}
"""Tables and columns that change when somebody only looks around. Going back may lose that."""
MIGRATIONS = "django_migrations"
"""Compared, not copied; sealed like the others, so that a migration cannot break the seal."""


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    kind: Kind


@dataclass(frozen=True)
class Table:
    """The columns of one model's own table; the first is its primary key."""

    model: Model
    name: str
    columns: tuple[Column, ...]

    @property
    def key(self) -> Column:
        return self.columns[0]

    @property
    def counts_up(self) -> bool:
        """Whether the database numbers its rows."""
        return isinstance(self.model._meta.pk, models.AutoField)

    @property
    def is_filled_by_migrate(self) -> bool:
        return self.model._meta.label_lower in FILLED_BY_MIGRATE

    @property
    def is_keyed_by_text(self) -> bool:
        return isinstance(self.model._meta.pk, models.CharField | models.TextField)

    @cached_property
    def _readers(self) -> list[Any]:
        return [column.kind.read for column in self.columns]

    def read(self, raw: Row) -> list[Any]:
        """What PostgreSQL is sent for what SQLite has. Raises Unfit naming table, key and column."""
        try:
            return [
                None if value is None else read(value)
                for read, value in zip(self._readers, raw, strict=True)
            ]
        except Unfit:
            raise Unfit(next(self.faults(raw))) from None

    def faults(self, raw: Row) -> Iterator[str]:
        """What is wrong with a row that cannot be read."""
        for column, value in zip(self.columns, raw, strict=True):
            try:
                if value is not None:
                    column.kind.read(value)
            except Unfit as fault:
                yield f"{self.name}, {self.key.name} {raw[0]!a}, column {column.name}: {fault}"

    def meaning(self, row: Row) -> list[Any]:
        """The row in the form that is the same for whatever is the same on both sides."""
        meant = list(row)
        for place, same in self._alike:
            if meant[place] is not None:
                meant[place] = same(meant[place])
        return meant

    @cached_property
    def _alike(self) -> list[tuple[int, Any]]:
        kinds = enumerate(column.kind for column in self.columns)
        return [(place, kind.same) for place, kind in kinds if kind.same is not itself]

    def without(self, names: Collection[str]) -> "Table":
        """The same with fewer columns: none of those named as `table.column`."""
        kept = tuple(one for one in self.columns if f"{self.name}.{one.name}" not in names)
        return Table(self.model, self.name, kept)


def kept_models() -> list[Model]:
    """All that have a table in the ledger's database, those between two others included."""
    return [
        model
        for model in apps.get_models(include_auto_created=True)
        if model._meta.managed
        and not model._meta.proxy
        and not model._meta.swapped
        and router.allow_migrate_model(DEFAULT_DB_ALIAS, model)
    ]


def moving_tables() -> list[Table]:
    """Each after those that it refers to. Raises CannotMove for a model that cannot be moved."""
    moving = {one for one in kept_models() if one._meta.label_lower not in LEFT_OUT}
    in_order = sorted(moving, key=lambda model: model._meta.label_lower)
    graph = {model: sorted(referred_to(model) & moving, key=str) for model in in_order}
    try:
        return [table_of(model) for model in TopologicalSorter(graph).static_order()]
    except UnknownKind as error:
        raise CannotMove(f"{error}, and moveledger knows no such kind of field.") from error
    except CycleError as error:
        names = ", ".join(dict.fromkeys(model._meta.label for model in error.args[1]))
        raise CannotMove(
            f"{names}: rows refer to each other in a circle; moveledger cannot order them."
        ) from error


def sealed_tables() -> list[str]:
    return [*(model._meta.db_table for model in kept_models()), MIGRATIONS]


def referred_to(model: Model) -> set[Model]:
    """By foreign keys that the database checks."""
    return {
        field.related_model
        for field in model._meta.local_concrete_fields
        if isinstance(field, models.ForeignKey) and vars(field)["db_constraint"]
    }


def table_of(model: Model) -> Table:
    fields = sorted(model._meta.local_concrete_fields, key=lambda field: not field.primary_key)
    columns = tuple(Column(str(field.column), kind_of(field)) for field in fields)
    return Table(model, model._meta.db_table, columns)
