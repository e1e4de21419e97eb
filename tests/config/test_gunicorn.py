"""What the web server sees to before it forks."""

import gc

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
    gc.unfreeze()


def test_children_do_not_look_for_garbage_in_what_all_have_loaded() -> None:
    gunicorn.keep_what_is_loaded()
    try:
        assert gc.get_freeze_count() > 100_000
    finally:
        gc.unfreeze()
