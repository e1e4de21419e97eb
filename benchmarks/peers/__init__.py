"""The rivals, and ourselves by the same verbs. Each module is only imported in processes that measure.

A peer's module has a `Sender`, which prepares its store and puts tasks there, and `work(setting)`, which runs
its workers until SIGTERM, with the peer's own command line where it has one.
"""

from dataclasses import dataclass
from importlib.util import find_spec

from benchmarks.stage import Database, Unavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """What a benchmark must know of a peer before it can let it play."""

    name: str
    """As it is called in reports."""
    module: str
    keeps: tuple[Database, ...]
    settings: tuple[str, ...]
    """Its promising ways to run workers, of which the best one counts. The first is the one for `--quick`."""
    processes: int = 1
    """As many times `work` is started, by peers whose command line runs one process."""
    has_bulk: bool = False
    django_settings: str = ""
    package: str = ""
    """What must be importable."""

    @property
    def act(self) -> str:
        return f"benchmarks.peers.{self.module}"

    def check(self) -> None:
        """Raises Unavailable."""
        if self.package and find_spec(self.package) is None:
            raise Unavailable(
                f"the package {self.package} is not installed (make bench installs it)"
            )


OURS = Peer(
    name="rentroll",
    module="ours",
    keeps=(Database.SQLITE, Database.POSTGRESQL),
    settings=("as runworkers does by default",),
    has_bulk=True,
    django_settings="benchmarks.settings",
)
HUEY = Peer(
    name="huey",
    module="huey",
    keeps=(Database.SQLITE,),
    settings=("4 processes", "4 threads"),
    package="huey",
)
DJANGO_TASKS_DB = Peer(
    name="django-tasks-db",
    module="django_tasks_db",
    keeps=(Database.SQLITE, Database.POSTGRESQL),
    settings=("2 workers",),
    processes=2,
    django_settings="benchmarks.peers.django_tasks_db_settings",
    package="django_tasks_db",
)
CELERY = Peer(
    name="celery",
    module="celery",
    keeps=(Database.REDIS,),
    settings=("2 processes", "4 threads"),
    package="celery",
)
OBAN = Peer(
    name="oban",
    module="oban",
    keeps=(Database.POSTGRESQL,),
    settings=("200 slots", "20 slots"),
    has_bulk=True,
    package="oban",
)
PGQUEUER = Peer(
    name="pgqueuer",
    module="pgqueuer",
    keeps=(Database.POSTGRESQL,),
    settings=("batch 100", "batch 10"),
    has_bulk=True,
    package="pgqueuer",
)
PROCRASTINATE = Peer(
    name="procrastinate",
    module="procrastinate",
    keeps=(Database.POSTGRESQL,),
    settings=("2 workers of 10",),
    processes=2,
    package="procrastinate",
)
