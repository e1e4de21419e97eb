"""`/v1/recurring-tasks/{id}/…`: switched, run by hand, made up for, and what became of the ticks."""

from datetime import timedelta
from typing import Any

import pytest

from scheduling import clock, ledger
from scheduling.models import OperatorAction, Task
from tenants.models import Tenant
from tests.api.kit import Api, faults, problem
from tests.api.recurring import PATH, create, kept_since
from tests.ledger.kit import take

pytestmark = [pytest.mark.django_db, pytest.mark.ledger]


class TestSwitching:
    def test_paused_and_resumed(self, api_a: Api) -> None:
        address = f"{PATH}/{create(api_a)['id']}"
        paused = api_a.post(f"{address}/pause", {"reason": "a bad release"}).json()
        assert (paused["paused"], paused["paused_reason"]) == (True, "a bad release")
        assert ledger.fire_due(now=clock.now() + timedelta(days=2)).fired == 0
        resumed = api_a.post(f"{address}/resume").json()
        assert (resumed["paused"], resumed["paused_reason"]) == (False, "")
        assert problem(api_a.post(f"{address}/pause", if_match='"1-x"')) == (412, "changed")

    def test_one_may_be_created_paused(self, api_a: Api) -> None:
        assert create(api_a, paused=True)["paused"] is True


class TestRunningByHand:
    def test_a_task_is_made_at_once(self, api_a: Api) -> None:
        row = create(api_a)
        answer = api_a.post(f"{PATH}/{row['id']}/run", {"reason": "asked for"})
        assert answer.status_code == 201, answer.content
        task = answer.json()
        assert (task["name"], task["payload"]) == ("demo.echo", {"message": "hello"})
        assert api_a.get(answer["Location"]).json()["id"] == task["id"]
        [tick] = api_a.get(f"{PATH}/{row['id']}/ticks").json()["ticks"]
        assert (tick["origin"], tick["outcome"], tick["task_id"]) == (
            "run_now",
            "fired",
            task["id"],
        )
        assert api_a.get(f"{PATH}/{row['id']}").json()["next_at"] == row["next_at"]

    def test_a_key_in_the_header_is_not_quietly_ignored(self, api_a: Api) -> None:
        address = f"{PATH}/{create(api_a)['id']}"
        refused = api_a.post(f"{address}/run", idempotency_key="k")
        assert faults(refused).keys() == {"idempotency_key"}
        assert api_a.get(f"{address}/ticks").json()["ticks"] == []

    def test_one_that_must_not_overlap_is_refused(self, api_a: Api) -> None:
        address = f"{PATH}/{create(api_a)['id']}/run"
        task = api_a.post(address).json()
        refused = api_a.post(address)
        assert problem(refused) == (409, "overlapping")
        assert refused.json()["task_id"] == task["id"]

    def test_the_one_in_the_way_is_asked_to_stop_where_that_is_the_policy(self, api_a: Api) -> None:
        address = f"{PATH}/{create(api_a, overlap='cancel_other')['id']}/run"
        api_a.post(address)
        [claim] = take(now=clock.now())
        assert problem(api_a.post(address, {"reason": "at once"})) == (409, "overlapping")
        assert Task.objects.get(pk=claim.task_id).cancel_requested_at
        entry = OperatorAction.objects.latest("pk")
        assert (entry.verb, entry.done, entry.refused, entry.reason) == ("run now", 0, 1, "at once")
        assert str(claim.task_id) in entry.note

    def test_a_range_is_looked_at_and_then_made_up_for(self, api_a: Api, tenant_a: Tenant) -> None:
        now = clock.now().replace(minute=30, second=0, microsecond=0)
        row = kept_since(tenant_a, now - timedelta(hours=1), overlap="allow")
        start, end = now - timedelta(hours=5), now - timedelta(hours=2)
        address = f"{PATH}/{row.pk}/backfill"
        body = {"start": start.isoformat(), "end": end.isoformat()}
        hours = [f"{start + timedelta(minutes=30, hours=n):%Y-%m-%dT%H:%M:%SZ}" for n in range(3)]

        looked = api_a.post(address, body | {"preview": True}).json()
        assert (looked["missing"], looked["fired"]) == (hours, [])
        assert not Task.objects.exists()

        first = api_a.post(address, body | {"limit": 2}).json()
        assert (first["fired"], first["next_start"]) == (hours[:2], hours[2])
        rest = api_a.post(address, body | {"start": first["next_start"]}).json()
        assert (rest["fired"], rest["next_start"]) == (hours[2:], None)
        assert Task.objects.count() == 3

        again = api_a.post(address, body).json()
        assert (again["fired"], again["missing"], again["left_alone"]) == ([], [], 3)
        assert Task.objects.count() == 3

    def test_all_of_the_calendar_is_a_range(self, api_a: Api) -> None:
        row = create(api_a, ends_at="9999-01-01T00:00:00Z", starts_at=clock.now().isoformat())
        body = {"start": "0001-01-01T00:00:00Z", "end": "9999-12-31T23:59:59Z"}
        for preview in (True, False):
            answer = api_a.post(f"{PATH}/{row['id']}/backfill", body | {"preview": preview})
            assert (answer.status_code, answer.json()["missing"]) == (200, [])

    @pytest.mark.parametrize(
        ("wrong", "field"),
        [
            ({"end": "2026-01-01T00:00:00Z"}, "end"),
            ({"start": "2027-01-01"}, "start"),
            ({"start": None}, "start"),
            ({"limit": 0}, "limit"),
            ({"limit": 1001}, "limit"),
            ({"preview": "yes"}, "preview"),
            ({"until": "2027-01-01T00:00:00Z"}, "until"),
        ],
    )
    def test_what_is_no_range_is_refused(self, api_a: Api, wrong: Any, field: str) -> None:
        body = {"start": "2026-02-01T00:00:00Z", "end": "2026-03-01T00:00:00Z"}
        answer = api_a.post(f"{PATH}/{create(api_a)['id']}/backfill", body | wrong)
        assert faults(answer).keys() == {field}


class TestTicks:
    def test_they_are_walked_page_by_page_newest_first(self, api_a: Api, tenant_a: Tenant) -> None:
        now = clock.now()
        row = kept_since(tenant_a, now - timedelta(hours=6), catchup="none")
        ledger.fire_due(now=now)
        api_a.post(f"{PATH}/{row.pk}/run")
        found, address = [], f"{PATH}/{row.pk}/ticks?limit=2"
        while address:
            page = api_a.get(address).json()
            found += page["ticks"]
            address = page["next"]
        assert [tick["at"] for tick in found] == sorted(
            (tick["at"] for tick in found), reverse=True
        )
        assert sum(tick["count"] for tick in found) == 7
        skipped = api_a.get(f"{PATH}/{row.pk}/ticks?outcome=skipped_catchup").json()["ticks"]
        assert [tick for tick in found if tick["outcome"] == "skipped_catchup"] == skipped
        assert api_a.get(f"{PATH}/{row.pk}/ticks?outcome=waiting").json()["ticks"] == []

    @pytest.mark.parametrize("cursor", ["x", "1", "1.", "9" * 18 + ".1", "-" + "9" * 18 + ".1", "1.5.2"])  # fmt: skip
    def test_a_cursor_that_was_made_up_is_refused_or_leads_nowhere(
        self, api_a: Api, cursor: str
    ) -> None:
        answer = api_a.get(f"{PATH}/{create(api_a)['id']}/ticks?cursor={cursor}")
        assert answer.status_code == 200 or faults(answer).keys() == {"cursor"}
