"""The server side: from received reports to released topics. Reports are private already: all of it is free."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dptopics.core.errors import InputError
from dptopics.learners import check_topics
from dptopics.learners.lda import GibbsLda
from dptopics.local.collection import Collection
from dptopics.local.hashing import ANSWER, HashedPair, ThreeWords
from dptopics.local.inference import (
    ClippedPairs,
    FlipChannelLda,
    HashedMixture,
    as_counts,
    count_noise_std,
    count_ones,
    estimated_counts,
    posterior_means,
    rebuilt,
)
from dptopics.local.randomizer import BitFlips
from dptopics.release.release import Release, mechanism_settings
from dptopics.release.topic_model import SURE, TopicModel

FALSE_WORDS = 0.05  # share of releases that may show a word nobody sent, at most
_BELOW = 0.999  # of the limit: pages round to six digits, and must not lift a word over it


def beyond_chance(seen: NDArray[np.int64], n_reports: int, by_chance: float) -> NDArray[np.bool_]:
    """Whether each number of reports that speak for a value is too large for a value that nobody sent.

    Every report speaks for such a value with probability ``by_chance``, independently of all others, so its number is
    binomial. Of all values together one is taken for true with probability at most ``FALSE_WORDS`` (Bonferroni). A
    normal distribution of the same deviation has a far lighter tail where few reports speak for a value.

    >>> beyond_chance(np.array([0, 1, 30]), 1000, 0.01)
    array([False, False,  True])
    >>> beyond_chance(np.array([0, 1, 1, 0]), 1, 0.02)  # one report speaks for some value by chance far too often
    array([False, False, False, False])
    """
    from scipy.stats import binom  # slow to load

    return np.asarray(binom.sf(seen - 1, n_reports, by_chance) <= FALSE_WORDS / max(1, seen.size))


def doubted(
    weights: NDArray[np.float64], noise_std: NDArray[np.float64], sure: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Weights (topics × words), none of which stands out of the noise of its topic unless it is sure."""
    return np.where(sure, weights, np.minimum(weights, _BELOW * SURE * noise_std[:, None]))


_USUAL_CLIP: dict[type, float] = {HashedPair: 1.0, BitFlips: 2.0}
METHODS = ("likelihood", "published")
Parts = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64] | None]  # topics, shares, deviations


def fit_reports(
    collection: Collection,
    data: NDArray[np.uint8],
    *,
    n_topics: int | None = None,
    method: str = "likelihood",
    alpha: float = 0.1,
    sweeps: int = 300,
    key: int = 0,
    clip: float | Literal["usual"] | None = "usual",
    period: str | None = None,
) -> Release[TopicModel]:
    """Topics from the bytes of all reports, with the guarantee of the collection.

    Args:
        collection: the public parameters that the reports were made with.
        data: reports × bytes, each valid and counted once (:class:`dptopics.local.report_files.Inbox`).
        n_topics: how many topics to look for; a collection of pairs knows its own.
        method: for bits, "likelihood" (through the known channel) or "published" (rebuild documents, then Gibbs).
        alpha: prior of a document's topics.
        sweeps: of the published method's sampler.
        key: a public number that the learner's random choices follow from.
        clip: limit what one report may do to a topic: for pairs in standard deviations of its support
            (:class:`~dptopics.local.inference.ClippedPairs`), for bits in mean documents (:class:`FlipChannelLda`).
            Usual are 1 for pairs, 2 for bits by likelihood, and none for the published method and for three words,
            where nothing is left to clip; None for no limit.
        period: the day or week that these reports came from, for the record.
    """
    randomizer = collection.randomizer
    clip = _checked_clip(randomizer, method, clip)
    if not len(data):
        raise InputError("there are no valid reports. Collect at least one.")
    own = len(randomizer.topics) if isinstance(randomizer, HashedPair) else None
    if own is not None and n_topics not in (None, own):
        raise InputError(f"this collection has {own} public topics, so it cannot have {n_topics}. Leave it out.")
    n_topics = own or n_topics or 20
    if own is None:
        check_topics(n_topics, alpha, 1.0)
    topics, share, noise_std = _learner(randomizer, method, n_topics, alpha, sweeps, key, clip)(data)
    model = TopicModel(
        topic_word=topics,
        vocabulary=randomizer.vocabulary,
        topic_share=share,
        alpha=alpha,
        noise_std=noise_std,
        text=collection.text,
        shares_of="Estimated share of reports, without an interval",
    )
    settings = mechanism_settings(randomizer) | {"collection": collection.name, "version": collection.version}
    settings |= {name: value for name, value in (("clip", clip), ("period", period)) if value is not None}
    settings |= {"reports": len(data), "method": method, "n_topics": n_topics, "key": key}
    return Release(value=model, guarantee=collection.guarantee, settings=settings)


