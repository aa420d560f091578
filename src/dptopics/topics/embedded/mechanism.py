"""Private topics with a public model's help: cluster documents in its space, then let them vote for words."""

from dataclasses import dataclass, field, replace
from math import sqrt
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics import progress
from dptopics.data.bounded import Block, BoundedCorpus, UnitRows
from dptopics.errors import InputError
from dptopics.kernels.embedded import mean_of_words, nearest, projected, votes
from dptopics.privacy.events import Gaussian
from dptopics.privacy.guarantee import Guarantee
from dptopics.privacy.looks import noisy_sum
from dptopics.privacy.mechanism import check_words
from dptopics.public.embeddings import Embedding, WordLlama, frequencies, unit
from dptopics.public.text_models import check_repeatable
from dptopics.release.release import Release
from dptopics.release.topic_model import DocumentSpace, TopicModel
from dptopics.release.vocabulary import Vocabulary
from dptopics.topics.embedded import public_space
from dptopics.topics.gaussian import GaussianTopics

Floats = NDArray[np.float64]

PUBLIC_MODEL = (
    "The embedding model is public and has not seen this data; each document's vector depends on that document alone."
)
OWN_VECTORS = (
    "Vectors that were computed elsewhere (embeddings=, a column on Spark) were computed from one text at a time: in a "
    "padded batch, the texts beside it change a text's vector."
)
_SIZE_WEIGHT = 0.5  # of the count beside a unit vector in the sums of a cluster


@dataclass(frozen=True)
class _Documents:
    """Documents of a block as unit vectors of the public space: by their own vectors, or as the mean of their words."""

    space: public_space.Space
    of_words: bool
    middle: Floats

    def __call__(self, block: Block) -> Floats:
        if self.of_words:
            return mean_of_words(block.doc_start, block.word, block.counts, self.space.word_means, self.middle)
        assert block.vectors is not None  # checked before
        return projected(block.vectors, self.space.mean, self.space.projection, self.middle)


@dataclass(frozen=True)
class _Nearest:
    """One for the candidate nearest to each document."""

    documents: _Documents
    candidates: Floats
    width: ClassVar[int] = 1

    @property
    def height(self) -> int:
        return len(self.candidates)

    def __call__(self, block: Block) -> UnitRows:
        found = nearest(self.documents(block), np.ascontiguousarray(self.candidates.T))
        start, kept = _kept(block, found)
        return UnitRows(start, found[kept], np.ones((kept.size, 1)))


@dataclass(frozen=True)
class _Sums:
    """A document's unit vector and a weight for its size, in the row of its cluster."""

    documents: _Documents
    centres: Floats

    @property
    def height(self) -> int:
        return len(self.centres)

    @property
    def width(self) -> int:
        return int(self.centres.shape[1]) + 1

    def __call__(self, block: Block) -> UnitRows:
        vectors = self.documents(block)
        found = nearest(vectors, np.ascontiguousarray(self.centres.T))
        start, kept = _kept(block, found)
        size = np.full((kept.size, 1), _SIZE_WEIGHT)
        return UnitRows(start, found[kept], np.concatenate([vectors[kept], size], axis=1))


@dataclass(frozen=True)
class _Votes:
    """A document's votes for words, in the column of its topic."""

    documents: _Documents
    centres: Floats
    score: NDArray[np.float32]
    most: int
    height: ClassVar[None] = None

    @property
    def width(self) -> int:
        return len(self.centres)

    def __call__(self, block: Block) -> UnitRows:
        found = nearest(self.documents(block), np.ascontiguousarray(self.centres.T))
        start, word, weight = votes(block.doc_start, block.word, found, self.score, self.most)
        values = np.zeros((word.size, self.width))
        values[np.arange(word.size), np.repeat(found, np.diff(start))] = weight
        return UnitRows(start[block.unit_start], word, values)


