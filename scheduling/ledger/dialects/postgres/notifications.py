"""Waking other processes through PostgreSQL: LISTEN and NOTIFY."""

import psycopg
from django.db import OperationalError, connection

CHANNEL = "rentroll"


class NotificationListener:
    """On a connection of its own, because notifications arrive between the statements of a session."""

    def __init__(self) -> None:
        params = connection.get_connection_params()
        params.pop("pool", None)
        try:
            self._connection = psycopg.connect(**params, autocommit=True)
            self._connection.execute(f"LISTEN {CHANNEL}")
        except psycopg.Error as error:
            raise OperationalError(f"Cannot listen to the database: {error}") from error

    def fileno(self) -> int:
        return self._connection.fileno()

    def drain(self) -> set[str]:
        try:
            return {notification.payload for notification in self._connection.notifies(timeout=0)}
        except psycopg.Error as error:
            raise OperationalError(f"The listening connection broke: {error}") from error

    def close(self) -> None:
        self._connection.close()
