"""The ledger on PostgreSQL: its statements, who sends them, and how waiting workers are woken."""
