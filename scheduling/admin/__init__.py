"""The operator console: Django's admin over the ledger, its dashboard and its kill switch.

Pages read the tables and call the ledger's verbs; they write nothing themselves but the audit.
"""

from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User

from scheduling.admin import audit, deadletters, pauses, recurring, tasks, workers
from scheduling.admin.audit import Audited
from scheduling.admin.site import console
from scheduling.admin.tenants import AuditedTenants
from tenants.admin import TokenAdmin
from tenants.models import ApiToken, Tenant


class AuditedTokens(Audited, TokenAdmin):
    """Who issued and revoked which."""

    verb_of_adding = "issue"
    verb_of_changing = "revoke"


class AuditedUsers(Audited, UserAdmin):  # type: ignore[type-arg]  # generic in the stubs only
    """Who let whom in."""


class AuditedGroups(Audited, GroupAdmin):
    """Who changed what others may do."""


console.register(Tenant, AuditedTenants)
console.register(ApiToken, AuditedTokens)
console.register(User, AuditedUsers)
console.register(Group, AuditedGroups)

__all__ = ["audit", "console", "deadletters", "pauses", "recurring", "tasks", "workers"]
