"""The ledger on SQLite: its statements, who sends them, and how waiting workers are woken."""
