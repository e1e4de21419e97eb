"""What is done in the console goes on record, and the page that shows the record."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.admin.views.main import ChangeList
from django.db.models import Model
from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from scheduling import audit, clock
from scheduling.admin import words
from scheduling.admin.filters import TenantFilter, ValueFilter
from scheduling.admin.lists import CursorChangeList, ModelAdmin, PageAdmin
from scheduling.admin.site import console
from scheduling.models import OperatorAction

if TYPE_CHECKING:
    from django.contrib.auth.models import User

VERBS = (
    "cancel",
    "redrive",
    "discard",
    "reschedule",
    "export",
    "pause",
    "resume",
    "run now",
    "backfill",
    "create",
    "edit",
    "delete",
    "add",
    "change",
    "issue",
    "revoke",
)
"""Offered to filter by; any other can be typed."""


def operator(request: HttpRequest) -> audit.Actor:
    """Who asks: the console lets in nobody who is not signed in."""
    return audit.Actor(cast("User", request.user).get_username(), audit.Via.CONSOLE)


class Audited(ModelAdmin[Any]):
    """Rows that are edited by form: what Django logs of them is on record as well."""

    verb_of_adding = "add"
    verb_of_changing = "change"

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> LogEntry:
        entry: LogEntry = super().log_addition(request, obj, message)
        self._record(request, self.verb_of_adding, [obj], entry.get_change_message())
        return entry

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> LogEntry:
        entry: LogEntry = super().log_change(request, obj, message)
        self._record(request, self.verb_of_changing, [obj], entry.get_change_message())
        return entry

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        self._record(request, "delete", list(queryset), "")
        return super().log_deletions(request, queryset)

    def _record(self, request: HttpRequest, verb: str, objects: Sequence[Model], note: str) -> None:
        which = ", ".join(map(str, objects))
        what = f"{self.opts.verbose_name} {which}"
        audit.record(operator(request), verb, what, done=len(objects), note=note)


class WhoFilter(ValueFilter):
    title = "who"
    parameter_name = "by"


class VerbFilter(ValueFilter):
    title = "what was done"
    parameter_name = "verb"

    def known(self) -> Iterable[str]:
        return VERBS


@admin.register(OperatorAction, site=console)
class AuditAdmin(PageAdmin[OperatorAction]):
    title = "Audit"
    page_template = "admin/operator_action.html"
    list_display = ("when", "who", "verb", "which", "reason", "counts", "note")
    list_display_links = None
    list_filter = (WhoFilter, VerbFilter, TenantFilter)
    ordering: ClassVar = ["-pk"]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return CursorChangeList

    def about(self, request: HttpRequest, object_id: str) -> dict[str, Any]:
        """One entry, with links to the tasks that were picked."""
        action = self.get_object(request, object_id)
        if action is None:
            raise Http404("There is no such entry.")
        return {
            "title": f"{action.verb}: {action.what}",
            "action": action,
            "tasks": action.tasks.order_by("pk").values_list("task", flat=True),
        }

    @admin.display(description="when")
    def when(self, action: OperatorAction) -> SafeString | str:
        return words.stamp(action.at, clock.now())

    @admin.display(description="who")
    def who(self, action: OperatorAction) -> SafeString | str:
        if action.via == OperatorAction.Via.CONSOLE:
            return action.by
        return format_html("{} <small>{}</small>", action.by, action.get_via_display())

    @admin.display(description="which")
    def which(self, action: OperatorAction) -> SafeString:
        address = reverse("console:scheduling_operatoraction_change", args=[action.pk])
        return format_html('<a href="{}">{}</a>', address, action.what)

    @admin.display(description="done")
    def counts(self, action: OperatorAction) -> SafeString | str:
        """How many, and how many more were meant."""
        done = words.number(action.done)
        if not action.refused:
            return done
        return format_html(
            '{} <span class="warn">{} refused</span>', done, words.number(action.refused)
        )
