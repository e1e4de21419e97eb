"""What handlers do to the world, as other processes can see it: lines in one file, and files to wait for."""

import os
from pathlib import Path
from threading import Event

PATIENCE = 60.0
LOOK = 0.01


def append(line: str) -> None:
    """One line, whole, whoever else appends: the mode makes the kernel do it in one piece."""
    descriptor = os.open(os.environ["EFFECTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, f"{line}\n".encode())
    finally:
        os.close(descriptor)


def wait_for_gate(name: str) -> None:
    """Return once the test has opened the gate of that name, which it does by making the file."""
    gate = Path(os.environ["EFFECTS"]).with_name(name)
    for _ in range(int(PATIENCE / LOOK)):
        if gate.exists():
            return
        Event().wait(LOOK)
    raise TimeoutError(f"Nobody opened {name}.")
