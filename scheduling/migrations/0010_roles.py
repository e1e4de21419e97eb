"""The groups `viewer`, `operator` and `owner`, and what each may do in the console."""

from typing import Any

from django.db import migrations

LOOKING = {
    ("scheduling", "lane", "view_lane"): "Can view lane",
    ("scheduling", "operatoraction", "view_operatoraction"): "Can view operator action",
    ("scheduling", "pause", "view_pause"): "Can view pause",
    ("scheduling", "recurringtask", "view_recurringtask"): "Can view recurring task",
    ("scheduling", "task", "view_task"): "Can view task",
    ("scheduling", "tick", "view_tick"): "Can view tick",
    ("scheduling", "workerprocess", "view_workerprocess"): "Can view worker process",
    ("tenants", "tenant", "view_tenant"): "Can view tenant",
}
OPERATING = {
    ("scheduling", "pause", "change_pause"): "Can change pause",
    ("scheduling", "recurringtask", "add_recurringtask"): "Can add recurring task",
    ("scheduling", "recurringtask", "backfill_recurringtask"): "Can backfill recurring tasks",
    ("scheduling", "recurringtask", "change_recurringtask"): "Can change recurring task",
    ("scheduling", "recurringtask", "delete_recurringtask"): "Can delete recurring task",
    ("scheduling", "recurringtask", "pause_recurringtask"): "Can pause and resume recurring tasks",
    ("scheduling", "recurringtask", "run_recurringtask"): "Can run recurring tasks now",
    ("scheduling", "task", "cancel_task"): "Can cancel tasks",
    ("scheduling", "task", "discard_task"): "Can discard dead letters",
    ("scheduling", "task", "redrive_task"): "Can redrive dead letters",
    ("scheduling", "task", "reschedule_task"): "Can change when tasks are due, and their priority",
}
OWNING = {
    ("tenants", "apitoken", "add_apitoken"): "Can add api token",
    ("tenants", "apitoken", "change_apitoken"): "Can change api token",
    ("tenants", "apitoken", "view_apitoken"): "Can view api token",
    ("tenants", "tenant", "add_tenant"): "Can add tenant",
    ("tenants", "tenant", "change_tenant"): "Can change tenant",
    ("tenants", "tenant", "delete_tenant"): "Can delete tenant",
}
ROLES = {
    "viewer": LOOKING,
    "operator": LOOKING | OPERATING,
    "owner": LOOKING | OPERATING | OWNING,
}


def create_roles(apps: Any, schema_editor: Any) -> None:
    """A group that is there already, under one of these names, is somebody's own and stays as it is."""
    using = schema_editor.connection.alias
    groups = apps.get_model("auth", "Group").objects.using(using)
    for role, permissions in ROLES.items():
        group, is_new = groups.get_or_create(name=role)
        if is_new:
            group.permissions.set(
                permission(apps, using, *key, name) for key, name in permissions.items()
            )


def permission(apps: Any, using: str, app: str, model: str, codename: str, name: str) -> Any:
    """Django makes them at the end of `migrate`, and leaves those alone that are there."""
    types = apps.get_model("contenttypes", "ContentType").objects.using(using)
    kind, _ = types.get_or_create(app_label=app, model=model)
    permissions = apps.get_model("auth", "Permission").objects.using(using)
    found, _ = permissions.get_or_create(
        content_type=kind, codename=codename, defaults={"name": name}
    )
    return found


class Migration(migrations.Migration):
    dependencies = [
        ("scheduling", "0009_console"),
        ("tenants", "0002_sign_in_tries"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [migrations.RunPython(create_roles, migrations.RunPython.noop)]
