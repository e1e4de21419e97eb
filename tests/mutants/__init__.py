"""Mutants: one small fault at a time is put into the ledger, and a test has to fail. `python -m tests.mutants`.

The faults are those that one slip of the hand makes: a bound that is off by one, a condition, a keyword or a
line that is missing, in Python (`python.py`) and in the hot statements (`statements.py`).

Everything is imported, and the database made, once. Each fault is put into a fork of that process, by changing
the code of functions that are there; then the tests run that come by the line, until one fails. What was
found is kept in `.mutants/`, so a run that is stopped goes on where it was, and only what has changed since
is looked at anew.

The libraries for this start the tests anew for each fault, which here takes seconds before the first test, and they know
nothing of SQL, where most of what matters is.

What it cannot see: faults in class bodies, decorators and annotations, and what only another process would
notice, because those are started afresh and without the fault.
"""
