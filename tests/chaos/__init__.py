"""The fault harness: real supervisors and a real web server on a real ledger, under load, and broken all the time.

A run has a seed. From it come the faults (what is killed, stopped, restarted, filled up, when) and the load
(what each caller asks for, in which order). Afterwards the faults stop, the work drains, and what handlers
did, what the API answered and what the ledger committed are held against each other: `python -m tests.chaos`.

What it cannot see: a loss of power (the kernel lives on, so what was written without a sync is there), more
than one host, fairness and speed, pauses with an expiry, deadlines and timeouts (they are times of day, and
those are stepped), and a full disk under PostgreSQL.
"""
