"""Tables as people read them at a terminal. Pure."""

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[object]]) -> str:
    """The rows below each other, words to the left and figures to the right; the first row is the heading."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    is_figure = [isinstance(cell, int) for cell in rows[-1]]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, is_figure, strict=True)
        ).rstrip()
        for row in cells
    )
