"""The ledger's tables. Read them from anywhere; only `scheduling.ledger` writes them."""

from scheduling.models.among import Among
from scheduling.models.attempt import Attempt, Refusal
from scheduling.models.lane import Dispatch, Lane
from scheduling.models.lease import Lease
from scheduling.models.operator_action import OperatedTask, OperatorAction
from scheduling.models.pace import Pace
from scheduling.models.pause import Pause
from scheduling.models.quota import Intake, Outflow
from scheduling.models.recurring import RecurringTask, Tick
from scheduling.models.schedule import Schedule
from scheduling.models.sweep import Sweep
from scheduling.models.task import DeadLetter, Task
from scheduling.models.throughput import Hour, Throughput, Total
from scheduling.models.worker import WorkerProcess

__all__ = [
    "Among",
    "Attempt",
    "DeadLetter",
    "Dispatch",
    "Hour",
    "Intake",
    "Lane",
    "Lease",
    "OperatedTask",
    "OperatorAction",
    "Outflow",
    "Pace",
    "Pause",
    "RecurringTask",
    "Refusal",
    "Schedule",
    "Sweep",
    "Task",
    "Throughput",
    "Tick",
    "Total",
    "WorkerProcess",
]
