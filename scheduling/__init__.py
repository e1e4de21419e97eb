"""Rentroll's scheduler: a durable, multi-tenant ledger of tasks, and what works it."""

__version__ = "0.1.0"
"""Of the whole of Rentroll: the wheel, the metrics, the workers and the API's document say the same."""
