"""Owns where the ledger is kept, as far as this host can see: how large it is, and how much room is left."""

import shutil
from pathlib import Path

from scheduling.conf import conf
from scheduling.ledger.dialects import dialect

MIB = 1024 * 1024


def ledger_file() -> Path | None:
    """None when a database server keeps the ledger: where, and on which disk, is not for us to see."""
    return dialect().file()


def bytes_free_beside(path: Path) -> int:
    """On the disk of that file or folder."""
    return shutil.disk_usage(path).free


def least_free_bytes() -> int:
    """With less, any commit may be the last: the write-ahead log needs room until a checkpoint."""
    return int(conf().LEDGER_MIN_FREE_MIB) * MIB


def sizes() -> dict[str, int]:
    """Bytes free where the ledger is kept, or else the files of this host; and of an SQLite ledger its own."""
    path = ledger_file()
    if path is None:
        return {"free_bytes": bytes_free_beside(conf().WATCHED_DIR)}
    log = path.with_name(f"{path.name}-wal")
    return {
        "free_bytes": bytes_free_beside(path),
        "ledger_bytes": path.stat().st_size,
        "wal_bytes": log.stat().st_size if log.exists() else 0,
    }