def _checked_clip(
    randomizer: BitFlips | HashedPair | ThreeWords, method: str, clip: float | Literal["usual"] | None
) -> float | None:
    """How far a report is clipped by this method; refuses what cannot be."""
    if method not in METHODS:
        raise InputError(f"there is no method {method!r}. The methods are: {', '.join(METHODS)}.")
    if method == "published" and not isinstance(randomizer, BitFlips):
        raise InputError("the published method rebuilds bits; this collection sends hashed words. Use 'likelihood'.")
    if clip == "usual":
        return None if method == "published" else _USUAL_CLIP.get(type(randomizer))
    if clip is not None and (isinstance(randomizer, ThreeWords) or method == "published"):
        raise InputError(
            "only pairs, and bits by likelihood, can be clipped: leave out --clip (clip). Three words count as one "
            "document and three words whatever they say."
        )
    return clip


def _learner(
    randomizer: BitFlips | HashedPair | ThreeWords,
    method: str,
    n_topics: int,
    alpha: float,
    sweeps: int,
    key: int,
    clip: float | None,
) -> Callable[[NDArray[np.uint8]], Parts]:
    def from_bits(bits: NDArray[np.uint8]) -> Parts:
        n_words, f = len(randomizer.vocabulary), randomizer.f  # type: ignore[union-attr]
        ones = count_ones(bits, n_words)
        present = estimated_counts(ones, len(bits), f)  # refuses f = 1
        if method == "published":
            learner = GibbsLda(n_topics=n_topics, alpha=alpha, sweeps=sweeps, key=key)
            counts = as_counts(rebuilt(bits, n_words, f, key=key), n_words, key=key)
            state, seeds = learner.begin(counts), learner.seeds(counts)
            for sweep in range(sweeps):
                learner.sweep(state, seeds, sweep)
            size = state.topic_total[:n_topics] + alpha
            topics, share = learner.topics(state), size / size.sum()
        else:
            topics, share = FlipChannelLda(n_topics=n_topics, alpha=alpha, key=key, clip=clip)(bits, n_words, f)
        tokens = max(1.0, float(np.maximum(present, 0.0).sum()))
        noise_std = count_noise_std(len(bits), f) / (np.sqrt(share) * tokens)
        likely = doubted(topics, noise_std, beyond_chance(ones, len(bits), f / 2))
        total = likely.sum(axis=1)
        return likely / total[:, None], share, noise_std / total

    def from_pairs(data: NDArray[np.uint8]) -> Parts:
        pair = randomizer
        assert isinstance(pair, HashedPair)
        counts = None if clip is None else ClippedPairs(pair, clip)
        sent = answers(data)[:, 0]
        seen = pair.supported(sent)
        table = pair.hash.unbiased(seen, len(data)) if counts is None else counts.table(sent)
        sigma = (counts or pair.hash).unit_noise_std * np.sqrt(len(data))
        # What each count probably was: the noise is known, so most of a rare word's estimate is not believed.
        likely = np.array([posterior_means(row, sigma, len(data)) for row in table])
        # That is normal noise, as that of many reports: an exact test says which pairs somebody sent.
        sure = beyond_chance(seen, len(data), 1 / pair.hash.n_buckets)
        likely = doubted(likely, np.full(len(likely), sigma), sure)
        total = likely.sum(axis=1)
        return likely / total[:, None], total / total.sum(), sigma / total

    def from_three(data: NDArray[np.uint8]) -> Parts:
        assert isinstance(randomizer, ThreeWords)
        topics, share = HashedMixture(n_topics=n_topics, key=key)(randomizer, answers(data))
        return topics, share, None

    if isinstance(randomizer, BitFlips):
        return from_bits
    return from_pairs if isinstance(randomizer, HashedPair) else from_three


def answers(data: NDArray[np.uint8]) -> NDArray[np.void]:
    """Hashed answers of each report, reports × answers."""
    return np.ascontiguousarray(data).view(ANSWER)
