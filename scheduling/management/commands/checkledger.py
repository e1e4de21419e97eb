"""`manage.py checkledger`: recount the invariants."""

import sys
from typing import Any

from scheduling.ledger import check
from tenants.management.plain import TellingCommand


class Command(TellingCommand):
    help = "Recount every invariant of the ledger from its tables. Exit code 1: one is violated."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            violations = check.violations(self.tell)
        finally:
            self.tell("")
        if options["json"]:
            self.tell_as_json({"violations": violations})
        else:
            self.stdout.write("\n".join(violations) or "The ledger keeps its invariants.")
        if violations:
            self.stderr.write(f"The ledger violates its invariants: {len(violations)} times.")
            sys.exit(1)
