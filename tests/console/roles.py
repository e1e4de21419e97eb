"""What each role may do, by the codenames of permissions: the groups that every installation begins with."""

from importlib import import_module

ROLES = import_module("scheduling.migrations.0010_roles").ROLES
PERMISSIONS: dict[str, list[str]] = {
    "newcomer": [],
    **{role: [key[-1] for key in permissions] for role, permissions in ROLES.items()},
}
