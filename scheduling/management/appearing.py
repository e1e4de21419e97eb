"""Owns that a file appears under its name whole, or not at all."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class Unwritable(Exception):
    """Says in a sentence why nothing can be put there."""


@contextmanager
def appearing(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """An empty file to write in the block, put under its name when that ended well; gone when it did not.

    What stands under the name is there until the new one replaces it in one step. A process that is killed
    leaves `NAME.partial` behind; the next one writes over it. Raises Unwritable.
    """
    require_free(path, overwrite=overwrite)
    partial = path.with_name(f"{path.name}.partial")
    with os.fdopen(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)) as file:
        _claim(file.fileno(), partial)
        try:
            yield partial
            os.fsync(file.fileno())
            require_free(path, overwrite=overwrite)
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    _sync_folder(path.parent)


def require_free(path: Path, *, overwrite: bool) -> None:
    if not path.parent.is_dir():
        raise Unwritable(f"There is no folder {path.parent}.")
    if path.exists() and not (overwrite and path.is_file()):
        raise Unwritable(f"{path} is there already. Name another file, or say --overwrite.")


def _claim(file: int, partial: Path) -> None:
    """For this process alone. One that took the file before may have put it under its name meanwhile."""
    with suppress(BlockingIOError, FileNotFoundError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(file), partial.stat()):
            os.ftruncate(file, 0)
            return
    raise Unwritable(f"{partial} is being written by somebody else.")


def _sync_folder(folder: Path) -> None:
    """The name is on disk once its folder is."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
