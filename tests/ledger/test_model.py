"""Every verb in any order, by workers that keep claims long after they lost them, against a plain model.

Hypothesis makes up the stories, and shortens those that fail.
"""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.ledger.story.accepting import Accepting
from tests.ledger.story.pausing import Pausing
from tests.ledger.story.upkeep import Upkeep

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

STORIES = settings(
    max_examples=15,
    stateful_step_count=50,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)


class Story(Accepting, Upkeep, Pausing):
    """All that can happen."""


@pytest.mark.timeout(600)  # shortening a story that fails takes minutes
def test_the_ledger_does_what_the_model_does() -> None:
    run_state_machine_as_test(Story, settings=STORIES)
