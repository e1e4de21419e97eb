"""What happens to the processes that run tasks, for code that must do something in each of them.

Receivers run in the process's main thread, without arguments worth naming. What they raise is logged. They are
not the place for queries: the thread that they run in has the ledger to itself.
"""

from django.dispatch import Signal

worker_process_started = Signal()
"""It was forked, and is about to run its first task. The place to start threads, such as those of an exporter."""
worker_process_stopping = Signal()
"""It has run its last task, and ends as soon as this returns: `atexit` does not run. Not sent where it is killed."""
