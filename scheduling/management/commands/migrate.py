"""`manage.py migrate`: Django's own, one at a time, and not on the tables of a newer release."""

from typing import Any

from django.core.management.commands import migrate

from scheduling import tables
from scheduling.management.alone import alone
from tenants.management.plain import Wrong


class Command(migrate.Command):
    help = (
        "Bring the tables up to date: Django's own command with its options, one at a time, and never on the "
        "tables of a newer release."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        with alone():
            try:
                tables.require_known()
            except tables.TablesDiffer as error:
                raise Wrong(str(error)) from error
            super().handle(*args, **options)
