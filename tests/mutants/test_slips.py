"""What counts as one slip of the hand, in Python and in SQL."""

import ast

import pytest

from tests.mutants import python, statements


def lines_with_slips(source: str) -> list[str]:
    """The module with each slip, as its changed line."""
    found = [
        ast.unparse(python.slip_in(source, which)) for which in range(len(python.slips(source)))
    ]
    return [line for text in found for line in text.splitlines() if line not in source.splitlines()]


@pytest.mark.parametrize(
    ("line", "slips"),
    [
        ("a <= b", ["a < b"]),
        ("a and b", ["b", "a"]),
        ("not a", ["a"]),
        ("a + 1", ["a - 1", "a + 2"]),
        ("b if a else c", ["b", "c"]),
        ("[a for a in b if a]", ["[a for a in b]"]),
        ("a[:5]", ["a[:]", "a[:6]"]),
        ("min(a, b)", ["max(a, b)"]),
        (
            "rows.filter(pk=1, due_at__lte=now)",
            [
                "rows",
                "rows.filter(due_at__lte=now)",
                "rows.filter(pk=1)",
                "rows.filter(pk=1, due_at__lt=now)",
                "rows.filter(pk=2, due_at__lte=now)",
            ],
        ),
    ],
)
def test_each_part_of_a_line_may_slip(line: str, slips: list[str]) -> None:
    found = lines_with_slips(f"def f():\n    x = {line}")
    assert sorted(found) == sorted(f"    x = {slip}" for slip in slips)


def test_a_transaction_may_be_missing_around_its_block() -> None:
    assert "    if True:" in lines_with_slips(
        "def f():\n    with transaction.atomic():\n        g()"
    )


@pytest.mark.parametrize(
    "line", ['"""Of words."""', "logger.info(a)", "x: int = 1", 'assert a, "so"', "import a"]
)
def test_what_promises_nothing_has_no_slips(line: str) -> None:
    assert python.slips(f"class A:\n    {line}" if ":" in line else line) == []


@pytest.mark.parametrize(
    ("statement", "slip"),
    [
        (
            "DELETE FROM lease WHERE task = ? AND generation = ? RETURNING task",
            "DELETE FROM lease WHERE task = ? AND ((generation = ?) OR TRUE) RETURNING task",
        ),
        (
            "SELECT 1 WHERE (a IS NULL OR a > ?)",
            "SELECT 1 WHERE (a IS NULL OR ((a > ?) AND FALSE))",
        ),
        (
            "UPDATE task SET state = ?, n = n + 1 WHERE id = ?",
            "UPDATE task SET state = CASE WHEN TRUE THEN task.state ELSE ? END, n = n + 1 WHERE id = ?",
        ),
        ("SELECT a ORDER BY b DESC, c LIMIT ?", "SELECT a ORDER BY c LIMIT ?"),
        (
            "WHERE (a, b) IN (SELECT value ->> 0, value ->> 1 FROM x)",
            "WHERE (a) IN (SELECT value ->> 0 FROM x)",
        ),
        ("JOIN lease USING (task, generation)", "JOIN lease USING (task)"),
        ("SELECT id FOR UPDATE SKIP LOCKED", "SELECT id FOR UPDATE"),
    ],
)
def test_each_part_of_a_statement_may_slip(statement: str, slip: str) -> None:
    assert slip in [faulty for _, faulty in statements.slips(statement)]
