"""The operator console: Django's admin over the ledger, its dashboard and its kill switch.

Pages read the tables and call the ledger's verbs; they write nothing themselves but the audit.
"""

from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User

from scheduling.admin import audit, deadletters, pauses, tasks, workers
from scheduling.admin.site import console
from tenants.admin import TenantAdmin, TokenAdmin
from tenants.models import ApiToken, Tenant

console.register(Tenant, TenantAdmin)
console.register(ApiToken, TokenAdmin)
console.register(User, UserAdmin)
console.register(Group, GroupAdmin)

__all__ = ["audit", "console", "deadletters", "pauses", "tasks", "workers"]
