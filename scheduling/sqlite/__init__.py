"""The SQLite engine of the ledger: Django's backend on `pysqlite3`, with writers that queue.

`ENGINE = "scheduling.sqlite"`. The interpreter's own `sqlite3` often bundles a library that can lose
committed pages (see `scheduling.checks`); `pysqlite3` brings a current one at the same speed.
"""
