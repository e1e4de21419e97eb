"""What processes cost: processor time and memory, as the operating system counts them."""

import time

import psutil


def family(pid: int) -> list[psutil.Process]:
    """A process and all that it started."""
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]


def busiest_percent(pid: int, seconds: float) -> float:
    """What the busiest process of the family takes of a core, in percent, over so many seconds."""
    processes = family(pid)
    before = [_used(process) for process in processes]
    time.sleep(seconds)
    return max(
        (_used(process) - used) / seconds * 100
        for process, used in zip(processes, before, strict=True)
    )


def largest_mib(pid: int) -> float:
    """What the largest process of the family holds in memory of its own, in MiB."""
    return float(max(process.memory_full_info().uss for process in family(pid)) / 2**20)


def _used(process: psutil.Process) -> float:
    """Seconds of processor time."""
    times = process.cpu_times()
    return float(times.user + times.system)
