"""Owns the lookup `among`: a column's value is one of any number of values.

`in` sends a parameter for each value, and SQLite takes 32,766 of them. This sends all of them as one, so it
has no limit, and one statement serves batches of every size.
"""

import json
from collections.abc import Collection
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import ForeignKey, Lookup, UUIDField

if TYPE_CHECKING:  # generic in the stubs only
    _Lookup = Lookup[Collection[UUID]]
else:
    _Lookup = Lookup


@ForeignKey.register_lookup
@UUIDField.register_lookup
class Among(_Lookup):
    """`filter(pk__among=ids)`, for ids and for keys that name them."""

    lookup_name = "among"
    get_db_prep_lookup_value_is_iterable = False

    def get_prep_lookup(self) -> list[UUID]:
        return list(self.rhs)

    def as_sql(self, compiler: Any, connection: BaseDatabaseWrapper) -> tuple[str, Any]:
        raise NotImplementedError(f"The ledger is not kept on {connection.vendor}.")

    def as_sqlite(self, compiler: Any, connection: BaseDatabaseWrapper) -> tuple[str, Any]:
        column, params = self.process_lhs(compiler, connection)
        ids = json.dumps([one.hex for one in self.rhs])
        return f"{column} IN (SELECT value FROM json_each(%s))", [*params, ids]  # noqa: S608  # nosec B608  # ours

    def as_postgresql(self, compiler: Any, connection: BaseDatabaseWrapper) -> tuple[str, Any]:
        column, params = self.process_lhs(compiler, connection)
        return f"{column} = ANY(%s)", [*params, list(self.rhs)]
