"""The tree of topics on the page: which are alike, as plain SVG."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dptopics.insight.hierarchy import TopicTree

_ROW, _WIDE, _TEXT = 20.0, 300.0, 420.0
_MOST_TOPICS = 200


def section(tree: "TopicTree", names: Sequence[str]) -> str:
    """A tree of at least three topics; leaves are their names."""
    if not 2 < tree.n_topics <= _MOST_TOPICS:
        return ""
    top = float(tree.heights[-1]) or 1.0
    parts: list[str] = []
    leaf = [0]

    def place(node: dict[str, Any]) -> tuple[float, float]:
        """Where a node is drawn; its branches and leaves are drawn on the way."""
        if "topic" in node:
            y = _ROW * (leaf[0] + 0.7)
            leaf[0] += 1
            parts.append(f'<text x="{_WIDE + 8}" y="{y + 4:.1f}">{escape(names[node["topic"]])}</text>')
            return _WIDE, y
        x = _WIDE * (1 - node["height"] / top)
        ends = [place(child) for child in node["of"]]
        parts.extend(f'<path class="branch" d="M{end:.1f} {y:.1f}H{x:.1f}"/>' for end, y in ends)
        parts.append(f'<path class="branch" d="M{x:.1f} {ends[0][1]:.1f}V{ends[1][1]:.1f}"/>')
        return x, (ends[0][1] + ends[1][1]) / 2

    place(tree.to_dict())
    return (
        '<section id="tree" aria-labelledby="tree-title"><h2 id="tree-title">Which topics are alike</h2>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="Tree of topics"><svg class="tree" viewBox="-2 0 '
        f'{_WIDE + _TEXT:.0f} {_ROW * (tree.n_topics + 0.5):.0f}" role="img" aria-label="Tree of topics; the same as '
        f'text: dptopics show --tree">{"".join(parts)}</svg></div><p class="help">Topics that are joined further to '
        "the right are more alike. Joining them to fewer costs nothing (<code>release.merged(n)</code>).</p></section>"
    )
