"""The tests' settings, for supervisors that give a process up within a second or two, not half a minute."""

from scheduling.workers import pulse
from tests.settings import *  # noqa: F403  # a settings module is a namespace

pulse.BEAT, pulse.LOOK, pulse.LEAST_PATIENCE = 0.1, 0.3, 1.5
