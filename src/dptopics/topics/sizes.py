"""How many units each topic has: one last noisy sum, under the rule of assignment that is released."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from dptopics import progress
from dptopics.data.bounded import Block, BoundedCorpus, UnitRows
from dptopics.privacy.looks import noisy_sum
from dptopics.release.topic_model import TopicModel
from dptopics.release.topic_sizes import TopicSizes


@dataclass(frozen=True)
class _Placed:
    """The share of a unit's documents in each topic; the last row is for documents that have none."""

    model: TopicModel
    width: ClassVar[int] = 1

    @property
    def height(self) -> int:
        """A row for each topic, and one for none."""
        return self.model.n_topics + 1

    def __call__(self, block: Block) -> UnitRows:
        """Shares that add up to one: L1 norm one, so L2 norm at most one."""
        topic = self.model.placed(block.doc_start, block.word, block.counts, block.vectors)
        documents = np.diff(block.unit_start)
        each = np.repeat(1 / np.maximum(documents, 1), documents)
        return UnitRows(block.unit_start, topic.astype(np.int32), each[:, None])


def sized(model: TopicModel, corpus: BoundedCorpus, *, sigma: float, rng: Generator) -> TopicModel:
    """The topics with their noisy sizes, the largest first by what was known before.

    No topic is dropped after the count, and none is numbered by it: the one that is counted largest is so by its noise
    too, and its interval would not hold.
    """
    model = model.reordered(np.argsort(-model.topic_share, kind="stable"))
    with progress.part(0.97, 1.0):
        noisy = noisy_sum(corpus, _Placed(model), bound=1.0, sigma=sigma, rng=rng)[:, 0]
    sizes = TopicSizes(noisy=noisy, noise=np.full(noisy.size, sigma), unit=str(corpus.bounds.unit))
    return replace(model, sizes=sizes, topic_share=sizes.weights)
