"""What the environment may and may not make of the settings, in a process that reads them afresh."""

import subprocess
import sys
from pathlib import Path


def test_without_debug_a_secret_key_is_demanded_by_name(tmp_path: Path) -> None:
    refused = subprocess.run(
        [sys.executable, "manage.py", "check"],
        env={"DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode != 0
    assert "SECRET_KEY must be a random text" in refused.stderr
