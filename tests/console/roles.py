"""What each role may do, by the codenames of permissions."""

LOOKING = (
    "view_apitoken",
    "view_deadletter",
    "view_lane",
    "view_logentry",
    "view_pause",
    "view_task",
    "view_tenant",
    "view_workerprocess",
)
OPERATING = ("change_pause", "change_task")
OWNING = (
    "add_apitoken",
    "add_tenant",
    "add_user",
    "change_apitoken",
    "change_group",
    "change_tenant",
    "change_user",
    "delete_tenant",
    "view_group",
    "view_user",
)
PERMISSIONS = {
    "newcomer": (),
    "viewer": LOOKING,
    "operator": LOOKING + OPERATING,
    "owner": LOOKING + OPERATING + OWNING,
}
