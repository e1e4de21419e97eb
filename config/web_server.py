"""Owns what an operator may set of the web server. `serve` reads it too, and so refuses before it listens what the
server could not live with."""

from config.databases import PATIENCE
from config.settings import env

A_DAY = 86_400
A_MOMENT = 0.001
"""Seconds. Of less the kernel makes nothing, which is for ever to it."""

CONCURRENCY = env.int("WEB_CONCURRENCY", default=2, within=(1, 1000))
"""Web processes.

Unit: processes.
"""

THREADS = env.int("WEB_THREADS", default=4, within=(1, 1000))
"""Requests that each web process works on at once, and its connections to the database for them.

Unit: requests.
"""

ACCESS_LOG = env.str("ACCESS_LOG", default="") or None
"""The file for a line per request. `-` is stdout.

Value: path.
"""

WAIT_SECONDS = env.float("WEB_WAIT_SECONDS", default=0.5, within=PATIENCE)
"""How long a request waits for what others hold in the ledger.

Unit: seconds.
"""

SECONDS_TO_SEND = env.float("WEB_SECONDS_TO_SEND", default=20, within=(A_MOMENT, A_DAY))
"""How long a client has for the head and the body of a request together, from its first byte on.

Unit: seconds.
"""

SECONDS_TO_READ = env.float("WEB_SECONDS_TO_READ", default=20, within=(A_MOMENT, A_DAY))
"""How long a client has to take any part of its answer. Who takes nothing for so long is not told the rest.

Unit: seconds.
"""

SECONDS_TO_LEAVE = env.float("WEB_SECONDS_TO_LEAVE", default=0, within=(0, A_DAY))
"""How long a web server that was told to stop still takes requests, for a balancer to notice that `/readyz` answers 503.

Unit: seconds.
"""

SECONDS_IN_LINE = env.float("WEB_SECONDS_IN_LINE", default=0.5, within=(A_MOMENT, A_DAY))
"""How long the line for a thread may be long before requests about tasks are turned away.

When nobody was quickly at its end for so long, there are too many.

Unit: seconds.
"""
