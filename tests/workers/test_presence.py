"""The process's own entry in the register of workers."""

from uuid import uuid4

import pytest

from scheduling.models import WorkerProcess
from scheduling.workers.options import Options
from scheduling.workers.presence import PERIOD, Presence
from tests.workers.kit import Clock

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_process_that_was_forgotten_while_it_lives_registers_anew(moved_clock: Clock) -> None:
    worker = uuid4()
    presence = Presence(worker, Options())
    presence.run()
    WorkerProcess.objects.all().delete()

    presence.run()

    assert WorkerProcess.objects.get().pk == worker
    assert presence.due_at == moved_clock.seconds + PERIOD
