"""The ledger's own order of events: a log that its triggers write, and a thread that looks where it ends.

What may be concluded from it, and why:

A row of the log is written in the transaction of the change that it tells of, so it is there exactly if the
change is. Its number is given while nobody else can commit to the log: on SQLite because there is one
writer, on PostgreSQL because the triggers are deferred to the commit and take a lock there that is let go
after the commit can be seen. So the numbers are the order of the commits, and every state that anybody can
have seen is the log up to some row (on PostgreSQL: up to the last row of some transaction). No clock is
asked, and the walls' clocks may be stepped at will. The lock makes commits take turns that would have come
together; what they read and lock before is as concurrent as ever.

Where the log has to be held against the world outside, against a handler that started or a pause that was
answered, the looks place it on the monotonic clock: a look that was asked for at t and did not show row n
proves that n was committed after t.
"""

from collections.abc import Iterator
from threading import Event, Thread
from uuid import UUID

from django.db import Error, connection, connections, transaction

from scheduling.clock import monotonic
from tests.chaos import plan
from tests.chaos.records import Entry, Sample, Stall, What

LOOK = 0.02
WRITES_EVERY = 10
"""Looks between two tries to get a turn to write."""
TOO_LONG = plan.LEASE / 8
"""Seconds without a turn after which the fault may be the machine's, and not the product's."""

TABLE = """
    CREATE TABLE chaos_log (seq {key}, grp bigint, what text, task text, generation int, tenant bigint,
                            said text)
"""
EVENTS = (
    (What.ENDED, "lease", "DELETE", "OLD.task_id", "OLD.generation", "OLD.tenant_id", "''", ""),
    (What.SETTLED, "attempt", "INSERT", "NEW.task_id", "NEW.generation", "NULL", "NEW.outcome", ""),
    (What.STATE, "task", "UPDATE", "NEW.id", "NEW.generation", "NEW.tenant_id",
     "OLD.state || ' ' || NEW.state", "OLD.state <> NEW.state"),
    (What.CLAIMED, "lease", "INSERT", "NEW.task_id", "NEW.generation", "NEW.tenant_id", "''", ""),
    (What.PAUSED, "pause", "INSERT", "''", "0", "NEW.tenant_id",
     "NEW.queue || '\n' || NEW.name || '\n' || NEW.reason", ""),
    (What.PAUSED, "pause", "UPDATE", "''", "0", "NEW.tenant_id",
     "NEW.queue || '\n' || NEW.name || '\n' || NEW.reason", "NEW.lifted_at IS NULL"),
    (What.LIFTED, "pause", "UPDATE", "''", "0", "NEW.tenant_id",
     "NEW.queue || '\n' || NEW.name || '\n' || NEW.reason", "NEW.lifted_at IS NOT NULL"),
)  # fmt: skip
"""What is logged as what, of which table, on which change, and the values; last, under which condition."""
SQLITE_TRIGGER = """
    CREATE TRIGGER chaos_{name} AFTER {change} ON scheduling_{table} {when} BEGIN
        INSERT INTO chaos_log (what, task, generation, tenant, said)
        VALUES ('{what}', {task}, {generation}, {tenant}, {said});
    END
"""
POSTGRES_TRIGGER = """
    CREATE FUNCTION chaos_{name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM pg_advisory_xact_lock(0x63686173);
        INSERT INTO chaos_log (grp, what, task, generation, tenant, said)
        VALUES (pg_current_xact_id()::text::bigint, '{what}', {task}, {generation}, {tenant}, {said});
        RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER chaos_{name} AFTER {change} ON scheduling_{table}
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW {when} EXECUTE FUNCTION chaos_{name}()
"""
KEYS = {"sqlite": "integer PRIMARY KEY AUTOINCREMENT", "postgresql": "bigserial PRIMARY KEY"}
TRIGGERS = {"sqlite": SQLITE_TRIGGER, "postgresql": POSTGRES_TRIGGER}


def install() -> None:
    """Once the tables are there, and before anybody writes to them."""
    with connection.cursor() as cursor:
        cursor.execute(TABLE.format(key=KEYS[connection.vendor]))
        for number, (what, table, change, task, generation, tenant, said, when) in enumerate(
            EVENTS
        ):
            cursor.execute(
                TRIGGERS[connection.vendor].format(
                    name=number,
                    what=what,
                    table=table,
                    change=change,
                    task=task,
                    generation=generation,
                    tenant=tenant,
                    said=said,
                    when=when and f"WHEN ({when})",
                )
            )


def entries() -> Iterator[Entry]:
    """The whole log, when nobody writes any more."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT seq, grp, what, task, generation, tenant, said FROM chaos_log ORDER BY 1"
        )
        for seq, group, what, task, generation, tenant, said in cursor.fetchall():
            yield Entry(
                seq=seq,
                group=seq if group is None else group,
                what=What(what),
                task=str(UUID(task)) if task else "",
                generation=generation,
                tenant_id=tenant,
                said=said,
            )


class Observer:
    """Looks at the end of the log, and tries now and then whether it would get a turn to write."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self.stalls: list[Stall] = []
        self._stop = Event()
        self._thread = Thread(target=self._run, name="observer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        looks = 0
        last_at = monotonic()
        while not self._stop.wait(LOOK):
            looks += 1
            try:
                self._look()
                if looks % WRITES_EVERY == 0:
                    self._take_a_turn()
            except Error:
                connections.close_all()
            now = monotonic()
            if now - last_at > TOO_LONG:
                self.stalls.append(Stall(last_at, now))
            last_at = now
        connections.close_all()

    def _look(self) -> None:
        """Of many that show the same, the first and the latest are all that matters."""
        asked_at = monotonic()
        with connection.cursor() as cursor:
            cursor.execute("SELECT coalesce(max(seq), 0) FROM chaos_log")
            sample = Sample(asked_at, monotonic(), cursor.fetchone()[0])
        if len(self.samples) > 1 and self.samples[-2].last == self.samples[-1].last == sample.last:
            self.samples.pop()
        self.samples.append(sample)

    def _take_a_turn(self) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT 1")
