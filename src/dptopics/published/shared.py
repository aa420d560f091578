"""What the reproductions share: they take public words as given, and draw raw bits for their samplers."""

from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.corpus import BoundedCorpus
from dptopics.errors import InputError, PrivacyError
from dptopics.mechanism import Mechanism, check_unit
from dptopics.release import Vocabulary


def check_words(
    mechanism: Mechanism[Any], corpus: BoundedCorpus, vocabulary: Vocabulary | None, n_topics: int
) -> Vocabulary:
    """The public words; refuse private ones, fewer words than topics, and a corpus bounded for another unit."""
    check_unit(mechanism, corpus)
    if vocabulary is None:
        raise PrivacyError("the words of this corpus are private. Put a vocabulary in front, or give public words.")
    if n_topics > len(vocabulary):
        raise InputError(
            f"{n_topics} topics need at least as many words, but the vocabulary has {len(vocabulary)}. "
            "Ask for fewer topics, or get more words."
        )
    return vocabulary


def random_bits(rng: Generator, n: int) -> NDArray[np.uint64]:
    """n words of 64 uniform bits."""
    return rng.integers(0, 2**64 - 1, n, dtype=np.uint64, endpoint=True)
