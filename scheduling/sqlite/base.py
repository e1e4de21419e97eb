"""The `DatabaseWrapper` that Django finds behind `ENGINE = "scheduling.sqlite"`."""

import datetime
import decimal
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from types import TracebackType
from typing import Any

import pysqlite3
from django.db import OperationalError
from django.db.backends.sqlite3 import base
from django.db.backends.sqlite3._functions import register as register_functions
from django.db.backends.sqlite3.features import DatabaseFeatures as StockFeatures
from django.db.backends.sqlite3.operations import DatabaseOperations as StockOperations
from django.db.utils import DatabaseErrorWrapper
from django.utils.dateparse import parse_date, parse_datetime, parse_time

from scheduling.sqlite.gate import GateTimeout, WriteGate, gate_for
from scheduling.sqlite.guard import guard_against_the_standard_module, opening
from scheduling.sqlite.pragmas import PRAGMAS
from scheduling.sqlite.sealed import SEALED

Database = pysqlite3.dbapi2
MAX_QUERY_PARAMS = 32_766
"""SQLite's compile-time default; `pysqlite3` has no `getlimit` to ask with."""

CACHED_STATEMENTS = 1024
"""Compiled statements kept per connection. Once the driver's cache is full it drops what came last, so a
cache of its default 100, filled by migrations or admin pages, would compile every hot statement anew."""


def readable(parse: Callable[[str], Any]) -> Callable[[bytes], Any]:
    """A converter for the driver. None for what was written by hand and is none: a row beside it can be read."""

    def convert(stored: bytes) -> Any:
        try:
            return parse(stored.decode())
        except ValueError:
            return None

    return convert


for _name, _parse in (
    ("date", parse_date),
    ("time", parse_time),
    ("datetime", parse_datetime),
    ("timestamp", parse_datetime),
):
    Database.register_converter(_name, readable(_parse))
Database.register_converter("bool", b"1".__eq__)
Database.register_adapter(decimal.Decimal, str)
Database.register_adapter(datetime.date, base.adapt_date)
Database.register_adapter(datetime.datetime, base.adapt_datetime)


@lru_cache(maxsize=1024)
def qmark(query: str) -> str:
    """Django's `%s` placeholders as SQLite's `?`. The ORM sends the same few queries again and again."""
    return base.FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%")


class Cursor(Database.Cursor):  # type: ignore[misc,name-defined]  # pysqlite3 has no stubs
    """Django's placeholder styles on top of the driver's."""

    def execute(self, query: str, params: Sequence[Any] | Mapping[str, Any] | None = None) -> Any:
        if params is None:
            return super().execute(query)
        if isinstance(params, Mapping):
            return super().execute(query % {name: f":{name}" for name in params}, params)
        return super().execute(qmark(query), params)

    def executemany(self, query: str, param_list: Iterable[Sequence[Any]]) -> Any:
        return super().executemany(qmark(query), param_list)


class DatabaseFeatures(StockFeatures):
    max_query_params = MAX_QUERY_PARAMS
    supports_json_field = (
        True  # pysqlite3's does; the stock engine tries it, in a transaction that waits for writers
    )


class DatabaseOperations(StockOperations):
    def last_executed_query(self, cursor: Any, sql: str, params: Any) -> str:
        """For the query log of DEBUG. The stock one needs `getlimit`."""
        if not params:
            return sql
        shown = (
            {name: repr(value) for name, value in params.items()}
            if isinstance(params, Mapping)
            else tuple(repr(value) for value in params)
        )
        return sql % shown


class ErrorWrapper(DatabaseErrorWrapper):
    """Django's. A sealed ledger is trouble with the database to whoever writes, as one that does not answer is.

    A trigger of SQLite's can only say that a constraint is broken.
    """

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            return
        if kind is Database.IntegrityError and str(error).startswith(SEALED):
            raise OperationalError(str(error)).with_traceback(traceback) from error
        super().__exit__(kind, error, traceback)


class DatabaseWrapper(base.DatabaseWrapper):
    Database = Database
    features_class = DatabaseFeatures
    ops_class = DatabaseOperations

    transaction_mode: str | None
    init_commands: Sequence[str]
    gate: WriteGate | None = None
    _name: str
    _file: os.stat_result
    """As it was opened. Both are known when there is a gate, so not of a database in memory."""

    @cached_property
    def wrap_database_errors(self) -> ErrorWrapper:
        return ErrorWrapper(self)

    def get_connection_params(self) -> dict[str, Any]:
        params = super().get_connection_params()
        self.patience = float(params.get("timeout", 5.0))
        params.setdefault("cached_statements", CACHED_STATEMENTS)
        # Otherwise a transaction that reads before it writes fails at once when another one wrote in between,
        # whatever the timeout.
        self.transaction_mode = self.transaction_mode or "IMMEDIATE"
        return params

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        with opening():
            connection = Database.connect(**conn_params)
        register_functions(connection)
        for command in filter(str.strip, self.init_commands):
            connection.execute(command)
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        if not self.is_in_memory_db():
            guard_against_the_standard_module(conn_params["database"])
            self.gate = gate_for(str(conn_params["database"]))
            self._name = str(conn_params["database"])
            self._file = os.stat(self._name)  # noqa: PTH116
        return connection

    def create_cursor(self, name: str | None = None) -> Any:
        return self.connection.cursor(factory=Cursor)

    def is_usable(self) -> bool:
        """The stock engine takes it for granted; code that closed the driver's connection proves it wrong."""
        try:
            self.connection.execute("SELECT 1")
        except Database.Error:
            return False
        return self._has_its_file()

    def _has_its_file(self) -> bool:
        """Whether the file that is open still is the one of that name."""
        if self.gate is None:
            return True
        try:
            return os.path.samestat(os.stat(self._name), self._file)  # noqa: PTH116  # every transaction asks
        except FileNotFoundError:
            return False

    def _require_its_file(self) -> None:
        """A file that was deleted or replaced can be written to for as long as it is open, and is lost after."""
        if not self._has_its_file():
            self.close()
            raise OperationalError(
                f"{self._name} was deleted or replaced while it was open. Nothing was written."
            )

    # A transaction is begun, and ended, in exactly one of the following ways, which the stubs do not know.

    def _start_transaction_under_autocommit(self) -> None:
        self._require_its_file()
        self._enter_gate()
        try:
            with self.wrap_database_errors:
                self.connection.execute(f"BEGIN {self.transaction_mode or 'DEFERRED'}")
        except BaseException:
            self._leave_gate()
            raise

    def _commit(self) -> None:
        super()._commit()  # type: ignore[misc]
        self._leave_gate()  # a commit that failed is followed by a rollback

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self._leave_gate()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            self._leave_gate()

    def _enter_gate(self) -> None:
        if self.gate is None or self.transaction_mode is None:
            return
        try:
            self.gate.enter(self, self.patience)
        except GateTimeout as error:
            raise OperationalError(
                f"database is locked: no turn to write within {self.patience:g} s"
            ) from error

    def _leave_gate(self) -> None:
        if self.gate is not None:
            self.gate.leave(self)

    def close_if_unusable_or_obsolete(self) -> None:
        """Also closes one that was struck by another thread's exception as a transaction began or ended."""
        if self.gate is not None and not self.in_atomic_block and self.gate.is_inside(self):
            self.close()
        super().close_if_unusable_or_obsolete()
