"""Django's task interface under one name: `django.tasks` on Django 6.1, its `django_tasks` backport on 5.2.

Nothing else imports either of the two.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, overload

import django

if TYPE_CHECKING:
    from django.tasks import TaskContext as _TaskContext
    from django.tasks import TaskResultStatus, default_task_backend, task_backends
    from django.tasks.backends.base import BaseTaskBackend
    from django.tasks.base import Task as _Task
    from django.tasks.base import TaskError
    from django.tasks.base import TaskResult as _TaskResult
    from django.tasks.exceptions import InvalidTask as InvalidDeclaration
    from django.tasks.exceptions import TaskResultDoesNotExist, TaskResultMismatch
    from django.tasks.signals import (
        log_task_enqueued,
        log_task_finished,
        log_task_started,
        task_enqueued,
        task_finished,
        task_started,
    )
    from django.utils.json import normalize_json

    # Generic in the stubs, and not on Django 6.1: only here can their parameters be written down.
    Task: TypeAlias = _Task[..., Any]
    TaskContext: TypeAlias = _TaskContext[..., Any]
    TaskResult: TypeAlias = _TaskResult[..., Any]

    class _Declare(Protocol):
        @overload
        def __call__(self, function: Callable[..., Any], /) -> Any: ...

        @overload
        def __call__(self, **options: Any) -> Callable[[Callable[..., Any]], Any]: ...

    task: _Declare
    """Declares a task. The stubs would refuse the options that a backend adds."""

elif django.VERSION >= (6, 0):
    from django.tasks import (
        Task,
        TaskContext,
        TaskResult,
        TaskResultStatus,
        default_task_backend,
        task,
        task_backends,
    )
    from django.tasks.backends.base import BaseTaskBackend
    from django.tasks.base import TaskError
    from django.tasks.exceptions import InvalidTask as InvalidDeclaration
    from django.tasks.exceptions import TaskResultDoesNotExist, TaskResultMismatch
    from django.tasks.signals import (
        log_task_enqueued,
        log_task_finished,
        log_task_started,
        task_enqueued,
        task_finished,
        task_started,
    )
    from django.utils.json import normalize_json
else:
    from django_tasks import (
        TaskContext,
        TaskResult,
        TaskResultStatus,
        default_task_backend,
        task,
        task_backends,
    )
    from django_tasks.backends.base import BaseTaskBackend
    from django_tasks.base import Task, TaskError
    from django_tasks.exceptions import InvalidTaskError as InvalidDeclaration
    from django_tasks.exceptions import TaskResultDoesNotExist, TaskResultMismatch
    from django_tasks.signals import (
        log_task_enqueued,
        log_task_finished,
        log_task_started,
        task_enqueued,
        task_finished,
        task_started,
    )
    from django_tasks.utils import normalize_json

__all__ = [
    "BaseTaskBackend",
    "InvalidDeclaration",
    "Task",
    "TaskContext",
    "TaskError",
    "TaskResult",
    "TaskResultDoesNotExist",
    "TaskResultMismatch",
    "TaskResultStatus",
    "default_task_backend",
    "log_task_enqueued",
    "log_task_finished",
    "log_task_started",
    "normalize_json",
    "task",
    "task_backends",
    "task_enqueued",
    "task_finished",
    "task_started",
]
