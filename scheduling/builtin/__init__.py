"""Tasks that every installation has: to try it out, and to deliver work to other systems over HTTP."""

from scheduling.builtin import demo, http

__all__ = ["demo", "http"]
