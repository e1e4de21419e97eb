"""The fault harness: real supervisors and a real web server on a real ledger, under load, and broken all the time.

A run has a seed. From it come the faults (what is killed, stopped, restarted, filled up, when) and the load
(what each caller asks for, in which order). Afterwards the faults stop, the work drains, and what handlers
did, what the API answered and what the ledger committed are held against each other: `python -m tests.chaos`.
"""
