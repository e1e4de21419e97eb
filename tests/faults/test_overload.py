"""Far more requests than the workers can do: every answer is right and says when to come back, and it passes."""

import pytest

from tests.faults.flood import flood, limits, wait_for_normal_service, web_memory
from tests.installation import Installation

pytestmark = pytest.mark.timeout(180)
MIB = 1024 * 1024


def test_a_flood_is_told_to_come_back_and_is_forgotten_when_it_is_over(
    installation: Installation,
) -> None:
    installation.is_patient = False
    with installation.serving(**limits()) as (url, server):
        flood(url, clients=24, seconds=1.5)  # everything is loaded, and every buffer made
        before = web_memory(server)
        heard = flood(url, clients=24, seconds=3.0, times=10)
        after = web_memory(server)
        wait_for_normal_service(url)

    assert not heard.wrong, heard.told()
    assert {201, 429, 503} <= heard.count().keys(), heard.told()
    assert after - before < 16 * MIB, f"{(after - before) / MIB:.1f} MiB more"
