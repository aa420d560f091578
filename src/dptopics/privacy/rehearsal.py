"""Rehearsal: a mechanism runs on invented documents before it is charged for.

What fails whatever the data, because of the settings or of a program that is called, must not cost anything.
"""

from typing import Any

import numpy as np

from dptopics.data.bounded import BoundedCorpus
from dptopics.data.corpus import Corpus
from dptopics.errors import InputError, NothingReleased
from dptopics.privacy.guarantee import Unit
from dptopics.release.vocabulary import Vocabulary

_UNITS = 12


def rehearse(mechanism: Any, unit: Unit) -> None:
    """Run the mechanism, or the parts that it is made of, on invented documents. What they raise comes out."""
    for part, public in mechanism.rehearsed():
        try:
            corpus = _invented(part, public, unit)
            part.check(corpus)
            part(corpus, np.random.default_rng(0))
        except NothingReleased:
            continue
        except MemoryError:
            raise InputError(f"{part.name} needs more memory for these settings than this machine has.") from None


def _invented(mechanism: Any, public: tuple[str, ...], unit: Unit) -> BoundedCorpus:
    """Two documents for each of a few units, over as many words as the mechanism needs; with vectors if it uses any."""
    size = mechanism.rehearsal_size
    some = public[:: max(1, len(public) // size)] or tuple(f"word{i:07d}" for i in range(size))
    words = Vocabulary.of(some).words
    rng = np.random.Generator(np.random.PCG64(0))
    counts = rng.poisson(0.5, (2 * _UNITS, len(words)))
    counts[:, 0] += 3  # no document is too short
    authors = [f"author {i // 2}" for i in range(len(counts))]
    corpus = Corpus.from_counts(counts, words, authors=authors, public_vocabulary=True)
    if mechanism.vector_width is not None:
        corpus = corpus.with_vectors(rng.standard_normal((len(counts), mechanism.vector_width)))
    return corpus.bounded(unit=unit)
