"""Tenants: the customers who own tasks, their limits, and the tokens they call with."""
