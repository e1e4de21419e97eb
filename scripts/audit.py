"""Asks pip-audit whether what is pinned has known vulnerabilities: `python scripts/audit.py requirements.txt …`

Fails when one is known. Where nobody can be asked it says so and passes, because a machine without a
network must be able to run every check; so does a package index that knows no vulnerabilities.
"""

import json
import subprocess  # nosec B404  # runs pip-audit, with arguments that are ours
import sys
from pathlib import Path
from typing import Any

COMMAND = (
    "pip_audit --disable-pip --require-hashes --timeout 5 --progress-spinner off --format json"
)
UNREACHABLE = "is not audited: nobody who knows of vulnerabilities could be asked."


def report_on(requirements: Path) -> dict[str, Any] | None:
    """What pip-audit found, None when it came to no result."""
    command = [sys.executable, "-m", *COMMAND.split(), "-r", str(requirements)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # nosec B603  # no shell
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return None
    return found


def vulnerabilities(report: dict[str, Any]) -> list[str]:
    return [
        f"{one['name']} {one['version']}: {known['id']}, fixed in {', '.join(known['fix_versions']) or 'none'}"
        for one in report["dependencies"]
        for known in one.get("vulns", ())
    ]


def verdict(name: str, report: dict[str, Any] | None) -> tuple[bool, str]:
    """Whether it may pass, and what to say."""
    if report is None:
        return True, f"{name} {UNREACHABLE}"
    if found := vulnerabilities(report):
        return False, "\n".join([f"{name} has known vulnerabilities:", *found])
    asked = report["dependencies"]
    skipped = [one["name"] for one in asked if "skip_reason" in one]
    if len(skipped) == len(asked):
        return True, f"{name} {UNREACHABLE}"
    unknown = f" Nothing is known of {', '.join(skipped)}." if skipped else ""
    return True, f"{name} has no known vulnerabilities.{unknown}"


def main(names: list[str]) -> int:
    verdicts = [verdict(name, report_on(Path(name))) for name in names]
    for _, said in verdicts:
        sys.stdout.write(f"{said}\n")
    return 0 if all(passes for passes, _ in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
