"""The operator console: Django's admin over the ledger, its dashboard and its kill switch.

Pages read the tables and call the ledger's verbs; they write nothing themselves but the audit. Who may sign in, and
what they may do, is a matter of the project: it has users of its own, and an admin for them.
"""

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


console.register(Tenant, AuditedTenants)
console.register(ApiToken, AuditedTokens)

__all__ = ["audit", "console", "deadletters", "pauses", "recurring", "tasks", "workers"]
