"""HTML tables for notebooks, without scripts, global styles or anything from the network."""

from collections.abc import Iterable, Sequence
from html import escape

_MARK = '<p style="background:#1a1a1a;color:#fff;padding:.3rem .6rem;display:inline-block">{}</p>'
_CELL = ' style="text-align:left;vertical-align:top"'


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, title: str = "") -> str:
    """A table; all text is escaped."""
    caption = f"<caption{_CELL}><strong>{escape(title)}</strong></caption>" if title else ""
    head = "".join(f'<th scope="col"{_CELL}>{escape(one)}</th>' for one in heads)
    body = "".join("<tr>" + "".join(f"<td{_CELL}>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def marked(mark: str, html: str) -> str:
    """HTML with a conspicuous warning above it."""
    return f"{_MARK.format(escape(mark))}{html}"
