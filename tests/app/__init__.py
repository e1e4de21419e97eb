"""A Django app whose tasks do what handlers in the field do, at their worst."""
