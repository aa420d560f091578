"""TopicSizes: how many units each released topic has, by the released rule of assignment. Public."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dptopics.kernels.embedded import cosines, in_steps, nearest, softmax
from dptopics.release.counts import Estimate, Share, Shown, fieller

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class TopicSizes:
    """Noisy sizes of topics, the last entry for texts without known words.

    A document counts for the topic that the released model assigns. An author counts once, split evenly over the topics
    of their documents (those within the bound): sizes add up to the number of authors.

    >>> sizes = TopicSizes(noisy=np.array([300.0, 90.0, 10.0]), noise=np.full(3, 5.0), unit="author")
    >>> sizes.of(0), sizes.total
    ('300 (290 to 310)', '400 (383 to 417)')
    >>> sizes.share(0)
    Share(value=0.75, low=0.724..., high=0.777...)
    """

    noisy: Floats
    noise: Floats  # standard deviation of the noise in each
    unit: str

    @property
    def title(self) -> str:
        """The head of a column of sizes."""
        return f"{self.unit.capitalize()}s (95 % interval)"

    @property
    def note(self) -> str:
        """What is counted, in a sentence or two."""
        if self.unit == "document":
            how, unknown = "Each document counts for one topic", "have no topic, because they have no known word"
        else:
            how = "Each author counts once, split evenly over the topics of their texts"
            unknown = "of these belong to texts without a topic, which have no known word"
        return f"{how}. About {self.total} {self.unit}s in total; {self.of(-1)} {unknown}."

    @property
    def total(self) -> str:
        """All units, as text."""
        return str(Shown.of(self.whole))

    @property
    def whole(self) -> Estimate:
        """All units, as measured."""
        return Estimate.of(float(self.noisy.sum()), float((self.noise**2).sum()))

    def to_dict(self) -> dict[str, Any]:
        """What concerns no single topic, as plain data: the unit, the total, and units without a topic."""
        return {"unit": self.unit, "all": self.whole._asdict(), "none": self.estimate(-1)._asdict(), "note": self.note}

    def estimate(self, topic: int) -> Estimate:
        """The noisy size of a topic with its 95 % interval, as measured: noise may take it below 0."""
        return Estimate.of(float(self.noisy[topic]), float(self.noise[topic]) ** 2)

    def of(self, topic: int) -> str:
        """The size of a topic as text."""
        return str(Shown.of(self.estimate(topic)))

    def rows(self) -> list[tuple[object, float, int, int]]:
        """For tables: number of the topic, size as measured, interval rounded outward."""
        names = [*range(self.noisy.size - 1), "none"]
        return [(name, *self.estimate(k).rounded) for k, name in enumerate(names)]

    def share(self, topic: int) -> Share | None:
        """Of all units, with its 95 % set (Fieller 1940). None: the set is unbounded."""
        whole, variance = float(self.noisy.sum()), float((self.noise**2).sum())
        own = float(self.noise[topic]) ** 2  # also the covariance with the sum, which includes this entry
        low, high = fieller(float(self.noisy[topic]), whole, own, own, variance)
        if np.isnan(low):
            return None
        return Share(min(1.0, max(0.0, float(self.noisy[topic]) / whole)), float(low), float(high))

    @property
    def weights(self) -> Floats:
        """Weights of the topics, positive and summing to one: for means over topics, not for display."""
        positive = np.maximum(self.noisy[:-1], np.maximum(self.noise[:-1], 1.0) / 10)
        return np.asarray(positive / positive.sum())

    def joined(self, of: NDArray[np.bool_]) -> Self:
        """Sizes of groups of topics, groups × topics: sums of sizes, each text assigned as before."""
        parts = np.zeros((len(of) + 1, self.noisy.size))
        parts[:-1, :-1], parts[-1, -1] = of, 1.0
        return replace(self, noisy=parts @ self.noisy, noise=np.sqrt(parts @ self.noise**2))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """For a bundle."""
        return {"size": self.noisy, "size_noise": self.noise}


_SHARPNESS = 0.05  # of shares computed from cosines


@dataclass(frozen=True, eq=False, kw_only=True)
class DocumentSpace:
    """The space of an embedded model: cosines with the centres of topics assign documents.

    A text's vector is the model's own, or (``of_words``) the mean of its words'; minus ``mean``, times ``projection``,
    and centred at the ``middle`` of the documents.
    """

    embedding: str
    of_words: bool
    mean: NDArray[np.float64]
    projection: NDArray[np.float64]
    middle: NDArray[np.float64]
    centres: NDArray[np.float64]
    sharpness: float | None = _SHARPNESS  # None: cosines as they are

    def nearest(self, documents: NDArray[np.int16]) -> NDArray[np.int64]:
        """The topic of the largest cosine, one past the last for a document without a place."""
        found = nearest(documents, in_steps(self.centres))
        return np.where(found < 0, len(self.centres), found).astype(np.int64)

    def shares(self, documents: NDArray[np.int16]) -> NDArray[np.float64]:
        """Topic shares of documents, unit vectors in steps: softmax of cosines, equal for the zero vector.

        Each row depends on its document alone, bit for bit: counts rely on that.
        """
        found = cosines(documents, in_steps(self.centres))
        return found if self.sharpness is None else softmax(found / self.sharpness)
