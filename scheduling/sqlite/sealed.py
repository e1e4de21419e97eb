"""How a ledger that is sealed is told from a constraint that is broken: SQLite's triggers can raise nothing else."""

SEALED = "This ledger takes no writes"
"""What the triggers of `scheduling.ledger.moving` say begins with this."""
