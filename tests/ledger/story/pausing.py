"""What operators and tenants do to the kill switch: pause, resume, look; for ever or for a while."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from scheduling import ledger
from scheduling.ledger.control import scope_of
from scheduling.ledger.values import Receipt
from tests.ledger.story.pauses import ModelPause, Scope
from tests.ledger.story.stage import TENANTS
from tests.ledger.story.working import Working, workers

scopes: st.SearchStrategy[Scope] = st.tuples(
    st.sampled_from(["", *TENANTS]), st.sampled_from(["", "x"]), st.sampled_from(["", "p"])
)
lengths = st.sampled_from([5, 10, 10, None])


class Pausing(Working):
    @rule(scope=scopes, seconds=lengths, by_tenant=st.booleans())
    def pause(self, scope: Scope, seconds: int | None, by_tenant: bool) -> None:
        """A tenant can pause what is its own."""
        self._pause(scope, seconds, by_tenant=by_tenant and scope[0] != "")

    @precondition(lambda self: self.model.pauses)
    @rule(data=st.data(), seconds=lengths, by_tenant=st.booleans())
    def pause_what_is_paused(
        self, data: st.DataObject, seconds: int | None, by_tenant: bool
    ) -> None:
        """Anew, or beside what the other side has paused."""
        scope, _ = data.draw(st.sampled_from(list(self.model.pauses)))
        self._pause(scope, seconds, by_tenant=by_tenant and scope[0] != "")

    @rule(scope=scopes, worker=workers)
    def outlast_a_pause(self, scope: Scope, worker: UUID) -> None:
        """Nobody came by while it stood."""
        self.make_ready()
        self._pause(scope, 5, by_tenant=False)
        self.model.now += timedelta(seconds=5)
        self._claim_and_remember(worker, limit=5, queues=None)

    def _pause(self, scope: Scope, seconds: int | None, *, by_tenant: bool) -> None:
        now, duration = self.model.now, timedelta(seconds=seconds) if seconds else None
        receipt = ledger.pause(
            **self._named(scope), by="op", by_tenant=by_tenant, duration=duration, now=now
        )
        key = (scope, by_tenant)
        since = self.model.pauses[key].since if key in self.model.standing_keys() else now
        was_met = key in self.model.pauses and self.model.pauses[key].was_met
        self.model.pauses[key] = ModelPause(since, now + duration if duration else None, was_met)
        assert (receipt.since, receipt.expires_at) == (since, self.model.pauses[key].end)
        assert self._tells_of(receipt, scope)

    @precondition(lambda self: self.model.pauses)
    @rule(data=st.data(), by_tenant=st.booleans())
    def resume(self, data: st.DataObject, by_tenant: bool) -> None:
        """A tenant resumes what it paused itself, an operator whatever there is."""
        scope, _ = data.draw(st.sampled_from(list(self.model.pauses)))
        self._resume(scope, by_tenant=by_tenant and (scope, True) in self.model.pauses)

    @rule(tenant=st.sampled_from(TENANTS))
    def resume_beside_an_operator(self, tenant: str) -> None:
        """Whose pause stands."""
        scope = (tenant, "", "")
        self._pause(scope, 5, by_tenant=False)
        self._pause(scope, None, by_tenant=True)
        self._resume(scope, by_tenant=True)

    def _resume(self, scope: Scope, *, by_tenant: bool) -> None:
        receipt = ledger.resume(
            **self._named(scope), by="op", by_tenant=by_tenant, now=self.model.now
        )
        for lifted in [True] if by_tenant else [True, False]:
            self.model.pauses.pop((scope, lifted), None)
        self.model.clear_pauses()
        self._check_standing(receipt, scope)

    @rule(scope=scopes)
    def look(self, scope: Scope) -> None:
        self._check_standing(ledger.control(**self._named(scope), now=self.model.now), scope)

    def _check_standing(self, receipt: Receipt, scope: Scope) -> None:
        widest = self.model.widest_over(scope)
        assert receipt.paused == bool(widest)
        assert any(self._tells_of(receipt, told) for told in widest or {scope})

    def _tells_of(self, receipt: Receipt, scope: Scope) -> bool:
        said = (receipt.scope, receipt.in_flight)
        return said == (scope_of(**self._named(scope)), self.model.running_in(scope))

    def _named(self, scope: Scope) -> dict[str, Any]:
        tenant, queue, name = scope
        return {"tenant": self.tenants.get(tenant), "queue": queue, "name": name}
