"""No child of the web server inherits a database connection."""

import pytest
from django.db import connection, connections

from config import gunicorn


@pytest.mark.django_db(transaction=True)
def test_the_server_refuses_to_fork_while_a_connection_is_open() -> None:
    connection.ensure_connection()
    with pytest.raises(RuntimeError, match="opened before the fork: default"):
        gunicorn.when_ready(None)

    connections.close_all()
    gunicorn.when_ready(None)
