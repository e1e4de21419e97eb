"""Who takes part beside ourselves, and what each was measured at: round by round, setting by setting."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from statistics import median

from benchmarks.figures import Bound, Row
from benchmarks.peers import OURS, Peer
from benchmarks.plan import Plan, Size, say
from benchmarks.programs import Program
from benchmarks.stage import Database, Scene, Stage, Unavailable

Bar = tuple[Peer, str, Bound | None, Bound | None]
"""A peer, the figure that is compared with its own, and what the ratio must and should be."""
Measure = Callable[[Peer, str], dict[str, float]]
"""What one peer does in one setting: a value for each figure."""


@dataclass
class Contest:
    """The values of every figure, by peer and setting."""

    values: dict[tuple[str, str], dict[str, list[float]]] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    """Peers that could not be measured, and why."""
    one_setting: bool = False
    """For what has nothing to do with how workers are run."""

    def hold(self, plan: Plan, peers: Sequence[Peer], measure: Measure) -> None:
        """Measure ourselves and every peer in turn, as many times as there are rounds."""
        for _ in plan.each_round():
            for peer in (OURS, *peers):
                if peer.name not in self.absent:
                    self._measure(plan, peer, measure)

    def _measure(self, plan: Plan, peer: Peer, measure: Measure) -> None:
        only_first = self.one_setting or plan.size is not Size.FULL
        for setting in peer.settings[:1] if only_first else peer.settings:
            say(f"{peer.name}, {setting}")
            try:
                peer.check()
                measured = measure(peer, setting)
            except Unavailable as error:
                self.absent[peer.name] = str(error)
                return
            say("  " + ", ".join(f"{name} {value:,.4g}" for name, value in measured.items()))
            kept = self.values.setdefault((peer.name, setting), {})
            for name, value in measured.items():
                kept.setdefault(name, []).append(value)

    def best(
        self, peer: Peer, figure: str, *, highest: bool = True
    ) -> tuple[str, list[float]] | None:
        """The setting with the best median, and its values. None for a peer without that figure."""
        found = [
            (setting, values[figure])
            for (name, setting), values in self.values.items()
            if name == peer.name and figure in values
        ]
        choose = max if highest else min
        return choose(found, key=lambda pair: median(pair[1])) if found else None

    def ours(self, figure: str) -> list[float]:
        mine = self.best(OURS, figure)
        assert mine is not None
        return mine[1]

    def rows(self, bars: Iterable[Bar], *, highest: bool = True) -> list[Row]:
        """A row for each bar whose peer was measured. Of times, the lowest is best."""
        return [
            Row(
                figure=figure,
                ours=self.ours(figure),
                rival=peer.name,
                theirs=best[1],
                must=must,
                aim=aim,
            )
            for peer, figure, must, aim in bars
            if (best := self.best(peer, figure, highest=highest))
        ]

    def notes(self) -> list[str]:
        return [f"{name} is left out: {why}." for name, why in self.absent.items()]


def database_of(peer: Peer, plan: Plan) -> Database:
    """The one that the benchmark runs on if the peer can, else the one the peer is for."""
    return plan.database if plan.database in peer.keeps else peer.keeps[0]


@contextmanager
def scene_for(peer: Peer, plan: Plan, stage: Stage, **options: int | bool) -> Iterator[Scene]:
    """A scene with the peer's tables in it."""
    with stage.scene(database_of(peer, plan), django_settings=peer.django_settings) as scene:
        scene.play("benchmarks.peers.sending:prepare", peer=peer.act, **options)
        yield scene


@contextmanager
def workers_of(peer: Peer, setting: str, scene: Scene) -> Iterator[list[Program]]:
    """The peer's workers, for as long as the block runs."""
    with ExitStack() as until_the_end:
        yield [
            until_the_end.enter_context(scene.playing(f"{peer.act}:work", setting=setting))
            for _ in range(peer.processes)
        ]
