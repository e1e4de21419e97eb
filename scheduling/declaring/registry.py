"""Which tasks this process knows, and under which names.

A task enters when it is declared, wherever that is; `discover` imports the places where tasks are
declared by convention, so that a worker knows them all.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import module_has_submodule

from scheduling.declaring.signatures import bind
from scheduling.errors import UnknownHandler

if TYPE_CHECKING:
    from scheduling.declaring.ledger_task import LedgerTask

__all__ = ["add", "bind", "discover", "exposed", "failures", "get", "names"]

logger = logging.getLogger(__name__)

_tasks: dict[str, "LedgerTask"] = {}
"""By API name and by module path."""
_failures: dict[str, str] = {}


def discover() -> None:
    """Import the built-in tasks and the `tasks` module of every installed app. Again: only what failed.

    A module that cannot be imported is logged with its traceback and reported by `manage.py check`; its
    tasks are unknown handlers here, and every other task runs. Only ImproperlyConfigured goes through: two
    tasks under one name, or a missing setting, are mended before anything starts.
    """
    import_module("scheduling.builtin")
    for app in apps.get_app_configs():
        if app.module and module_has_submodule(app.module, "tasks"):
            _import(f"{app.name}.tasks")


def add(task: "LedgerTask") -> None:
    """Remember a declared task. A copy made by `using()` never replaces the task it was made from.

    Raises ImproperlyConfigured when another function has that name already.
    """
    for key in filter(None, (task.module_path, task.name)):
        known = _tasks.get(key)
        if known is None or (known.module_path == task.module_path and known.func is not task.func):
            _tasks[key] = task
        elif known.module_path != task.module_path:
            raise ImproperlyConfigured(
                f"Two tasks are called {key!r}: {known.module_path} and {task.module_path}."
            )


def get(name: str) -> "LedgerTask":
    """The task of that API name or module path. Raises UnknownHandler."""
    try:
        return _tasks[name]
    except KeyError:
        raise UnknownHandler(name) from None


def exposed(name: str) -> "LedgerTask | None":
    """The task that callers from outside may enqueue under that name, if there is one."""
    task = _tasks.get(name)
    return task if task and task.name == name else None


def names() -> list[str]:
    """The API names, sorted."""
    return sorted({task.name for task in _tasks.values() if task.name})


def failures() -> dict[str, str]:
    """The modules that could not be imported, each with its error."""
    return dict(_failures)


def _import(module: str) -> None:
    try:
        import_module(module)
    except ImproperlyConfigured:
        raise
    except (Exception, SystemExit) as error:
        logger.exception(
            "%s cannot be imported: its tasks are unknown here until that works.", module
        )
        _failures[module] = f"{type(error).__name__}: {error}"
        _forget(module)
    else:
        _failures.pop(module, None)


def _forget(module: str) -> None:
    """Drop what a module declared before it failed: its functions would miss the rest of it."""
    for key, task in list(_tasks.items()):
        if task.func.__module__ == module:
            del _tasks[key]
