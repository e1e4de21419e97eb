"""Small faults in SQL. Pure: from a statement to all that one slip makes of it.

A condition is not cut out but made to hold always, and a column not left alone but set to what it was: so the
statement takes the values that it took before.
"""

import re
from collections.abc import Iterator

INSTEAD = (
    (r"<=", "<"),
    (r"(?<![<>=])<(?![<>=])", "<="),
    (r">=", ">"),
    (r"(?<![<>=-])>(?![<>=])", ">="),
    (r"(?<=\s)\+(?=\s)", "-"),
    (r"(?<=\s)-(?=\s)", "+"),
    (r"\bDESC\b", "ASC"),
    (r"\bmax\(", "min("),
    (r"\bgreatest\(", "least("),
    (r"\bIS NULL\b", "IS NOT NULL"),
    (r"\bIS NOT NULL\b", "IS NULL"),
    (r"\bNOT (?=IN\b|EXISTS\b|:rated|%\(rated)", ""),
    (r" SKIP LOCKED\b", ""),
    (r"\bFOR (NO KEY )?UPDATE( OF \w+)?( SKIP LOCKED)?", ""),
    (r"\bFOR KEY SHARE( OF \w+)?", ""),
    (r"(?<=[-+] )1\b", "2"),
    (r"(?<=LIMIT )1\b", "2"),
    (r"(?<==\s)[012](?=\s|$|\))", "7"),
    (r"'queued'", "'running'"),
    (r"'running'", "'queued'"),
    (r"'succeeded'", "'dead'"),
    (r"\bcoalesce\((\w+\.\w+), 0\)", r"\1"),
)
ENDS = r"\b(AND|OR|ORDER|GROUP|RETURNING|LIMIT|FOR|FROM|WHERE|UNION|ON|USING|LEFT|JOIN|CROSS|WHEN|THEN|END|SET)\b|,"
"""What ends a condition, outside of its own parentheses."""


def slips(statement: str) -> Iterator[tuple[str, str]]:
    """Each as what it is called, and the statement with it."""
    for pattern, other in INSTEAD:
        for found in re.finditer(pattern, statement):
            text = found.expand(other)
            yield (
                f"{_around(statement, found.start())}: {found[0]} → {text or 'nothing'}",
                (statement[: found.start()] + text + statement[found.end() :]),
            )
    yield from _less_order(statement)
    yield from _shorter_keys(statement)
    for found in re.finditer(r"\b(AND|WHERE|OR|ON|WHEN)\s+(?!CONFLICT)", statement):
        condition = _until(statement, found.end(), ENDS)
        if condition == "true":
            continue
        is_neutral = "OR TRUE" if found[1] != "OR" else "AND FALSE"
        yield (
            f"{found[1]} {_short(condition)} {is_neutral}",
            (
                f"{statement[: found.end()]}(({condition}) {is_neutral})"
                f"{statement[found.end() + len(condition) :]}"
            ),
        )
    for found in re.finditer(r"(?:\bSET|,)\s+(?=(\w+) = )", statement):
        name = found[1]
        begins = found.end() + len(f"{name} = ")
        value = _until(statement, begins, r"\b(FROM|WHERE|RETURNING)\b|,|$")
        before = f"{statement[:begins]}CASE WHEN TRUE THEN {_owner(statement, begins)}{name}"
        yield (
            f"SET {name} = what it was",
            f"{before} ELSE {value} END{statement[begins + len(value) :]}",
        )


def _less_order(statement: str) -> Iterator[tuple[str, str]]:
    for found in re.finditer(r"\bORDER BY ([\w.]+(?: DESC)?(?:,\s+[\w.]+(?: DESC)?)*)", statement):
        columns = re.split(r",\s+", found[1])
        for column in columns:
            rest = ", ".join(other for other in columns if other != column)
            yield (
                f"{_short(found[0])} without {column}",
                (
                    statement[: found.start()]
                    + (f"ORDER BY {rest}" if rest else "")
                    + statement[found.end() :]
                ),
            )


def _shorter_keys(statement: str) -> Iterator[tuple[str, str]]:
    """What names a row, without one of its parts."""
    for found in re.finditer(
        r"\(([\w, ]+)\) IN \(\s*SELECT (value ->> \d(?:, value ->> \d)*)", statement
    ):
        columns, values = found[1].split(", "), found[2].split(", ")
        for column, value in zip(columns, values, strict=True):
            yield (
                f"key without {column}",
                (
                    statement.replace(
                        found[1], ", ".join(one for one in columns if one != column)
                    ).replace(found[2], ", ".join(one for one in values if one != value))
                ),
            )
    for found in re.finditer(r"USING \(([\w, ]+)\)", statement):
        columns = found[1].split(", ")
        for column in columns if len(columns) > 1 else ():
            rest = ", ".join(one for one in columns if one != column)
            yield f"key without {column}", statement.replace(found[0], f"USING ({rest})")


def _until(statement: str, begins: int, ends: str) -> str:
    """From there to the first of the ends that stands outside of parentheses and CASE … END."""
    depth = 0
    at = begins
    while at < len(statement):
        word = re.compile(r"\bCASE\b|\bEND\b|[()]").match(statement, at)
        if word and word[0] in ("(", "CASE"):
            depth += 1
        elif word and depth == 0 and word[0] in (")", "END"):
            break
        elif word:
            depth -= 1
        elif depth == 0 and re.compile(ends).match(statement, at):
            break
        at = word.end() if word else at + 1
    return statement[begins:at].rstrip()


def _owner(statement: str, at: int) -> str:
    """The alias that is updated, with its dot; none where the table has none, or in an upsert."""
    updates = list(re.finditer(r"UPDATE (\w+)(?: AS (\w+))?|DO UPDATE", statement[:at]))
    inserts = re.search(r"INSERT INTO (\w+)(?: AS (\w+))?", statement)
    last = updates[-1] if updates else None
    if last is not None and last[0] != "DO UPDATE":
        return f"{last[2] or last[1]}."
    return f"{inserts[2] or inserts[1]}." if inserts else ""


def _around(statement: str, at: int) -> str:
    return _short(statement[max(at - 40, 0) : at + 40])


def _short(text: str) -> str:
    return " ".join(text.split())[:80]
