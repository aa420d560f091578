"""The tree of released topics, and merged topics. Post-processing of a release: nothing is spent."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dptopics.core.errors import InputError
from dptopics.release.topic_model import TopicModel

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TopicTree:
    """Row i of ``merges`` joins two nodes to node n + i, where 0 … n − 1 are the topics, at Ward's ``heights``."""

    merges: NDArray[np.int64]
    heights: Floats
    words: tuple[tuple[str, ...], ...]  # the first words of each topic

    @property
    def n_topics(self) -> int:
        return len(self.words)

    def groups(self, n: int) -> NDArray[np.int64]:
        """The group of each topic if there are n of them, numbered by their first topic."""
        if not 1 <= n <= self.n_topics:
            raise InputError(f"{self.n_topics} topics can be merged to 1 to {self.n_topics} groups, got {n}.")
        members = [[topic] for topic in range(self.n_topics)]
        alive = set(range(self.n_topics))
        for one, other in self.merges[: self.n_topics - n].tolist():
            alive -= {one, other}
            alive.add(len(members))
            members.append(sorted(members[one] + members[other]))
        found = np.empty(self.n_topics, np.int64)
        for number, node in enumerate(sorted(alive, key=lambda node: members[node])):
            found[members[node]] = number
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: nodes from the root down, each a topic with its words, or a height and two nodes."""

        def node(number: int) -> dict[str, Any]:
            if number < self.n_topics:
                return {"topic": number, "words": list(self.words[number])}
            row = number - self.n_topics
            return {"height": float(self.heights[row]), "of": [node(int(child)) for child in self.merges[row]]}

        return node(self.n_topics + len(self.merges) - 1)

    def __str__(self) -> str:
        """The tree as indented lines."""
        lines: list[str] = []

        def walk(node: dict[str, Any], before: str, last: bool, top: bool) -> None:
            branch = "" if top else "└─ " if last else "├─ "
            text = f"{node['topic']}: {', '.join(node['words'])}" if "topic" in node else "┐"
            lines.append(before + branch + text)
            for i, child in enumerate(node.get("of", [])):
                walk(child, before + ("" if top else "   " if last else "│  "), i == 1, False)

        walk(self.to_dict(), "", True, True)
        return "\n".join(lines)


def tree_of(model: TopicModel, n_words: int = 5) -> TopicTree:
    """Ward's tree over the topics' centres if they have any, else over square roots of word weights (Hellinger)."""
    from scipy.cluster.hierarchy import linkage

    points = np.sqrt(np.maximum(model.topic_word, 0.0)) if model.space is None else model.space.centres
    words = tuple(map(tuple, model.top_words(n_words)))
    if model.n_topics == 1:
        return TopicTree(np.empty((0, 2), np.int64), np.empty(0), words)
    joined = linkage(points, "ward")
    return TopicTree(joined[:, :2].astype(np.int64), joined[:, 2], words)


def merged(model: TopicModel, n_topics: int) -> TopicModel:
    """The model with its topics merged to this number, the largest first.

    Word weights and centres are means by topic shares. The noise of topics is independent: variances add. Sizes are
    sums of sizes: each text counts where it was assigned before merging.
    """
    group = tree_of(model).groups(n_topics)
    share = np.maximum(model.topic_share, 1e-12)
    weight = np.zeros((n_topics, model.n_topics))
    weight[group, np.arange(model.n_topics)] = share
    weight = weight[np.argsort(-weight.sum(axis=1), kind="stable")]
    size = weight.sum(axis=1)
    mean = weight / size[:, None]
    space = None
    if model.space is not None:
        centres = mean @ model.space.centres
        space = replace(model.space, centres=centres / np.linalg.norm(centres, axis=1, keepdims=True))
    return replace(
        model,
        topic_word=mean @ model.topic_word,
        topic_share=size / size.sum(),
        noise_std=None if model.noise_std is None else np.sqrt(mean**2 @ model.noise_std**2),
        sizes=None if model.sizes is None else model.sizes.joined(weight > 0),
        seeds=None,
        space=space,
        themes=None if model.themes is None else model.themes.regrouped((weight > 0).argmax(axis=0)),
    )
