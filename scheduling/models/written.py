"""Owns how JSON is read back that somebody may have changed by hand.

SQLite keeps whatever is written into a column. One value that cannot be read must not keep a page of others
from being shown.
"""

import logging
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from scheduling import payload
from scheduling.errors import InvalidTask

if TYPE_CHECKING:  # generic in the stubs only
    _Lookup = models.Lookup[str]
else:
    _Lookup = models.Lookup

logger = logging.getLogger(__name__)


class WrittenJSON(models.JSONField):
    """JSON; None, and an error in the log, for text that is none, or that cannot be sent to anybody as JSON."""

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        try:
            read = payload.reread(value) if isinstance(value, str) else value
            payload.check(read)
        except (ValueError, TypeError, RecursionError, InvalidTask) as error:
            logger.error(
                "The ledger holds JSON that cannot be read (%s): %s", self, type(error).__name__
            )
            return None
        return read

    def deconstruct(self) -> tuple[str, str, Any, Any]:
        """To the database it is the same as Django's."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.JSONField", args, kwargs


class ErrorClass(models.Func):
    """`ErrorClass("error")`: the class of an error. Text that is no JSON is of none."""

    arity = 1
    output_field = models.CharField()

    def as_sqlite(self, compiler: Any, connection: BaseDatabaseWrapper, **extra: Any) -> Any:
        column, params = compiler.compile(self.source_expressions[0])
        return _class_on_sqlite(column), [*params, *params]

    def as_postgresql(self, compiler: Any, connection: BaseDatabaseWrapper, **extra: Any) -> Any:
        column, params = compiler.compile(self.source_expressions[0])
        return f"({column} ->> 'class')", params


def _class_on_sqlite(column: str) -> str:
    return f"iif(json_valid({column}), json_extract({column}, '$.class'), NULL)"


@WrittenJSON.register_lookup
class OfClass(_Lookup):
    """`filter(error__of_class="ValueError")`: errors of that class. Text that is no JSON is of none."""

    lookup_name = "of_class"

    def as_sql(self, compiler: Any, connection: BaseDatabaseWrapper) -> tuple[str, Any]:
        raise NotImplementedError(f"The ledger is not kept on {connection.vendor}.")

    def as_sqlite(self, compiler: Any, connection: BaseDatabaseWrapper) -> tuple[str, Any]:
        column, params = self.process_lhs(compiler, connection)
        return f"{_class_on_sqlite(column)} = %s", [*params, *params, self.rhs]

    def as_postgresql(self, compiler: Any, connection: BaseDatabaseWrapper) -> tuple[str, Any]:
        column, params = self.process_lhs(compiler, connection)
        return f"{column} ->> 'class' = %s", [*params, self.rhs]
