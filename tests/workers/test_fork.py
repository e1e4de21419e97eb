"""Scenario 16: no database connection is carried over a fork."""

import pytest
from django.db import connection

from scheduling.workers import fork


@pytest.mark.django_db
def test_fork_is_refused_while_a_connection_is_open() -> None:
    connection.ensure_connection()

    with pytest.raises(RuntimeError, match="open database connections: default"):
        fork.fork(lambda: 0)
