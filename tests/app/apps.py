"""The tests' app. It queries while Django starts, as apps of real projects do."""

import os
import warnings

from django.apps import AppConfig
from django.db import connection


class TestsAppConfig(AppConfig):
    name = "tests.app"

    def ready(self) -> None:
        """Open a connection in the parent of all worker processes. None of them may come to share it."""
        with warnings.catch_warnings(), connection.cursor() as cursor:
            warnings.simplefilter("ignore", RuntimeWarning)
            cursor.execute("SELECT 1")
        if os.environ.get("TRACED"):
            from tests.app import traced

            traced.connect()
