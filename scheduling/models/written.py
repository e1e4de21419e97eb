"""Owns how JSON is read back that somebody may have changed by hand.

SQLite keeps whatever is written into a column. One value that cannot be read must not keep a page of others
from being shown.
"""

import logging
from typing import Any

from django.db import models

logger = logging.getLogger(__name__)


class WrittenJSON(models.JSONField):
    """JSON; None, and an error in the log, for text that is none."""

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        try:
            return super().from_db_value(value, expression, connection)
        except (ValueError, TypeError, RecursionError) as error:
            logger.error("The ledger holds JSON that cannot be read (%s): %s", self, error)
            return None

    def deconstruct(self) -> tuple[str, str, Any, Any]:
        """To the database it is the same as Django's."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.JSONField", args, kwargs
