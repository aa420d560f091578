"""Which of the four configurations DeCarolis et al. 2020 recommend, by public numbers alone."""

from dataclasses import dataclass
from math import sqrt

from dptopics.errors import InputError

MANY_TOPICS = 50  # "when k is large"; the paper gives no number


@dataclass(frozen=True)
class Recommendation:
    """A mechanism's name, and where the paper says so."""

    name: str
    reason: str


def recommended(*, n_units: int, n_words: int, n_topics: int, alpha0: float) -> Recommendation:
    """Remarks 14 to 16 and section 8 as a rule. ``n_units`` counts as public under the relation of these mechanisms.

    Our measurements favour ``spectral-1`` wherever any of them beats chance, and ``spectral`` throughout: see
    docs/papers/spectral.md. To choose by the data, and pay for it, use :class:`dptopics.topics.best_of.BestOf`.

    >>> recommended(n_units=100_000, n_words=100, n_topics=5, alpha0=1.0).name
    'spectral-1'
    """
    if min(n_units, n_words, n_topics) < 1 or not alpha0 > 0:
        raise InputError("n_units, n_words, n_topics and alpha0 must be positive.")
    if n_units <= sqrt(n_words):
        return Recommendation("spectral-4", "remark 16: from N > √d on configuration 3 loses less than 4")
    if n_topics >= MANY_TOPICS:
        return Recommendation("spectral-3", "remark 15 and section 8: configuration 3 gains where k is large")
    if n_units > n_words**2:
        return Recommendation("spectral-1", "sections 7 and 8: configuration 1 is best where N exceeds d²")
    if alpha0 < 1:
        return Recommendation("spectral-1", "section 8: configuration 1 where documents keep to few topics")
    return Recommendation("spectral-2", "remark 14 and section 8: configuration 2 where N is small and topics mix")
