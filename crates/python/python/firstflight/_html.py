"""Results as HTML for notebooks: a table, with a plot in each row."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._firstflight import Table

Row = dict[str, Any]
_SHOWN = 200
_HEAD = 10
_WIDTH, _HEIGHT = 180, 18


def amount(size: int | None) -> str:
    """A number of bytes with its unit."""
    if size is None:
        return "unlimited"
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= factor:
            return f"{size / factor:g} {unit}"
    return f"{size} B"


def seconds(value: float | None) -> str:
    """A time in seconds, or a dash."""
    return "-" if value is None else f"{value:.3f} s"


def interval(low: float, middle: float, high: float, longest: float) -> str:
    """A line from low to high with a dot, on an axis from 0 to longest."""

    def at(value: float) -> float:
        return 4 + (_WIDTH - 8) * (value / longest if longest > 0 else 0.0)

    middle_y = _HEIGHT / 2
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{low:.4g} to {high:.4g}, middle {middle:.4g}">'
        f'<line x1="{at(low):.1f}" x2="{at(high):.1f}" y1="{middle_y}" y2="{middle_y}" stroke="currentColor" '
        f'stroke-width="2" opacity="0.5"/><circle cx="{at(middle):.1f}" cy="{middle_y}" r="4" fill="currentColor"/></svg>'
    )


def sparkline(points: Sequence[tuple[float, float]]) -> str:
    """A curve from the first point to the last, both axes from 0."""
    if not points:
        return ""
    right = max(x for x, _ in points) or 1.0
    top = max(y for _, y in points) or 1.0
    place = " ".join(f"{_WIDTH * x / right:.1f},{_HEIGHT - 1 - (_HEIGHT - 2) * y / top:.1f}" for x, y in points)
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{top:.4g} after {right:.4g} s">'
        f'<polyline points="{place}" fill="none" stroke="currentColor" stroke-width="1.5"/></svg>'
    )


def table(
    title: str,
    rows: Sequence[Row] | Table,
    columns: Sequence[tuple[str, Callable[[Row], str]]],
    notes: Sequence[str] = (),
) -> str:
    """A table; of more than 200 rows the first 200. Cells are HTML: the functions of the columns escape what they show."""
    head = "".join(f"<th>{escape(name)}</th>" for name, _ in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{cell(row)}</td>" for _, cell in columns) + "</tr>" for row in itertools.islice(rows, _SHOWN)
    )
    more = [f"{len(rows) - _SHOWN} more rows"] if len(rows) > _SHOWN else []
    lines = "".join(f"<p>{escape(note)}</p>" for note in [*more, *notes])
    return f"<p><b>{escape(title)}</b></p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{lines}"


def head(of: Table) -> str:
    """The first rows of a table of results."""
    shown = of.head(_HEAD)

    def cell(name: str) -> Callable[[Row], str]:
        return lambda row: escape(_short(row[name]))

    columns = [(name, cell(name)) for name in of.column_names]
    more = [f"{len(of) - len(shown)} more rows"] if len(of) > len(shown) else []
    return table(f"Table {of.name}", shown, columns, more)


def _short(value: Any) -> str:
    """A value in a cell: numbers to six digits, lists by their length."""
    if value is None:
        return "-"
    if isinstance(value, list):
        return f"{len(value)} values"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def text(key: str) -> Callable[[Row], str]:
    """The cell of a key."""
    return lambda row: escape(str(row[key]))


def number(key: str, digits: int = 1) -> Callable[[Row], str]:
    """The cell of a number."""
    return lambda row: "-" if row[key] is None else f"{row[key]:,.{digits}f}"
