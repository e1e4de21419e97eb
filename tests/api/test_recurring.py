"""`/v1/recurring-tasks`: kept, edited without losing anybody's edit, and thought ahead."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from pytest_django import Settings

from scheduling import clock, ledger
from scheduling.models import OperatorAction, RecurringTask, Task
from tenants.models import ApiToken, Scope, Tenant
from tests.api.kit import Api, Response, faults, problem
from tests.api.recurring import NIGHTLY, PATH, create, kept_since

pytestmark = [pytest.mark.django_db, pytest.mark.ledger]


def patch(api: Api, row: Any, changes: Any, **headers: str) -> Response:
    return api.send("PATCH", f"{PATH}/{row['id']}", changes, **headers)


def version_of(answer: Response) -> str:
    return answer["ETag"]


class TestCreating:
    def test_it_is_answered_as_it_is_kept_and_found_at_its_address(self, api_a: Api) -> None:
        answer = api_a.post(PATH, NIGHTLY)
        assert answer.status_code == 201, answer.content
        shown = answer.json()
        assert shown.items() >= NIGHTLY.items()
        assert shown["in_words"] == "At 02:30"
        assert (shown["overlap"], shown["paused"], shown["failures"]) == ("skip", False, 0)
        assert shown["next_at"] > shown["created_at"]
        read = api_a.get(answer["Location"])
        assert read.json() == shown
        assert version_of(read) == version_of(answer)

    def test_what_is_not_said_is_as_the_task_declares(self, api_a: Api) -> None:
        shown = create(api_a, queue=None, priority=None, max_attempts=7, every_seconds=None)
        task = api_a.enqueue().json()
        assert (shown["queue"], shown["priority"]) == (task["queue"], task["priority"])
        assert shown["max_attempts"] == 7

    def test_the_rule_is_spelled_as_it_is_understood(self, api_a: Api) -> None:
        shown = create(api_a, cron=" 30 02 * * mon-fri ", timezone="europe/BERLIN")
        assert (shown["cron"], shown["timezone"]) == ("30 02 * * MON-FRI", "Europe/Berlin")

    def test_an_interval_has_an_anchor(self, api_a: Api) -> None:
        anchor = "2027-01-01T10:00:00+02:00"
        shown = create(api_a, cron=None, every_seconds=5400, anchor=anchor)
        assert (shown["cron"], shown["every_seconds"]) == (None, 5400)
        assert shown["anchor"] == "2027-01-01T08:00:00Z"
        assert shown["in_words"] == "Every 1h30m, counted from 2027-01-01 08:00:00 UTC"

    def test_no_two_of_one_tenant_have_one_name(self, api_a: Api, api_b: Api) -> None:
        create(api_a)
        assert problem(api_a.post(PATH, NIGHTLY)) == (409, "name-taken")
        create(api_b)

    def test_there_are_so_many_of_one_tenant_and_no_more(
        self, api_a: Api, api_b: Api, settings: Settings
    ) -> None:
        settings.RENTROLL = settings.RENTROLL | {"TENANT_MAX_RECURRING": 1}
        create(api_a)
        refused = api_a.post(PATH, NIGHTLY | {"name": "second"})
        assert problem(refused) == (409, "too-many-recurring-tasks")
        assert refused.json()["allowed"] == 1
        assert api_b.post(PATH, NIGHTLY).status_code == 201

    def test_an_operator_says_whose_it_is(self, operator: Api, tenant_a: Tenant) -> None:
        assert faults(operator.post(PATH, NIGHTLY)).keys() == {"tenant"}
        assert create(operator, tenant="tenant-a")["tenant"] == "tenant-a"

    def test_an_idempotency_key_is_refused_because_the_name_is_one(self, api_a: Api) -> None:
        answer = api_a.post(PATH, NIGHTLY, idempotency_key="x")
        assert faults(answer).keys() == {"idempotency_key"}

    @pytest.mark.parametrize(
        ("wrong", "fields"),
        [
            ({"cron": "* * * *"}, {"cron"}),
            ({"cron": "0 1 0/10 * *"}, {"cron"}),
            ({"cron": "*/90 * * * *"}, {"cron"}),
            ({"cron": "*/0 * * * *"}, {"cron"}),
            ({"cron": "0 * * * * *"}, {"cron"}),
            ({"cron": "0 0 0 * * * *"}, {"cron"}),
            ({"cron": "R R * * *"}, {"cron"}),
            ({"cron": "H H * * *"}, {"cron"}),
            ({"cron": "@reboot"}, {"cron"}),
            ({"cron": "\uff15 * * * *"}, {"cron"}),
            ({"cron": "0 0 31 2 *"}, {"cron"}),
            ({"cron": "*/30 2 * 3 SUNL"}, {"cron"}),
            ({"ends_at": "2021-06-01T00:00:00Z"}, {"ends_at"}),
            ({"cron": "* " * 5000}, {"cron"}),
            ({"cron": ["*"] * 5}, {"cron"}),
            ({"cron": ""}, {"cron"}),
            ({"cron": None}, {"cron"}),
            ({"every_seconds": 60}, {"cron"}),
            ({"cron": None, "every_seconds": 0}, {"every_seconds"}),
            ({"cron": None, "every_seconds": 10**18}, {"every_seconds"}),
            ({"cron": None, "every_seconds": 1.5}, {"every_seconds"}),
            ({"cron": None, "every_seconds": True}, {"every_seconds"}),
            ({"anchor": "2027-01-01T00:00:00Z"}, {"anchor"}),
            ({"timezone": "Mars/Base"}, {"timezone"}),
            ({"timezone": "../../etc/passwd"}, {"timezone"}),
            ({"timezone": 1}, {"timezone"}),
            ({"timezone": "x" * 10_000}, {"timezone"}),
            ({"starts_at": "2027-03-28T02:30:00"}, {"starts_at"}),
            ({"starts_at": "2027-03-28"}, {"starts_at"}),
            ({"starts_at": "2027-W12-7"}, {"starts_at"}),
            ({"starts_at": 5}, {"starts_at"}),
            ({"ends_at": "0001-01-01T00:00:00+14:00"}, {"ends_at"}),
            ({"ends_at": "9999-12-31T23:59:59-12:00"}, {"ends_at"}),
            ({"starts_at": "2027-01-02T00:00:00Z", "ends_at": "2027-01-01T00:00:00Z"}, {"ends_at"}),
            ({"jitter_seconds": -1}, {"jitter_seconds"}),
            ({"overlap": "sometimes"}, {"overlap"}),
            ({"overlap": ["skip"]}, {"overlap"}),
            ({"catchup": 1}, {"catchup"}),
            ({"catchup_window_seconds": 10**12}, {"catchup_window_seconds"}),
            ({"pause_after_failures": 0}, {"pause_after_failures"}),
            ({"paused": "yes"}, {"paused"}),
            ({"name": "a b"}, {"name"}),
            ({"name": None}, {"name"}),
            ({"task_name": "nobody.knows"}, {"task_name"}),
            ({"task_name": None}, {"task_name"}),
            ({"task_name": 5}, {"task_name"}),
            ({"payload": []}, {"payload"}),
            ({"task_name": "demo.sleep", "payload": {"secnds": 1}}, {"payload.seconds", "payload.secnds"}),
            ({"queue": "a b"}, {"queue"}),
            ({"queue": []}, {"queue"}),
            ({"priority": 101}, {"priority"}),
            ({"max_attempts": 0}, {"max_attempts"}),
            ({"timeout_seconds": 0}, {"timeout_seconds"}),
            ({"deadline_seconds": 0}, {"deadline_seconds"}),
            ({"crom": "x", "priority": 101, "cron": "60 * * * *", "overlap": "x", "payload": []},
             {"crom", "priority", "cron", "overlap", "payload"}),
        ],
    )  # fmt: skip
    def test_what_cannot_be_is_refused_field_by_field(
        self, api_a: Api, wrong: dict[str, Any], fields: set[str]
    ) -> None:
        found = faults(api_a.post(PATH, NIGHTLY | wrong))
        assert found.keys() == fields
        assert all(len(fault) < 200 for fault in found.values())
        assert not RecurringTask.objects.exists()


class TestReading:
    def test_a_list_is_walked_page_by_page_newest_first(
        self, api_a: Api, api_b: Api, operator: Api
    ) -> None:
        names = [f"report-{n}" for n in range(5)]
        for name in names:
            create(api_a, name=name)
        create(api_b)
        found, address = [], f"{PATH}?limit=2"
        while address:
            page = api_a.get(address).json()
            found += [row["name"] for row in page["recurring_tasks"]]
            assert all("payload" not in row for row in page["recurring_tasks"])
            address = page["next"]
        assert found == names[::-1]
        assert len(operator.get(PATH).json()["recurring_tasks"]) == 6
        assert len(operator.get(f"{PATH}?tenant=tenant-b").json()["recurring_tasks"]) == 1
        assert problem(api_a.get(f"{PATH}?tenant=tenant-b")) == (403, "wrong-tenant")

    def test_filters_narrow_and_a_misspelt_one_is_refused(self, api_a: Api) -> None:
        create(api_a)
        create(api_a, name="other")
        assert len(api_a.get(f"{PATH}?name=other").json()["recurring_tasks"]) == 1
        assert len(api_a.get(f"{PATH}?task_name=demo.echo").json()["recurring_tasks"]) == 2
        assert faults(api_a.get(f"{PATH}?nme=other")).keys() == {"nme"}

    def test_what_is_known_already_is_not_told_again(self, api_a: Api) -> None:
        row = create(api_a)
        address = f"{PATH}/{row['id']}"
        tag = version_of(api_a.get(address))
        for known in (tag, f"W/{tag}", f'"x", {tag}', "*"):
            again = api_a.get(address, if_none_match=known)
            assert (again.status_code, again.content) == (304, b"")
            assert version_of(again) == tag
        assert api_a.get(address, if_none_match='"x"').status_code == 200
        ledger.fire_due(now=clock.now() + timedelta(days=2))
        told = api_a.get(address, if_none_match=tag)
        assert told.status_code == 200
        assert told.json()["last_at"]

    def test_a_rule_that_cannot_be_followed_any_more_is_shown_all_the_same(
        self, api_a: Api
    ) -> None:
        row = create(api_a)
        gone = {"disabled_reason": "There is no such zone any more.", "fires_at": None}
        RecurringTask.objects.update(timezone="Mars/Base", **gone)
        for address in (PATH, f"{PATH}/{row['id']}"):
            assert api_a.get(address).status_code == 200
        assert faults(api_a.get(f"{PATH}/{row['id']}/preview")).keys() == {"timezone"}


class TestEditing:
    def test_it_needs_the_edition_that_was_seen(self, api_a: Api) -> None:
        row = create(api_a)
        assert problem(patch(api_a, row, {"priority": 5})) == (428, "precondition-required")
        seen = version_of(api_a.get(f"{PATH}/{row['id']}"))
        edited = patch(api_a, row, {"priority": 5, "timezone": None}, if_match=seen)
        assert edited.status_code == 200, edited.content
        assert (edited.json()["priority"], edited.json()["timezone"]) == (5, "UTC")
        for stale in (seen, f"W/{version_of(edited)}", '"x"', "x", '""'):
            refused = patch(api_a, row, {"priority": 6}, if_match=stale)
            assert problem(refused) == (412, "changed")
        assert patch(api_a, row, {"priority": 7}, if_match=f"{seen}, {version_of(edited)}").json()["priority"] == 7  # fmt: skip
        assert patch(api_a, row, {"priority": 8}, if_match="*").json()["priority"] == 8

    def test_a_tick_meanwhile_is_no_edit(self, api_a: Api) -> None:
        row = create(api_a)
        seen = version_of(api_a.get(f"{PATH}/{row['id']}"))
        ledger.fire_due(now=clock.now() + timedelta(days=2))
        assert patch(api_a, row, {"priority": 5}, if_match=seen).status_code == 200

    def test_a_cron_expression_takes_the_place_of_an_interval(self, api_a: Api) -> None:
        row = create(api_a, cron=None, every_seconds=60)
        edited = patch(api_a, row, {"cron": "0 9 * * *"}, if_match="*").json()
        assert (edited["cron"], edited["every_seconds"], edited["anchor"]) == ("0 9 * * *", None, None)  # fmt: skip
        edited = patch(api_a, row, {"every_seconds": 90}, if_match="*").json()
        assert (edited["cron"], edited["every_seconds"]) == (None, 90)

    @pytest.mark.parametrize(
        ("changes", "fields"),
        [
            ({"cron": "60 * * * *", "priority": "high", "catchup": 1}, {"cron", "priority", "catchup"}),
            ({"cron": None}, {"cron"}),
            ({"task_name": "demo.sleep", "payload": {"secnds": 1}}, {"payload.seconds", "payload.secnds"}),
            ({"task_name": "nobody.knows"}, {"task_name"}),
            ({"name": None}, {"name"}),
            ({"paused": True}, {"paused"}),
            ({"tenant": "tenant-b"}, {"tenant"}),
            ({"id": "x"}, {"id"}),
        ],
    )  # fmt: skip
    def test_what_cannot_be_is_refused_and_nothing_is_changed(
        self, api_a: Api, changes: dict[str, Any], fields: set[str]
    ) -> None:
        row = create(api_a)
        assert faults(patch(api_a, row, changes, if_match="*")).keys() == fields
        assert api_a.get(f"{PATH}/{row['id']}").json() == row

    def test_a_name_that_is_taken_is_refused(self, api_a: Api) -> None:
        create(api_a, name="other")
        row = create(api_a)
        assert problem(patch(api_a, row, {"name": "other"}, if_match="*")) == (409, "name-taken")

    def test_one_that_lay_paused_is_caught_up_with_in_short_transactions(
        self, api_a: Api, tenant_a: Tenant
    ) -> None:
        """Else an edit holds up everybody; so what was caught up with stays, though the edit is refused."""
        kept_since(tenant_a, clock.now(), name="other")
        row = kept_since(tenant_a, clock.now() - timedelta(days=60), paused=True)
        address = f"{PATH}/{row.pk}"
        assert problem(api_a.send("PATCH", address, {"name": "other"}, if_match="*")) == (409, "name-taken")  # fmt: skip
        assert row.reached_at < RecurringTask.objects.get(pk=row.pk).reached_at
        assert not OperatorAction.objects.exists()
        assert api_a.send("PATCH", address, {"priority": 5}, if_match="*").status_code == 200
        assert OperatorAction.objects.get().verb == "edit"


class TestDeleting:
    def test_it_is_gone_and_its_tasks_stay(self, api_a: Api, tenant_a: Tenant) -> None:
        row = create(api_a)
        ledger.fire_due(now=clock.now() + timedelta(days=2))
        address = f"{PATH}/{row['id']}"
        assert problem(api_a.send("DELETE", address, if_match='"0-x"')) == (412, "changed")
        assert api_a.send("DELETE", address).status_code == 204
        assert problem(api_a.get(address)) == (404, "unknown-recurring-task")
        assert Task.objects.exists()

    def test_what_code_declares_cannot_be_deleted_for_good(
        self, api_a: Api, tenant_a: Tenant
    ) -> None:
        row = create(api_a)
        RecurringTask.objects.update(declared_in_code=True)
        refused = api_a.send("DELETE", f"{PATH}/{row['id']}")
        assert problem(refused) == (409, "declared-in-code")


class TestPreview:
    BEFORE = "2027-03-26T12:00:00Z"

    def test_the_next_ten_in_the_zone_and_in_utc_with_what_the_clocks_do(self, api_a: Api) -> None:
        row = create(api_a)
        stored = api_a.get(f"{PATH}/{row['id']}/preview?after={self.BEFORE}").json()
        rule = {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "after": self.BEFORE}
        thought_of = api_a.post(f"{PATH}/preview", rule)
        assert thought_of.json() == stored
        assert len(stored["instants"]) == 10
        assert stored["instants"][:3] == [
            {"at": "2027-03-27T01:30:00Z", "local": "2027-03-27T02:30:00+01:00", "dst": None},
            {"at": "2027-03-28T01:00:00Z", "local": "2027-03-28T03:00:00+02:00", "dst": "moved"},
            {"at": "2027-03-29T00:30:00Z", "local": "2027-03-29T02:30:00+02:00", "dst": None},
        ]

    def test_what_the_clocks_keep_from_running_is_told_apart(self, api_a: Api) -> None:
        rule = {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "count": 2}
        told = api_a.post(f"{PATH}/preview", rule | {"after": "2027-10-30T12:00:00Z"}).json()
        assert [each["dst"] for each in told["instants"]] == ["repeated", None]
        assert told["skipped"] == [
            {"at": "2027-10-31T01:30:00Z", "local": "2027-10-31T02:30:00+01:00", "dst": "skipped"}
        ]

    def test_so_many_are_told_that_are_left_out_and_no_more(self, api_a: Api) -> None:
        mostly_left_out = {"cron": "*/30 2 24-31 3 */7", "timezone": "Europe/Berlin", "count": 50}
        told = api_a.post(f"{PATH}/preview", mostly_left_out | {"after": self.BEFORE}).json()
        assert len(told["skipped"]) == 50
        assert 0 < len(told["instants"]) < 20

    def test_it_begins_now_and_may_be_over_sooner(self, api_a: Api) -> None:
        soon, end = (clock.now() + timedelta(hours=hours) for hours in (0.5, 3))
        rule = {"every_seconds": 3600, "anchor": soon.isoformat(), "ends_at": end.isoformat()}
        assert len(api_a.post(f"{PATH}/preview", rule).json()["instants"]) == 3

    @pytest.mark.parametrize(
        ("rule", "field"),
        [
            ({}, "cron"),
            ({"cron": "60 * * * *"}, "cron"),
            ({"cron": "* * * * *", "timezone": "x"}, "timezone"),
            ({"cron": "* * * * *", "name": "x"}, "name"),
            ({"cron": "* * * * *", "count": 51}, "count"),
            ({"cron": "* * * * *", "after": "2027-01-01"}, "after"),
            ({"every_seconds": 5, "anchor": "now"}, "anchor"),
        ],
    )
    def test_what_is_no_rule_is_refused(self, api_a: Api, rule: Any, field: str) -> None:
        assert faults(api_a.post(f"{PATH}/preview", rule)).keys() == {field}

    @pytest.mark.parametrize("after", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
    def test_the_edges_of_the_calendar_do_no_harm(self, api_a: Api, after: str) -> None:
        for rule in ({"cron": "* * * * *"}, {"every_seconds": 1}):
            far = {"timezone": "Pacific/Kiritimati", "after": after}
            assert api_a.post(f"{PATH}/preview", rule | far).status_code == 200


ONE = [
    ("GET", "/v1/recurring-tasks/{}"),
    ("PATCH", "/v1/recurring-tasks/{}"),
    ("DELETE", "/v1/recurring-tasks/{}"),
    ("POST", "/v1/recurring-tasks/{}/pause"),
    ("POST", "/v1/recurring-tasks/{}/resume"),
    ("POST", "/v1/recurring-tasks/{}/run"),
    ("POST", "/v1/recurring-tasks/{}/backfill"),
    ("GET", "/v1/recurring-tasks/{}/preview"),
    ("GET", "/v1/recurring-tasks/{}/ticks"),
]


@pytest.mark.parametrize(("method", "route"), ONE)
def test_another_tenants_is_none_at_all(api_a: Api, api_b: Api, method: str, route: str) -> None:
    of_b, nobodys = create(api_b)["id"], str(uuid4())
    before = RecurringTask.objects.values().get()
    answers = [
        api_a.send(method, route.format(one), "" if method == "GET" else {}, if_match="*")
        for one in (of_b, nobodys, "x")
    ]
    for answer in answers:
        assert problem(answer) == (404, "unknown-recurring-task")
    strangers, unknown, _ = (answer.content.decode() for answer in answers)
    assert strangers.replace(of_b, "…") == unknown.replace(nobodys, "…")
    assert RecurringTask.objects.values().get() == before


@pytest.mark.parametrize(
    ("method", "route", "scope"),
    [
        ("POST", "", Scope.ENQUEUE),
        ("GET", "", Scope.READ),
        ("POST", "/preview", Scope.READ),
        ("GET", "/{}", Scope.READ),
        ("PATCH", "/{}", Scope.CONTROL),
        ("DELETE", "/{}", Scope.CONTROL),
        ("POST", "/{}/pause", Scope.CONTROL),
        ("POST", "/{}/resume", Scope.CONTROL),
        ("POST", "/{}/run", Scope.ENQUEUE),
        ("POST", "/{}/backfill", Scope.ENQUEUE),
        ("GET", "/{}/preview", Scope.READ),
        ("GET", "/{}/ticks", Scope.READ),
    ],
)
def test_it_needs_its_scope(tenant_a: Tenant, method: str, route: str, scope: Scope) -> None:
    others = [one for one in Scope if one != scope]
    api = Api(ApiToken.objects.issue(tenant=tenant_a, scopes=others)[1])
    answer = api.send(method, PATH + route.format(UUID(int=1)), {})
    assert problem(answer) == (403, "missing-scope")


def test_what_is_done_by_hand_is_on_record(api_a: Api) -> None:
    row = create(api_a)
    address = f"{PATH}/{row['id']}"
    patch(api_a, row, {"priority": 5, "queue": "mail"}, if_match="*")
    for verb in ("pause", "resume", "run"):
        api_a.post(f"{address}/{verb}", {"reason": verb})
    range_ = {"start": "2026-02-01T00:00:00Z", "end": "2026-02-02T00:00:00Z", "reason": "late"}
    api_a.post(f"{address}/backfill", range_)
    api_a.send("DELETE", address)
    entries = OperatorAction.objects.order_by("pk").values_list("verb", "what", "reason", "done")
    what = "recurring task report"
    assert list(entries) == [
        ("create", what, "", 1),
        ("edit", what, "", 1),
        ("pause", what, "pause", 1),
        ("resume", what, "resume", 1),
        ("run now", what, "run", 1),
        ("backfill", what, "late", 1),
        ("delete", what, "", 1),
    ]
