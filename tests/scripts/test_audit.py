"""A known vulnerability fails the check; that nobody could be asked is said, and never taken for "none"."""

from typing import Any

from scripts.audit import verdict

SAFE = {"name": "django", "version": "5.2.19", "vulns": []}
SKIPPED = {"name": "anyio", "skip_reason": "Dependency not found on PyPI"}
WEAK = {"name": "idna", "version": "3.6", "vulns": [{"id": "PYSEC-1", "fix_versions": ["3.7"]}]}


def of(*dependencies: dict[str, Any]) -> tuple[bool, str]:
    return verdict("requirements.txt", {"dependencies": list(dependencies)})


def test_a_known_vulnerability_fails_and_is_named_with_what_mends_it() -> None:
    passes, said = of(SAFE, WEAK, SKIPPED)
    assert not passes
    assert "idna 3.6: PYSEC-1, fixed in 3.7" in said


def test_without_anybody_to_ask_it_passes_and_says_so() -> None:
    for passes, said in (verdict("requirements.txt", None), of(SKIPPED, SKIPPED)):
        assert passes
        assert "is not audited" in said


def test_what_nothing_is_known_of_is_told() -> None:
    assert of(SAFE) == (True, "requirements.txt has no known vulnerabilities.")
    assert of(SAFE, SKIPPED)[1].endswith("Nothing is known of anyio.")
