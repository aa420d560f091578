"""Pictures for the owner of the data. They show values without noise: NOT FOR RELEASE. Needs the extra 'plots'."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dptopics.errors import InputError


def keyword_plot(
    before: NDArray[np.float64],
    after: Mapping[str, NDArray[np.float64]],
    words: Sequence[str],
    path: str | Path,
    *,
    topics: Sequence[int] | None = None,
    n: int = 10,
) -> Path:
    """Bars of each topic's n heaviest words before noise, beside what each matrix of ``after`` makes of them.

    Rows of all matrices must stand for the same topics (match them first), columns for ``words``.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("plots need an extra package. Run: pip install 'dptopics[plots]'") from None
    for matrix in (before, *after.values()):
        if matrix.shape != (before.shape[0], len(words)):
            raise InputError(f"a matrix of {before.shape[0]} × {len(words)} is needed, got shape {matrix.shape}.")
    chosen = list(range(before.shape[0])) if topics is None else list(topics)
    columns = min(4, len(chosen))
    rows = -(-len(chosen) // columns)
    figure = Figure(figsize=(4 * columns, 3.5 * rows))
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    width = 0.9 / (1 + len(after))
    for place, topic in zip(axes, chosen, strict=False):
        heaviest = np.argsort(-before[topic], kind="stable")[:n]
        at = np.arange(heaviest.size)
        for i, (label, matrix) in enumerate({"before": before, **after}.items()):
            place.bar(
                at + i * width, matrix[topic, heaviest], width, label=label, color="grey" if i == 0 else f"C{i - 1}"
            )
        place.set_xticks(at + 0.4, [words[w] for w in heaviest], rotation=60, fontsize=7)
        place.set_title(f"topic {topic}", fontsize=9)
    for empty in axes[len(chosen) :]:
        empty.axis("off")
    axes[0].legend(fontsize=7)
    figure.suptitle("NOT FOR RELEASE: keywords before and after noise", fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    return Path(path)
