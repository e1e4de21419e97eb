"""Rentroll's scheduler: a durable, multi-tenant ledger of tasks, and what works it."""
