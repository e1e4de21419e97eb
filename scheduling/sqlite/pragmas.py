"""How every connection to an SQLite ledger is set up."""

JOURNAL_SIZE_LIMIT = 64 * 1024 * 1024
"""Bytes the write-ahead log is cut back to after a checkpoint that emptied it."""

PRAGMAS = (
    "foreign_keys = ON",
    "journal_mode = WAL",  # readers never wait for writers
    "synchronous = FULL",  # a commit is on disk before it returns: accepted means durable
    f"journal_size_limit = {JOURNAL_SIZE_LIMIT}",
    "mmap_size = 0",  # an I/O error is then an error, not a SIGBUS
    "temp_store = MEMORY",
)
