"""`manage.py migrate`: Django's own, one at a time, and neither on the tables of a newer release nor on a sealed ledger."""

from typing import Any

from django.core.management.commands import migrate
from django.db import OperationalError

from scheduling import tables
from scheduling.ledger import lock_wait
from scheduling.ledger.moving import seal
from scheduling.ledger.moving.errors import CannotMove
from scheduling.management.alone import alone
from tenants.management.plain import Wrong, no_answer

IN_USE = (
    "Somebody holds a table that is to be changed for longer than LEDGER_WAIT_SECONDS, and all others waited behind "
    "us, so this was given up. What was changed before stays changed. End long transactions, and run it again."
)


class Command(migrate.Command):
    help = (
        "Bring the tables up to date: Django's own command with its options, one at a time, and never on the "
        "tables of a newer release, nor on those of a ledger that moves."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with alone():
                tables.require_known()
                seal.require_unsealed()
                super().handle(*args, **options)
        except (tables.TablesDiffer, CannotMove) as error:
            raise Wrong(str(error)) from error
        except OperationalError as error:
            raise (Wrong(IN_USE) if lock_wait.ran_out(error) else no_answer(error)) from error