def _kept(block: Block, found: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Documents that have a place, and where each unit's begin among them."""
    before = np.concatenate([[0], np.cumsum(found >= 0)])
    return before[block.unit_start], np.flatnonzero(found >= 0)


@dataclass(frozen=True, kw_only=True)
class EmbeddedTopics(GaussianTopics):
    """Topics as clusters of documents in the space of a public embedding model, with the words that they vote for.

    Noisy bounded sums: the middle of all documents, which is taken off; how many documents lie near each of many
    public candidates (which gives good starting centres); ``steps`` rounds of k-means; and one words × topics table
    to which each document gives its ``most_words`` best words for its topic: near the centre in the public space, and
    rare in the language. A public prior for each topic's words (near its centre, common in the language) and the
    noisy votes make a posterior, so that small topics get sensible words instead of noise. Clusters that are too
    small to be told from noise are dropped, and those that lie together are merged. Proof:
    docs/guarantees/embedded.md
    """

    embedding: Embedding = field(default_factory=WordLlama)
    steps: int = 8
    dimensions: int = 128
    candidates: int = 300
    most_words: int = 8
    start_share: float = 0.08
    centre_share: float = 0.45
    name: ClassVar[str] = "embedded"
    usual_vocabulary: ClassVar[str] = "common+weighted"
    paper: ClassVar[str] = "ours; after Su et al. 2016 (private k-means)"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("steps", "dimensions", "candidates", "most_words"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if self.candidates < self.n_topics:
            raise InputError(f"there must be at least as many candidates as topics, got {self.candidates}.")
        if not (self.start_share > 0 and self.centre_share > 0 and self.start_share + self.centre_share < 1):
            raise InputError("start_share and centre_share must be positive and leave a share for the words.")

    @property
    def start_sigma(self) -> float:
        """Noise multiplier of the counts of candidates."""
        return self.sigma / sqrt(self.start_share)

    @property
    def step_sigma(self) -> float:
        """Noise multiplier of the middle and of each round of k-means."""
        return self.sigma * sqrt((self.steps + 1) / self.centre_share)

    @property
    def word_sigma(self) -> float:
        """Noise multiplier of the words × topics table."""
        return self.sigma / sqrt(1 - self.start_share - self.centre_share)

    @property
    def word_noise(self) -> float | None:
        """On a word's part in a topic."""
        return self.word_sigma

    @property
    def guarantee(self) -> Guarantee:
        """Gaussian events: the middle and each round, the start, the words."""
        return self.promised(
            Gaussian(self.step_sigma, self.steps + 1),
            Gaussian(self.start_sigma, nonnegative=True),
            Gaussian(self.word_sigma, nonnegative=True),
            assumptions=(PUBLIC_MODEL, *(() if self.embedding.of_words else (OWN_VECTORS,))),
        )

    @property
    def rehearsal_size(self) -> int:
        """Words to take candidates from."""
        return self.candidates + 8

    @property
    def vector_width(self) -> int | None:
        """That of the model, where it embeds whole texts."""
        return None if self.embedding.of_words else int(self.embedding(["word"]).shape[1])

    def check(self, corpus: BoundedCorpus) -> None:
        """The words must be public, and enough for the topics."""
        check_words(self, corpus, corpus.vocabulary, self.n_topics)
        self.check_documents(corpus)

    def check_documents(self, corpus: BoundedCorpus) -> None:
        """The model must be installed, and the documents' vectors must be its own."""
        frequencies(["word"], "english")  # what is not installed is missed now, before anything is charged
        width = self.embedding(["word"]).shape[1]
        if self.embedding.of_words:
            return
        check_repeatable(self.embedding)
        if corpus.vector_width is None:
            raise InputError("this corpus has no embeddings. Read it with embed=model, or add them: with_vectors.")
        if corpus.vector_width not in (0, width):
            raise InputError(
                f"the documents' embeddings have {corpus.vector_width} numbers, those of {self.embedding.name} have "
                f"{width}: they come from another model."
            )

    def __call__(self, corpus: BoundedCorpus, rng: Generator) -> Release[TopicModel]:
        """Start, k-means, words."""
        self.check(corpus)
        vocabulary = corpus.vocabulary
        assert vocabulary is not None
        space = public_space.of_words(vocabulary, self.embedding, corpus.text, self.dimensions)
        with progress.part(0.0, 0.1):
            documents = self._middle(
                corpus, _Documents(space, self.embedding.of_words, np.zeros(space.projection.shape[1])), rng
            )
        with progress.part(0.1, 0.2):
            centres = self._start(corpus, documents, rng)
        sizes = np.zeros(len(centres))
        for step in range(self.steps):
            with progress.part(0.2 + 0.6 * step / self.steps, 0.2 + 0.6 * (step + 1) / self.steps):
                centres, sizes = self._round(corpus, documents, centres, rng)
        doubt = self.step_sigma * _bound() / _SIZE_WEIGHT
        centres, sizes = public_space.strong(centres, sizes, 3 * doubt)
        with progress.part(0.8, 1.0):
            table = self._words(corpus, documents, centres, rng)
        return Release.of(self._model(table, sizes, centres, documents, vocabulary, corpus), self, rng)

    def _middle(self, corpus: BoundedCorpus, documents: _Documents, rng: Generator) -> _Documents:
        """Documents seen from their noisy mean: most models put all texts on one side of the space, far from words."""
        statistic = _Sums(documents, np.zeros((1, documents.middle.size)))
        sums = noisy_sum(corpus, statistic, bound=_bound(), sigma=self.step_sigma, rng=rng)[0]
        size = max(sums[-1] / _SIZE_WEIGHT, 1.0)
        mean = sums[:-1] / size
        return replace(documents, middle=mean / max(1.0, float(np.linalg.norm(mean))))

    def _start(self, corpus: BoundedCorpus, documents: _Documents, rng: Generator) -> Floats:
        """Public candidates, weighted by how many documents lie near each, grouped into ``n_topics`` centres."""
        candidates = documents.space.candidates(self.candidates)
        near = noisy_sum(corpus, _Nearest(documents, candidates), bound=1.0, sigma=self.start_sigma, rng=rng)[:, 0]
        return public_space.grouped(candidates, near, self.start_sigma, self.n_topics)

    def _round(
        self, corpus: BoundedCorpus, documents: _Documents, centres: Floats, rng: Generator
    ) -> tuple[Floats, Floats]:
        """New centres, each drawn back to the old one as far as noise outweighs the sum, and noisy sizes."""
        sums = noisy_sum(corpus, _Sums(documents, centres), bound=_bound(), sigma=self.step_sigma, rng=rng)
        moved, deviation = sums[:, :-1], self.step_sigma * _bound()
        trust = np.maximum(0.0, 1 - moved.shape[1] * deviation**2 / np.maximum((moved**2).sum(axis=1), 1e-300))
        mixed = trust[:, None] * unit(moved) + (1 - trust)[:, None] * centres
        return unit(mixed), sums[:, -1] / _SIZE_WEIGHT

    def _words(self, corpus: BoundedCorpus, documents: _Documents, centres: Floats, rng: Generator) -> Floats:
        """The noisy words × topics table of votes."""
        statistic = _Votes(documents, centres, documents.space.word_scores(centres), self.most_words)
        return noisy_sum(corpus, statistic, bound=1.0, sigma=self.word_sigma, rng=rng)

    def _model(
        self,
        table: Floats,
        sizes: Floats,
        centres: Floats,
        documents: _Documents,
        vocabulary: Vocabulary,
        corpus: BoundedCorpus,
    ) -> TopicModel:
        """Post-processing: the posterior of the votes, largest topic first."""
        space, middle = documents.space, documents.middle
        order = np.argsort(-sizes, kind="stable")
        sizes, centres, table = sizes[order], centres[order], table[:, order]
        expected = space.word_prior(centres) * sizes * sqrt(self.most_words)
        counts = public_space.posterior(table, self.word_sigma, expected)
        total = counts.sum(axis=0)
        return TopicModel(
            topic_word=np.ascontiguousarray((counts / total).T),
            vocabulary=vocabulary,
            topic_share=sizes / sizes.sum(),
            alpha=0.1,
            deviation=self.word_sigma / total,
            text=corpus.text,
            space=DocumentSpace(
                embedding=self.embedding.name,
                of_words=self.embedding.of_words,
                mean=space.mean,
                projection=space.projection,
                middle=middle,
                centres=centres,
            ),
        )


def _bound() -> float:
    """L2 norm of a document's row in the sums of a cluster."""
    return sqrt(1 + _SIZE_WEIGHT**2)
