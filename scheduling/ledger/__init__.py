"""The ledger: the only writer of its tables, in a dozen verbs.

Every verb takes a batch, is one transaction (or part of the caller's), and keeps the invariants that
`check.violations()` recounts. Edges parse, call one verb, and render.
"""

from scheduling.ledger.cancel import Cancelling, cancel
from scheduling.ledger.claim import LEASE, Claims, claim, reach_of
from scheduling.ledger.control import control, pause, resume
from scheduling.ledger.enqueue import enqueue
from scheduling.ledger.explain import Explanation, Why, explain
from scheduling.ledger.paces import write_paces, write_paces_now_and_then
from scheduling.ledger.progress import Progress
from scheduling.ledger.promising import promising
from scheduling.ledger.promote import Promotion, promote
from scheduling.ledger.prune import Pruning, prune, prune_throughput
from scheduling.ledger.reap import held_leases, reap
from scheduling.ledger.recurring import (
    Backfilled,
    Fired,
    NewRecurring,
    backfill,
    backfill_preview,
    check_recurring,
    create_recurring,
    delete_recurring,
    edit_recurring,
    fire_due,
    pause_recurring,
    prune_ticks,
    retire_recurring,
    retired_recurring,
    run_now,
    tick_of,
)
from scheduling.ledger.redrive import Full, discard, discarded, redrive, redrive_what_fits
from scheduling.ledger.remotely import renew_remotely, settle_remotely
from scheduling.ledger.renew import Fence, renew
from scheduling.ledger.reschedule import reschedule
from scheduling.ledger.settle import settle
from scheduling.ledger.settle_with import settle_with
from scheduling.ledger.values import (
    Accepted,
    Claim,
    Fail,
    Failure,
    HeldLease,
    NewTask,
    Receipt,
    Release,
    Renewal,
    Settled,
    Settlement,
    Settling,
    Snooze,
    Stale,
    Stop,
    Succeed,
    Verdict,
)
from scheduling.ledger.workers import (
    Registration,
    register,
    seen,
    sign_off,
    workers_known_gone,
)

__all__ = [
    "LEASE",
    "Accepted",
    "Backfilled",
    "Cancelling",
    "Claim",
    "Claims",
    "Explanation",
    "Fail",
    "Failure",
    "Fence",
    "Fired",
    "Full",
    "HeldLease",
    "NewRecurring",
    "NewTask",
    "Progress",
    "Promotion",
    "Pruning",
    "Receipt",
    "Registration",
    "Release",
    "Renewal",
    "Settled",
    "Settlement",
    "Settling",
    "Snooze",
    "Stale",
    "Stop",
    "Succeed",
    "Verdict",
    "Why",
    "backfill",
    "backfill_preview",
    "cancel",
    "check_recurring",
    "claim",
    "control",
    "create_recurring",
    "delete_recurring",
    "discard",
    "discarded",
    "edit_recurring",
    "enqueue",
    "explain",
    "fire_due",
    "held_leases",
    "pause",
    "pause_recurring",
    "promising",
    "promote",
    "prune",
    "prune_throughput",
    "prune_ticks",
    "reach_of",
    "reap",
    "redrive",
    "redrive_what_fits",
    "register",
    "renew",
    "renew_remotely",
    "reschedule",
    "resume",
    "retire_recurring",
    "retired_recurring",
    "run_now",
    "seen",
    "settle",
    "settle_remotely",
    "settle_with",
    "sign_off",
    "tick_of",
    "workers_known_gone",
    "write_paces",
    "write_paces_now_and_then",
]
