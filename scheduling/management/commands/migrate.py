"""`manage.py migrate`: Django's own, one at a time, and neither on the tables of a newer release nor on a sealed ledger."""

from typing import Any

from django.core.management.commands import migrate

from scheduling import tables
from scheduling.ledger.moving import seal
from scheduling.ledger.moving.errors import CannotMove
from scheduling.management.alone import alone
from tenants.management.plain import Wrong


class Command(migrate.Command):
    help = (
        "Bring the tables up to date: Django's own command with its options, one at a time, and never on the "
        "tables of a newer release, nor on those of a ledger that moves."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        with alone():
            try:
                tables.require_known()
                seal.require_unsealed()
            except (tables.TablesDiffer, CannotMove) as error:
                raise Wrong(str(error)) from error
            super().handle(*args, **options)
