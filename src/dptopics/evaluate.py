"""How good topics are, measured on data. For the owner's eyes: everything here is NOT FOR RELEASE."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dptopics.core.errors import InputError
from dptopics.data.corpus import Corpus
from dptopics.kernels.hashing import siphash
from dptopics.release.topic_model import TopicModel


def npmi(corpus: Corpus, topics: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """Normalised pointwise mutual information of each topic's words, mean over pairs. NOT FOR RELEASE.

    By co-occurrence in documents. Words that never meet count −1, also words that do not occur at all.

    >>> corpus = Corpus.from_texts(["knee pain", "knee pain", "eyes glasses", "eyes"])
    >>> npmi(corpus, [["knee", "pain"], ["knee", "eyes"]]).round(2)
    array([ 1., -1.])
    """
    scores = []
    for together in _meetings(corpus, topics):
        i, j = np.triu_indices(len(together), 1)
        share = together / corpus.n_documents
        joint, alone = share[i, j], np.diag(share)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.log(joint / (alone[i] * alone[j])) / -np.log(joint)
        scores.append(np.mean(np.where(joint == 0, -1.0, np.where(joint == 1, 1.0, value))))
    return np.array(scores)


def umass(corpus: Corpus, topics: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """UMass coherence of each topic's words, heaviest first, summed over pairs. NOT FOR RELEASE.

    Σ over l < m of ln((D(v_m, v_l) + 1)/D(v_l)), D the number of documents that hold the words (Mimno et al. 2011;
    Manzonelli et al. 2024, equation 4). Where v_l occurs in no document, the pair counts as the worst there is: words
    that never meet though v_l is in all N documents, −ln N.

    >>> corpus = Corpus.from_texts(["knee pain", "knee pain", "eyes glasses", "eyes"])
    >>> umass(corpus, [["knee", "pain"], ["knee", "eyes"], ["none", "knee"]]).round(3)
    array([ 0.405, -0.693, -1.386])
    """
    scores = []
    for together in _meetings(corpus, topics):
        m, l = np.tril_indices(len(together), -1)
        alone = np.diag(together)[l]
        value = np.log((together[m, l] + 1) / np.maximum(alone, 1))
        scores.append(np.sum(np.where(alone == 0, -np.log(corpus.n_documents), value)))
    return np.array(scores)


def diversity(topics: Sequence[Sequence[str]]) -> float:
    """Share of distinct words among all topics' words: one if no two topics share a word. NOT FOR RELEASE.

    It looks at the topics alone, so words that never occur count like any others. No words at all: zero.

    >>> diversity([["knee", "pain"], ["knee", "eyes"]])
    0.75
    """
    words = [word for topic in topics for word in topic]
    return len(set(words)) / max(1, len(words))


def perplexity(corpus: Corpus, model: TopicModel, *, key: int = 0) -> float:
    """exp of minus the mean log likelihood of half of each document's tokens, given the other half. NOT FOR RELEASE.

    Document completion: topic shares are inferred from the observed half, and the held-out tokens are scored by
    Σ_k θ_dk φ_kw. A hash of the document's content, the token's place and ``key`` decides the half. Tokens outside the
    model's vocabulary are left out; a token that every topic gives probability zero makes the result infinite. Compare
    only models with the same vocabulary, on documents that none of them has seen.

    >>> from dptopics.core.vocabulary import Vocabulary
    >>> model = TopicModel(topic_word=np.array([[0.5, 0.5], [0.25, 0.75]]), topic_share=np.ones(2) / 2, alpha=1.0,
    ...     vocabulary=Vocabulary.of(["a", "b"]))
    >>> 1 < perplexity(Corpus.from_counts(np.array([[9, 9]]), ["a", "b"]), model) < 3
    True
    """
    counts = corpus.counts(model.vocabulary)
    start, word = counts.tokens()
    document = np.repeat(np.arange(counts.n_documents), np.diff(start))
    place = np.arange(word.size) - start[document]
    mixed = siphash(counts.doc_key[document] + place.astype(np.uint64), np.uint64(key), np.uint64(2))
    held = (mixed & np.uint64(1)).astype(bool)
    if not held.any():
        raise InputError("no document has a word of the vocabulary to score. Give more text.")
    ones = np.ones(np.count_nonzero(~held))
    shape = (counts.n_documents, counts.n_words)
    shares = model.transform_counts(sparse.csr_array((ones, (document[~held], word[~held])), shape=shape))
    chance = np.einsum("tk,kt->t", shares[document[held]], model.topic_word[:, word[held]])
    with np.errstate(divide="ignore"):
        return float(np.exp(-np.mean(np.log(chance))))


def _meetings(corpus: Corpus, topics: Sequence[Sequence[str]]) -> list[NDArray[np.float64]]:
    """For each topic, the number of documents that hold both words of a pair; zero for words that never occur."""
    if any(len(words) < 2 for words in topics):
        raise InputError("coherence compares pairs of words: give at least two words for each topic.")
    column = {word: i for i, word in enumerate(corpus.words)}
    shape = (len(corpus.words), corpus.n_documents)
    present: Any = sparse.csc_array((np.ones(corpus.word.size), corpus.word, corpus.doc_start), shape=shape).tocsr()
    found = []
    for words in topics:
        known = [place for place, word in enumerate(words) if word in column]
        chosen = present[[column[words[place]] for place in known]]
        together = np.zeros((len(words), len(words)))
        together[np.ix_(known, known)] = (chosen @ chosen.T).toarray()
        found.append(together)
    return found
