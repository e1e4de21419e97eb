"""A disk of its own for the ledger, small enough to be filled."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SIZE = 192 * 1024 * 1024
PIECE = 1024 * 1024


class Disk:
    """Mounted at a folder."""

    def __init__(self, folder: Path) -> None:
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """To the last byte."""
        with self._ballast.open("ab", buffering=0) as file:
            for piece in (PIECE, 4096, 1):
                self._append(file.fileno(), bytes(piece))

    def _append(self, file: int, piece: bytes) -> None:
        written = len(piece)
        while written == len(piece):
            try:
                written = os.write(file, piece)
            except OSError:
                written = 0

    def empty(self) -> None:
        self._ballast.unlink(missing_ok=True)


@contextmanager
def mounted(folder: Path) -> Iterator[Disk | None]:
    """A file system in memory, there for the block. None where this process may not mount one."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0755", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        yield None
        return
    try:
        yield Disk(folder)
    finally:
        unmount = ["umount", "--lazy", str(folder)]
        subprocess.run(unmount, check=True)
