"""A transaction for statements of the ledger's own, at a third of the price of Django's `atomic`."""

from types import TracebackType

from django.db import Error

from scheduling.sqlite.base import DatabaseWrapper


class ShortTransaction:
    """Begins a transaction, and commits it, or rolls it back if the block raises.

    Only on a connection in autocommit mode and outside of `atomic`, and only for statements sent through the
    driver: what Django would have to know of, such as `atomic` and `on_commit`, has no place inside.
    """

    def __init__(self, connection: DatabaseWrapper) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.close_if_health_check_failed()
        self._connection.ensure_connection()
        self._connection._start_transaction_under_autocommit()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._roll_back()
            return
        try:
            self._connection._commit()
        except Error:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        """A connection that cannot even do that is given up, and its transaction with it."""
        try:
            self._connection._rollback()
        except Error:
            self._connection.close()
