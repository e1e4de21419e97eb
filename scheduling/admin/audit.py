"""Who did what in the console, when, and to how much: Django's log entries, and the page that lists them."""

from collections.abc import Sequence
from typing import ClassVar, cast

from django.contrib import admin
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from scheduling import clock
from scheduling.admin import words
from scheduling.admin.lists import ReadOnlyAdmin
from scheduling.admin.site import console


def operator(request: HttpRequest) -> User:
    """Who asks: the console lets in nobody who is not signed in."""
    return cast("User", request.user)


def record(by: User, objects: Sequence[Model], what: str, *, flag: int = CHANGE) -> None:
    """One entry for each object, so that each can tell who touched it."""
    if objects:
        LogEntry.objects.log_actions(by.pk, objects, flag, change_message=what)


def record_many(by: User, model: type[Model], which: str, what: str) -> LogEntry:
    """One entry for all that was touched at once. `which` says in words what it was."""
    return LogEntry.objects.create(
        user_id=by.pk,
        content_type=ContentType.objects.get_for_model(model),
        object_repr=which[:200],
        action_flag=CHANGE,
        change_message=what,
    )


@admin.register(LogEntry, site=console)
class AuditAdmin(ReadOnlyAdmin[LogEntry]):
    title = "Audit"
    list_display = ("when", "user", "what", "which")
    list_display_links = None
    list_select_related = ("user", "content_type")
    ordering: ClassVar = ["-pk"]

    @admin.display(description="when")
    def when(self, entry: LogEntry) -> SafeString | str:
        return words.stamp(entry.action_time, clock.now())

    @admin.display(description="what")
    def what(self, entry: LogEntry) -> str:
        return entry.get_change_message() or entry.get_action_flag_display()

    @admin.display(description="which")
    def which(self, entry: LogEntry) -> SafeString | str:
        if not entry.object_id:
            return entry.object_repr
        kind = entry.content_type.name if entry.content_type else ""
        url = entry.get_admin_url()
        if not url or entry.is_deletion():
            return f"{kind} {entry.object_repr}"
        return format_html('{} <a href="{}">{}</a>', kind, url, entry.object_repr)
