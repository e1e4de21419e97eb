"""What operators and tenants do to the kill switch: pause, resume, look; for ever or for a while."""

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from scheduling import ledger
from scheduling.ledger.control import scope_of
from scheduling.ledger.values import Receipt
from tests.ledger.story.model import ModelPause, Scope
from tests.ledger.story.stage import TENANTS, Stage

scopes: st.SearchStrategy[Scope] = st.tuples(
    st.sampled_from(["", *TENANTS]), st.sampled_from(["", "x"]), st.sampled_from(["", "p"])
)


class Pausing(Stage):
    @rule(scope=scopes, seconds=st.sampled_from([5, 10, 10, None]), by_tenant=st.booleans())
    def pause(self, scope: Scope, seconds: int | None, by_tenant: bool) -> None:
        """A tenant can pause what is its own."""
        now, duration = self.model.now, timedelta(seconds=seconds) if seconds else None
        by_tenant &= scope[0] != ""
        receipt = ledger.pause(
            **self._named(scope), by="op", by_tenant=by_tenant, duration=duration, now=now
        )
        key = (scope, by_tenant)
        since = self.model.pauses[key].since if key in self.model.standing_keys() else now
        self.model.pauses[key] = ModelPause(since, now + duration if duration else None)
        assert (receipt.since, receipt.expires_at) == (since, self.model.pauses[key].end)
        assert self._tells_of(receipt, scope)

    @precondition(lambda self: self.model.pauses)
    @rule(data=st.data(), by_tenant=st.booleans())
    def resume(self, data: st.DataObject, by_tenant: bool) -> None:
        """A tenant resumes what it paused itself, an operator whatever there is."""
        scope, _ = data.draw(st.sampled_from(list(self.model.pauses)))
        by_tenant &= (scope, True) in self.model.pauses
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
