"""`manage.py checkledger`: recount the invariants."""

import sys
from typing import Any

from scheduling.ledger import check
from tenants.management.plain import PlainCommand


class Command(PlainCommand):
    help = "Recount every invariant of the ledger from its tables. Exit code 1: one is violated."

    def handle(self, *args: Any, **options: Any) -> None:
        violations = check.violations()
        for violation in violations:
            self.stdout.write(violation)
        if violations:
            self.stderr.write(f"The ledger violates its invariants: {len(violations)} times.")
            sys.exit(1)
        self.stdout.write("The ledger keeps its invariants.")
