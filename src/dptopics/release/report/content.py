"""The released value as plain data for the page: topics with their sizes and places, a table of words, or counts."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dptopics.core.errors import InputError
from dptopics.release.counts import CountTable
from dptopics.release.topic_model import TopicModel, fingerprint

STEPS = 10  # of the relevance slider: at each, the words shown are exactly those of TopicModel.top_words
_MOST_CELLS = 60_000  # weights up to which a word's weight is kept for every topic
_MOST_WEIGHTS = 100_000  # beyond, fewer words of each topic are shown
_LONGEST_SENTENCE = 300
_MOST_LETTERS = 80  # longer words are cut: columns of a count matrix can have any name
_MOST_ROWS = 40_000  # of a table, before it is halved
_FIRST = 10  # words of each topic in tables, in their order of relevance
_MOST_LOGARITHMS = 2e8


def contents(value: Any, shown: int, labels: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Plain data of a value; ``shown``: words per topic, which scales tables."""
    if isinstance(value, TopicModel):
        from dptopics.release.labels import OFFLINE, theme_names  # slow to load

        found = topics(value, shown)
        made = [(name, "") for name in theme_names(value)] if labels is None else check_labels(value, labels)
        for topic, (name, sentence) in zip(found["topics"], made, strict=True):
            topic.update(label=_cut(name), sentence=sentence[:_LONGEST_SENTENCE])
        offline = OFFLINE if any(name for name, _ in made) else ""
        return found | {"labelled": offline if labels is None else str(labels.get("model", ""))}
    if isinstance(value, CountTable):
        return {"kind": value.kind, "total": value.cube.size}
    vocabulary = value.vocabulary
    numbers = value.arrays()
    size: Any = numbers.get("probability", vocabulary.weights)
    noise_std = numbers.get("noise_std")
    amount = np.zeros(len(vocabulary)) if size is None else np.asarray(size, np.float64)
    order = np.argsort(-amount, kind="stable")[: _MOST_ROWS * shown // 30]
    return {
        "kind": value.kind,
        "total": len(vocabulary),
        "words": [_cut(vocabulary.words[i]) for i in order],
        "weight": None if size is None else _short(amount[order]),
        "noise_std": None if noise_std is None else _short(np.asarray(noise_std)[order]),
    }


def topics(model: TopicModel, shown: int) -> dict[str, Any]:
    """Topics with their places on the map, and the weights of all words that some slider position shows."""
    weight, share = model.topic_word, np.maximum(model.topic_share, 0.0)
    share = share / max(float(share.sum()), 1e-300)
    mean = np.asarray(model.topic_share @ weight)
    above = model.above_noise()
    kept = _kept(weight, above, mean, min(shown, weight.shape[1]))
    while shown > 1 and np.count_nonzero(kept) > _MOST_WEIGHTS:
        shown //= 2
        kept = _kept(weight, above, mean, min(shown, weight.shape[1]))
    used = np.flatnonzero(kept.any(axis=0))
    if used.size * model.n_topics <= _MOST_CELLS:
        kept[:, used] = above[:, used]
    place = np.cumsum(kept.any(axis=0)) - 1
    used = np.flatnonzero(kept.any(axis=0))
    (points, plane), index = layout(weight, mean), model.vocabulary.index
    first = [[index[word] for word in row] for row in model.top_words(_FIRST)]  # as the terminal lists them
    rows = []
    for k in range(model.n_topics):
        words = np.flatnonzero(kept[k])
        rows.append(
            {
                "share": round(float(share[k]), 6),
                "at": [round(float(c), 4) for c in points[k]],
                "noise_std": None if model.noise_std is None else _short(model.noise_std[k : k + 1])[0],
                "first": [int(place[word]) for word in first[k] if kept[k, word]],
                "words": place[words].tolist(),
                "weight": _short(weight[k, words]),
            }
        )
    return {
        "kind": "topics",
        "total": len(model.vocabulary),
        "shown": shown,
        "steps": STEPS,
        "words": [_cut(model.vocabulary.words[i]) for i in used],
        "mean": _short(mean[used]),
        "plane": round(plane, 3),
        "topics": rows,
    }


def check_labels(model: TopicModel, labels: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and sentences of a model's topics, if they are of this model and no drafts (``dptopics label --out``)."""
    try:
        named = {int(one["topic"]): (str(one["label"]), str(one.get("sentence", ""))) for one in labels["labels"]}
        made_of = labels["topics"]
    except (KeyError, TypeError, ValueError):
        raise InputError("these are not labels. Give the file that dptopics label --out wrote.") from None
    if made_of != fingerprint(model.topic_word, model.vocabulary.words):
        raise InputError("these labels are of other topics. Name the topics of this release: dptopics label RELEASE.")
    if not labels.get("accepted", True):
        raise InputError("nobody has accepted these descriptions. Read them: dptopics describe RELEASE --accept FILE.")
    return [named.get(k, ("", "")) for k in range(model.n_topics)]


def check_counts(model: TopicModel, counts: CountTable) -> None:
    """Counts must be of this model's topics."""
    if counts.model != fingerprint(model.topic_word, model.vocabulary.words) or counts.axes[0] != "topic":
        raise InputError("these counts are not of this release's topics. Count with it: dptopics count RELEASE DATA.")


def _kept(
    weight: NDArray[np.float64], above: NDArray[np.bool_], mean: NDArray[np.float64], shown: int
) -> NDArray[np.bool_]:
    """Words above the noise among the most relevant at some step of the slider, topics × words."""
    kept = np.zeros(weight.shape, bool)
    first = 1e-12 * np.arange(weight.shape[1])  # breaks ties as a stable sort does
    with np.errstate(divide="ignore", invalid="ignore"):
        log_mean = np.log(mean)
        for topic, row in enumerate(weight):
            log_row = np.log(row)
            for step in range(STEPS + 1):
                rank = np.where(above[topic], (1 - step / STEPS) * log_mean - log_row, np.inf) + first
                kept[topic, np.argpartition(rank, shown - 1)[:shown]] = True
    return kept & above


def layout(weight: NDArray[np.float64], mean: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Topics in the plane by classical scaling of Jensen-Shannon distances, within [−1, 1]; how much the plane shows.

    That is the plane's part of the sum of squared distances. The distance is the root of the divergence: a metric that
    classical scaling fits without negative eigenvalues. Of very many words the most common are distinguished and the
    rest count as one, which can only shorten distances.
    """
    n = weight.shape[0]
    if n < 2:
        return np.zeros((n, 2)), 0.0
    most = max(200, int(_MOST_LOGARITHMS / n**2))
    if weight.shape[1] > most:
        common = np.argpartition(-mean, most)[:most]
        rest = np.maximum(0.0, weight.sum(axis=1) - weight[:, common].sum(axis=1))
        weight = np.column_stack([weight[:, common], rest])
    entropy = -_xlogx(weight).sum(axis=1)
    squared = np.array([-_xlogx((weight + row) / 2).sum(axis=1) - (entropy + entropy[k]) / 2
                        for k, row in enumerate(weight)])  # fmt: skip
    squared = np.maximum(0.0, (squared + squared.T) / 2)
    np.fill_diagonal(squared, 0.0)
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    points = np.zeros((n, 2))
    with threadpool_limits(1):  # threads slow down small matrices
        values, vectors = np.linalg.eigh(-centred / 2)
    for axis in range(min(2, n - 1)):
        along = vectors[:, -1 - axis] * np.sqrt(max(0.0, float(values[-1 - axis])))
        points[:, axis] = along * (np.sign(along[np.argmax(np.abs(along))]) or 1.0)  # the same page every time
    shown = float(np.square(points).sum() / max(float(squared.sum()) / (2 * n), 1e-300))
    return points / max(float(np.abs(points).max()), 1e-12), min(1.0, shown)


def _xlogx(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(x * np.log(np.maximum(x, 1e-300)))


def _short(numbers: NDArray[np.float64]) -> list[float | None]:
    """Six digits; None for what is not finite."""
    return [float(f"{number:.6g}") if isfinite(number) else None for number in numbers.tolist()]


def _cut(word: str) -> str:
    word = word.encode("utf-8", "replace").decode()  # replaces lone surrogates
    return word if len(word) <= _MOST_LETTERS else word[: _MOST_LETTERS - 1] + "…"
