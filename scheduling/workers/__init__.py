"""Running tasks: one supervisor, and worker processes of many slots each. Only `runworkers` starts it.

Within a worker process one thread, the pool's, speaks to the ledger. Slot threads run handlers, a watch
keeps time for them, and none of the three waits for another while it holds something.
"""
