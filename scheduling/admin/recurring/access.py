"""What people may do to recurring tasks, each under a permission of its own."""

from enum import StrEnum

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest


class Act(StrEnum):
    """By the name that the record knows it by."""

    CREATE = "create"
    EDIT = "edit"
    PAUSE = "pause"
    RESUME = "resume"
    RUN_NOW = "run now"
    BACKFILL = "backfill"
    DELETE = "delete"

    @property
    def permission(self) -> str:
        return f"scheduling.{_CODENAMES[self]}_recurringtask"


_CODENAMES = {
    Act.CREATE: "add",
    Act.EDIT: "change",
    Act.PAUSE: "pause",
    Act.RESUME: "pause",
    Act.RUN_NOW: "run",
    Act.BACKFILL: "backfill",
    Act.DELETE: "delete",
}


def may(user: User | AnonymousUser, act: Act) -> bool:
    return user.has_perm(act.permission)


def may_look(user: User | AnonymousUser) -> bool:
    """Who may do something to them may look at them."""
    return user.has_perm("scheduling.view_recurringtask") or any(may(user, act) for act in Act)


def require(request: HttpRequest, act: Act) -> None:
    if not may(request.user, act):
        raise PermissionDenied


def require_look(request: HttpRequest) -> None:
    if not may_look(request.user):
        raise PermissionDenied
