"""Users and groups in the console. Nobody else administers them here."""

from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User

from scheduling.admin import console
from scheduling.admin.audit import Audited


class AuditedUsers(Audited, UserAdmin):  # type: ignore[type-arg]  # generic in the stubs only
    """Who let whom in."""


class AuditedGroups(Audited, GroupAdmin):
    """Who changed what others may do."""


console.register(User, AuditedUsers)
console.register(Group, AuditedGroups)
console.navigation += [(User, "Users"), (Group, "Groups")]
