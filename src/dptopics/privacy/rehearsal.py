"""Rehearsal: a mechanism runs on invented documents before it is charged for.

What fails whatever the data, because of the settings or of a program that is called, must not cost anything.
"""

from typing import Any

import numpy as np

from dptopics.data.bounded import BoundedCorpus
from dptopics.data.corpus import Corpus
from dptopics.errors import DptopicsError, InputError, NothingReleased
from dptopics.privacy.guarantee import Unit

_UNITS = 12


def rehearse(mechanism: Any, unit: Unit) -> None:
    """Run the mechanism, or the parts that it is made of, on invented documents; refuse what fails there."""
    for part in mechanism.rehearsed():
        if problem := _problem(part, unit):
            raise InputError(f"{part.name} cannot run with these settings: {problem}. Nothing was spent.")


def _problem(mechanism: Any, unit: Unit) -> str | None:
    """What goes wrong, if anything does. Nothing here has seen private data, but the name of an exception is enough."""
    try:
        corpus = _invented(mechanism, unit)
        mechanism.check(corpus)
        mechanism(corpus, np.random.default_rng(0))
    except NothingReleased:
        return None
    except MemoryError:
        return "they need more memory than this machine has"
    except DptopicsError:
        raise
    except Exception as error:
        return type(error).__name__
    return None


def _invented(mechanism: Any, unit: Unit) -> BoundedCorpus:
    """Two documents for each of a few units, over as many words as the mechanism needs; with vectors if it uses any."""
    words = [f"word{i:07d}" for i in range(mechanism.rehearsal_size)]
    rng = np.random.Generator(np.random.PCG64(0))
    counts = rng.poisson(0.5, (2 * _UNITS, len(words)))
    counts[:, 0] += 3  # no document is too short
    authors = [f"author {i // 2}" for i in range(len(counts))]
    corpus = Corpus.from_counts(counts, words, authors=authors, public_vocabulary=True)
    if mechanism.vector_width is not None:
        corpus = corpus.with_vectors(rng.standard_normal((len(counts), mechanism.vector_width)))
    return corpus.bounded(unit=unit)
