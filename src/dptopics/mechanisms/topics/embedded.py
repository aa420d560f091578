"""Private topics with a public model's help: cluster documents in its space, then let them vote for words."""

from dataclasses import dataclass, field, replace
from math import ceil, sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.core import progress
from dptopics.core.errors import InputError
from dptopics.core.settings import whole
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.bounded import BoundedCorpus, Placed
from dptopics.mechanisms.budget import Asked, Budget
from dptopics.mechanisms.mechanism import ThemesExpected, check_words
from dptopics.mechanisms.topics import embedded_space
from dptopics.mechanisms.topics.atlas import (
    LEAST_TEXTS,
    LIKELY,
    MOST_THEMES,
    SURE_FROM,
    Along,
    Belonging,
    Chart,
    Nearby,
    Places,
    Units,
    grouped_themes,
    public_chart,
    theme_axes,
)
from dptopics.mechanisms.topics.embedded_space import (
    SIZE_WEIGHT,
    SUMS_BOUND,
    Clusters,
    Documents,
    Frequencies,
    Moving,
    Nearest,
    Space,
    Sums,
    Votes,
    grouped,
    merged,
    strong,
)
from dptopics.mechanisms.topics.gaussian import LEAN, GaussianTopics, SeedWords, checked_seeds, sized
from dptopics.privacy.guarantee import Guarantee
from dptopics.public.atlas import Atlas
from dptopics.public.embeddings import AtlasWords, Embedding, MiniLMWords, frequencies, unit
from dptopics.public.text_models import check_repeatable
from dptopics.release.release import Release
from dptopics.release.themes import Themes
from dptopics.release.topic_model import SURE, TopicModel
from dptopics.release.topic_sizes import DocumentSpace

Floats = NDArray[np.float64]

_COUNTED = 0.25  # of the share of the start, for the number of units
_COMMONEST = 3.0  # in documents' shares: how steeply votes fall for words that stand in many documents
_RARE = 0.02  # share of the documents from which on a word may hope to be seen, and to meet others
_POWER = 0.25  # at most, of nearness and of the share that is the topic's: the data shall say which words belong
_UNITS = 100  # of a topic, for each standard deviation of noise on a word's votes: what makes five words stand out
_SHARPNESS = 0.1  # of the share that a word gives to each topic
_PRIOR_SHARPNESS = 0.08
_PRIOR_DOUBT = 8.0  # standard deviation of the prior, in its means
_OTHERS = 0.01  # of a topic's weight for words that nothing but the prior speaks for
SEEN = 3.5  # standard deviations of the noise by which the documents must be seen to use a word
LEAST_WORDS = 5  # above the noise, for a topic that nobody asked for


def words_of_a_document(used: Floats, size: float) -> float:
    """How many distinct words a document has, from noisy numbers: each gave the root of it in all."""
    return max(1.0, max(float(used.sum()), 0.0) / size) ** 2


def units_of_a_topic(sigma: float) -> float:
    """How many units a topic needs for some of its words to stand above noise of this size."""
    return _UNITS * sigma


def trust_in_model(units: float, sigma: float) -> float:
    """The power of nearness in a word's score: the more units a topic has, the less the model needs to say."""
    return _POWER * min(1.0, units_of_a_topic(sigma) / max(units, 1.0))


def scores(space: Space, centres: Floats, n_words: float, steepness: float, trust: float) -> NDArray[np.float32]:
    """How gladly a document of topic k votes for word w: near the centre, and neither rare nor everywhere.

    Rare is what few *documents* hold, so that short texts vote for more common words: others would never meet there.
    ``trust``: how far nearness counts.
    """
    near = space.words @ centres.T
    share = np.exp((near - near.max(axis=1, keepdims=True)) / _SHARPNESS)
    share /= share.sum(axis=1, keepdims=True)
    held = n_words * space.here  # about the share of documents that hold the word
    common = np.log(_COMMONEST / np.minimum(held, 0.8 * _COMMONEST))
    telling = np.sqrt(held / (held + _RARE)) * common**steepness
    return np.asarray((np.maximum(near, 0) * share) ** trust * telling[:, None], np.float32)


def expected_votes(space: Space, centres: Floats, votes: Floats) -> Floats:
    """Words × topics, before any vote: ∝ exp(cosine/τ) · √(frequency in the language · share here)."""
    common = np.sqrt(space.frequency * space.here)
    score = space.words @ centres.T / _PRIOR_SHARPNESS + np.log(common)[:, None]
    prior = np.exp(score - score.max(axis=0))
    return np.asarray(prior / prior.sum(axis=0) * votes)


def posterior(noisy: Floats, sigma: float, expected: Floats) -> Floats:
    """Mean of each count, normal around ``expected`` give or take a multiple of it, seen through Gaussian noise.

    (noisy · v + expected · σ²)/(v + σ²), v the prior's variance; never quite zero, so that every word stays possible.
    """
    variance = (_PRIOR_DOUBT * expected) ** 2 + 0.01
    mean = (noisy * variance + expected * sigma**2) / (variance + sigma**2)
    return np.asarray(np.maximum(mean, 1e-3 * expected + 1e-9))


@dataclass(frozen=True, eq=False)
class Weights:
    """Words × topics, each column a distribution, and what noise does to them."""

    share: Floats
    noise_std: Floats  # one number for each topic
    sure: NDArray[np.int64]  # words of each topic that stand above the noise


def weights(counts: Floats, sigma: float, expected: Floats, seen: NDArray[np.bool_]) -> Weights:
    """Nearly all weight goes to words that were ``seen`` in the documents, or that the votes carry.

    The others share the little that is left as the prior has it: no word of a public list looks like a finding.
    """
    sure = counts >= SURE * sigma
    spoken = np.where(sure | seen[:, None], counts, 0.0)
    total = spoken.sum(axis=0)
    others = expected / expected.sum(axis=0)
    share = np.where(total > 0, (1 - _OTHERS) * spoken / np.where(total > 0, total, 1.0) + _OTHERS * others, others)
    noise_std = np.where(total > 0, (1 - _OTHERS) * sigma / np.where(total > 0, total, 1.0), 1.0)
    return Weights(share, noise_std, np.count_nonzero(sure, axis=0))


def telling(sure: NDArray[np.int64], sizes: Floats, least: int) -> NDArray[np.int64]:
    """Topics with at least so many words above the noise, largest first; at least the two that have most of them.

    Documents of the others go to the nearest that stays.
    """
    most = np.lexsort((-sizes, -sure))
    kept = most[: max(2, np.count_nonzero(sure >= least))]
    return np.asarray(kept[np.argsort(-sizes[kept], kind="stable")])


class Split(NamedTuple):
    """Shares of the budget for few units, after they are counted; the rest counts sizes."""

    look: float
    rounds: float
    words: float

    @classmethod
    def of(cls, size: float, examples: float = 0.0) -> "Split":
        """By the noisy number of units: rounds of k-means need some hundreds, votes for words more.

        ``examples``: the share of votes for sentences, which those for words leave.
        """
        if size >= 1500:
            return cls(0.18, 0.38, 0.27 - examples)
        rounds = 0.38 * min(1.0, max(0.0, size - 300) / 300)
        return cls(0.76 - rounds, rounds, 0.0)


def steps_of(size: float, *, of_words: bool) -> int:
    """Rounds of k-means, for few units: noise leaves room for more the more there are. Whole texts move further."""
    return (3 if size < 800 else 4 if size < 1500 else 10) if of_words else 8


def axes_of(size: float) -> int:
    """Axes that they go along: 24 up to 800 units, 48 with 2,000, 96 from 8,000 on."""
    return round(float(np.interp(size, (800, 2000, 8000), (24, 48, 96))))


# Of models of words, and of whole texts: chosen on other corpora than those of benchmarks/atlas.py, with all axes.
_THEME_EVENNESS = {True: 0.8, False: 0.3}
_CAUTION = 1.1  # noise in them counts so many times: a sum must say more than that to move a topic
_WORDS_OF_A_TEXT = 50  # distinct ones, where nobody asked
_WORDS_OF_A_THEME = 8
_EXAMPLES_SHARE = 0.03  # of the budget
_EXAMPLES = 2  # sentences of a theme, at most
_SURELY = 4.0  # standard deviations of the noise on its size, for a theme to have some
_UNITS_OF_A_THEME = 15.0  # for each unit of noise: what one theme more needs to be seen

PUBLIC_MODEL = (
    "The embedding model is public and has not seen this data; each document's vector depends on that document alone."
)
OWN_VECTORS = (
    "Vectors that were computed elsewhere (embeddings=, a column on Spark) were computed from one text at a time: in a "
    "padded batch, the texts beside it change a text's vector."
)


@dataclass(frozen=True, kw_only=True)
class EmbeddedTopics(GaussianTopics):
    """Topics as clusters of documents in the space of a public embedding model, with the words that they vote for.

    Noisy bounded sums: how common each word is here; the middle of all documents, which is taken off; how many
    documents lie near each of many public candidates (which gives good starting centres); ``steps`` rounds of k-means
    with ``spread`` times as many clusters as topics and ``more_clusters`` more, merged in the end, where rounds that
    noise outweighs add up; and one words × topics table to which each
    document gives its ``most_words`` best words for its topic: near the centre, neither rare nor everywhere; and the
    units of each topic that is released. A prior
    for each topic's words (near its centre, common) and the noisy votes make a posterior. ``n_topics`` is an upper
    limit: clusters that are too small to be told from noise are dropped, and those that lie together are merged.
    ``auto``: as many topics as the noisy number of documents can carry. Proof: docs/guarantees/embedded.md
    """

    embedding: Embedding = field(default_factory=MiniLMWords)
    atlas: Atlas | None = None  # public themes; None: candidates are made of public words
    few: int = 8000  # units below which the budget goes to themes, where there is an atlas
    examples_from: int = 2500  # units from which on they vote for invented sentences of the themes
    steps: int = 8
    dimensions: int = 128
    candidates: int = 300
    most_words: int = 8
    frequency_share: float = 0.08
    start_share: float = 0.08
    centre_share: float = 0.4
    spread: float = 1.5
    axes_from_data: float = 0.2
    evenness: float | None = None  # None: one for models of words, zero for models of texts, which spread otherwise
    more_clusters: int = 6
    steepness: float = 2.0
    auto: bool = False
    seed_words: SeedWords = ()
    name: ClassVar[str] = "embedded"
    usual_vocabulary: ClassVar[str] = "common+weighted"
    paper: ClassVar[str] = "ours; after Su et al. 2016 (private k-means)"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "seed_words", checked_seeds(self.seed_words, self.n_topics))
        whole("more_clusters", self.more_clusters, least=0)
        for name in ("steps", "dimensions", "candidates", "most_words"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if self.candidates < self.n_topics:
            raise InputError(f"there must be at least as many candidates as topics, got {self.candidates}.")
        shares = self.frequency_share, self.start_share, self.centre_share
        if not (min(shares) > 0 and sum(shares) < 1):
            raise InputError(
                "frequency_share, start_share and centre_share must be positive and leave a share for the words."
            )
        for name in ("few", "examples_from"):
            whole(name, getattr(self, name), least=0)
        ranges = {"spread": (1, 10), "axes_from_data": (0, 1), "steepness": (0, 10)}
        for name, (least, most) in (ranges | ({} if self.evenness is None else {"evenness": (0, 2)})).items():
            if not least <= getattr(self, name) <= most:
                raise InputError(f"{name} must lie between {least} and {most}, got {getattr(self, name)}.")

    @property
    def frequency_sigma(self) -> float:
        """Noise multiplier of the sum of all words."""
        return self.in_share(self.frequency_share)

    @property
    def start_sigma(self) -> float:
        """Noise multiplier of the counts of candidates."""
        return self.in_share(self.start_share * (1.0 if self.atlas is None else 1 - _COUNTED))

    @property
    def count_sigma(self) -> float:
        """Noise multiplier of the number of units, by which themes or clusters are chosen."""
        return self.in_share(self.start_share * _COUNTED)

    @property
    def step_sigma(self) -> float:
        """Noise multiplier of the middle and of each round of k-means."""
        return self.in_share(self.centre_share / (self.steps + 1))

    @property
    def cluster_noise(self) -> float:
        """Standard deviation of the noise on a cluster's size in a round."""
        return self.step_sigma * SUMS_BOUND / SIZE_WEIGHT

    @property
    def word_sigma(self) -> float:
        """Noise multiplier of the words × topics table."""
        return self.in_share(1 - self.frequency_share - self.start_share - self.centre_share)

    @property
    def word_noise(self) -> float | None:
        return self.word_sigma

    @property
    def budget(self) -> Budget:
        """All of it, to be handed out; sums of vectors have either sign."""
        return Budget(self.sigma, signed=self.centre_share * (1 - self.size_share))

    @property
    def guarantee(self) -> Guarantee:
        """Gaussian queries chosen one after another: see :class:`Budget`."""
        how = getattr(self.embedding, "how", "")
        called = f" It is called with {how}; a test on the machine compared bits." if how else ""
        own = () if self.embedding.of_words else (OWN_VECTORS,)
        return self.promised(*self.budget.events, assumptions=(PUBLIC_MODEL + called, *own), sizes=False)

    def _examples_share(self, units: float) -> float:
        """Of the budget, for votes: a function of the number of units, and of whether the atlas has sentences."""
        said = self.atlas is not None and any(theme.sentences for theme in self.atlas.themes)
        return _EXAMPLES_SHARE if said and units >= self.examples_from else 0.0

    def themes_expected(self, units: int) -> ThemesExpected | None:
        """By releases of six corpora (benchmarks/atlas.py): 15 units for one theme more, for each unit of noise."""
        if self.atlas is None or units >= self.few:
            return None
        left = 1 - (self.sigma / self.count_sigma) ** 2 - sum(Split.of(units))
        themes, share = round(4 + units / (_UNITS_OF_A_THEME * self.sigma)), self._examples_share(units)
        votes = SURE * self.sigma / sqrt(share) if share else None
        return ThemesExpected(min(MOST_THEMES, themes), self.sigma / sqrt(left / 2), votes)

    def rehearsed(self, words: tuple[str, ...] = ()) -> list[tuple[Any, tuple[str, ...]]]:
        paths = (0, 10**12) if self.atlas is not None and self.name == EmbeddedTopics.name else (self.few,)
        return [one for few in paths for one in super(EmbeddedTopics, replace(self, few=few)).rehearsed(words)]

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
        # What is not installed, or not there for the language, is missed now, before anything is charged.
        frequencies(["word"], "english" if corpus.text is None else corpus.text.language)
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
        """Where there is an atlas, by the noisy number of units: its themes, or clusters of documents."""
        self.check(corpus)
        vocabulary, asked = corpus.vocabulary, Asked(corpus, rng, self.budget)
        assert vocabulary is not None
        if self.atlas is not None:
            with progress.part(0.0, 0.1):
                size = float(asked.sum(Units(), self.count_sigma)[0, 0])
            if size < self.few:
                return Release.of(self._themes(asked, self.atlas, vocabulary, max(1.0, size)), self, rng)
        return Release.of(self._clusters(asked), self, rng)

    def _theme_space(self) -> tuple[int, float]:
        """Dimensions and evenness of the space of themes, which keeps all axes: no noise falls on it."""
        usual = 0.0 if isinstance(self.embedding, AtlasWords) else _THEME_EVENNESS[self.embedding.of_words]
        return int(self.embedding(["word"]).shape[1]), usual if self.evenness is None else self.evenness

    def _themes(self, asked: Asked, atlas: Atlas, vocabulary: Vocabulary, size: float) -> TopicModel:
        """Few units: a look at the themes, topics as groups of themes, and sizes of both."""
        budget, corpus = asked.budget, asked.corpus
        examples = self._examples_share(size)
        split = Split.of(size, examples)
        sure_from = SURE if isinstance(self.embedding, AtlasWords) else SURE_FROM  # its themes are fewer
        placed = public_chart(atlas, vocabulary, self.embedding, corpus.text, *self._theme_space())
        with progress.part(0.1, 0.4):
            sigma = budget.of(split.look)
            noisy = asked.sum(Placed(Places(placed.centres), placed.documents), sigma)[:, 0]
        weight, shown = placed.weights(noisy, sigma, LIKELY), placed.shown(noisy, sigma, sure_from)
        kept = np.union1d(np.flatnonzero(weight > LEAST_TEXTS), shown)
        axes = theme_axes(placed.centres, np.maximum(weight, 1e-9), axes_of(size))
        along = Along(placed.documents, axes)
        moving = Moving.at(grouped_themes(unit(placed.centres[kept] @ axes), weight[kept] + 1e-9, self.n_topics))
        rounds = steps_of(size, of_words=self.embedding.of_words) if split.rounds else 0
        for step in range(rounds):
            with progress.part(0.4 + 0.4 * step / rounds, 0.4 + 0.4 * (step + 1) / rounds):
                sigma = budget.of(split.rounds / rounds)
                sums = asked.sum(Placed(Sums(moving.centres, 0.0), along), sigma, signed=True)
                moving = moving.by(sums[:, :-1], sigma * _CAUTION)
        centres = unit(moving.centres @ axes.T)
        words = self._voted(asked, placed, centres, size, split.words)
        topic = (placed.centres @ centres.T).argmax(axis=1)
        themes = Themes(
            atlas=atlas.sha256,
            names=atlas.names,
            domain_names=atlas.domains,
            domain_of=atlas.domain_of,
            centres=placed.centres,
            shown=shown,
            topic=topic[shown],
            words=tuple(atlas.themes[j].words[:_WORDS_OF_A_THEME] for j in shown.tolist()),
            unit=str(corpus.bounds.unit),
        )
        with progress.part(0.8, 0.97):
            sigma = budget.of((budget.left - examples) / 2)
            noisy = asked.sum(Placed(Belonging(themes), placed.documents), sigma)[:, 0]
        themes = replace(themes, noisy=noisy, noise_std=sigma)
        if examples:
            themes = replace(themes, examples=self._examples(asked, atlas, placed, themes, budget.of(examples)))
        shares = np.bincount(topic, weights=weight, minlength=len(centres)) + 1.0
        model = TopicModel(
            topic_word=np.ascontiguousarray(words.share.T),
            vocabulary=vocabulary,
            topic_share=shares / shares.sum(),
            alpha=0.1,
            noise_std=words.noise_std,
            text=corpus.text,
            themes=themes,
            space=self._space(placed.documents, centres),
        )
        sigma = budget.pay(budget.of(budget.left))
        return sized(model, corpus, sigma=sigma, rng=asked.rng, place=placed.documents)

    def _examples(
        self, asked: Asked, atlas: Atlas, placed: Chart, themes: Themes, sigma: float
    ) -> tuple[tuple[str, ...], ...]:
        """Of each theme that is surely there the invented sentences with most votes, if these stand above the noise."""
        sure = themes.shown[themes.sizes >= _SURELY * themes.noise_std]
        kept = np.flatnonzero(np.isin(placed.said_of, sure))
        statistic = Nearby(themes, placed.sentences[kept], placed.said_of[kept])
        votes = np.zeros(len(placed.sentences))
        votes[kept] = asked.sum(Placed(statistic, placed.documents), sigma)[:, 0]
        first = [k for k in np.argsort(-votes).tolist() if votes[k] >= SURE * sigma]
        said = [sentence for theme in atlas.themes for sentence in theme.sentences]
        return tuple(tuple(said[k] for k in first if placed.said_of[k] == j)[:_EXAMPLES] for j in themes.shown.tolist())

    def _voted(self, asked: Asked, placed: Chart, centres: Floats, size: float, share: float) -> Weights:
        """Words of each topic: voted for, or without a share of the budget as public words have it, none for sure."""
        space, each = placed.documents.space, size / len(centres)
        expected = expected_votes(space, centres, np.full(len(centres), each * sqrt(self.most_words)))
        if not share:
            none = np.zeros(len(centres), np.int64)
            return Weights(expected / expected.sum(axis=0), np.ones(len(centres)), none)
        sigma = asked.budget.of(share)
        score = scores(space, centres, _WORDS_OF_A_TEXT, self.steepness, trust_in_model(each, sigma))
        table = asked.sum(Placed(Votes(centres, score, self.most_words), placed.documents), sigma)
        return weights(posterior(table, sigma, expected), sigma, expected, np.zeros(len(expected), bool))

    def _space(self, documents: Documents, centres: Floats) -> DocumentSpace:
        return DocumentSpace(
            embedding=self.embedding.name,
            of_words=self.embedding.of_words,
            mean=documents.space.mean,
            projection=documents.space.projection,
            middle=documents.middle,
            centres=centres,
        )

    def _clusters(self, asked: Asked) -> TopicModel:
        """Many units: how common words are, the middle, k-means, words, sizes."""
        corpus, vocabulary = asked.corpus, asked.corpus.vocabulary
        assert vocabulary is not None
        with progress.part(0.1, 0.12):
            used = asked.sum(Frequencies(), self.frequency_sigma)[:, 0]
        public = embedded_space.of_words(vocabulary, self.embedding, corpus.text)
        here = public.shares_here(used, self.frequency_sigma)
        evenness = float(self.embedding.of_words) if self.evenness is None else self.evenness
        space = public.space(self.dimensions, here, self.axes_from_data, evenness)
        with progress.part(0.12, 0.18):
            plain = Documents(space, self.embedding.of_words, np.zeros(space.projection.shape[1]))
            documents, size = self._middle(asked, plain)
        n_topics = self._carried(size)
        with progress.part(0.18, 0.2):
            wanted = ceil(self.spread * n_topics) + self.more_clusters
            candidates = public.candidates(space, self.candidates, self._theme_vectors(public.vectors[:0]))
            near = asked.sum(Placed(Nearest(candidates), documents), self.start_sigma)[:, 0]
            centres = grouped(candidates, near, 2 * self.start_sigma, min(wanted, len(candidates)))
        seeds = embedded_space.of_seeds(self.seed_words, self.embedding, space) if self.seed_words else centres[:0]
        centres = np.concatenate([seeds, centres[: len(centres) - len(seeds)]])
        moving, sizes = Moving.at(centres), np.zeros(len(centres))
        for step in range(self.steps):
            with progress.part(0.2 + 0.6 * step / self.steps, 0.2 + 0.6 * (step + 1) / self.steps):
                statistic = Placed(Sums(moving.centres), documents)
                sums = asked.sum(statistic, self.step_sigma, bound=SUMS_BOUND, signed=True)
                moving, sizes = moving.by(sums[:, :-1], self.step_sigma * SUMS_BOUND), sums[:, -1] / SIZE_WEIGHT
                moving = moving.leaning(seeds, LEAN)
        clusters = merged(Clusters.of(moving.centres, sizes, len(seeds)), n_topics)
        clusters = strong(clusters, 3 * self.cluster_noise)
        with progress.part(0.8, 0.97):
            n_words = words_of_a_document(used, size)
            trust = trust_in_model(size / len(clusters.centres), self.word_sigma)
            score = scores(space, clusters.centres, n_words, self.steepness, trust)
            table = asked.sum(Placed(Votes(clusters.centres, score, self.most_words), documents), self.word_sigma)
        seen = used > SEEN * self.frequency_sigma
        model = self._model(table, seen, clusters, documents, vocabulary, corpus)
        if not self.size_share:
            progress.report(1.0)
            return model
        return sized(model, corpus, sigma=asked.budget.pay(self.size_sigma), rng=asked.rng, place=documents)

    def _theme_vectors(self, none: Floats) -> Floats:
        """Where the themes of the atlas lie among the vectors of words."""
        if self.atlas is None or not self.embedding.of_words:
            return none
        return embedded_space.means_of(tuple(theme.words for theme in self.atlas.themes), self.embedding)

    def _middle(self, asked: Asked, documents: Documents) -> tuple[Documents, float]:
        """Documents seen from their noisy mean (most models put all texts on one side), and their noisy number."""
        statistic = Placed(Sums(np.zeros((1, documents.middle.size))), documents)
        sums = asked.sum(statistic, self.step_sigma, bound=SUMS_BOUND, signed=True)[0]
        size = max(float(sums[-1]) / SIZE_WEIGHT, 1.0)
        mean = sums[:-1] / size
        return replace(documents, middle=mean / max(1.0, float(np.linalg.norm(mean)))), size

    def _carried(self, size: float) -> int:
        """Topics that so many documents can carry, where that is asked for."""
        if not self.auto:
            return self.n_topics
        least = max(2, len(self.seed_words))
        return int(np.clip(size / units_of_a_topic(self.word_sigma), least, self.n_topics))

    def _model(
        self,
        table: Floats,
        seen: NDArray[np.bool_],
        clusters: Clusters,
        documents: Documents,
        vocabulary: Vocabulary,
        corpus: BoundedCorpus,
    ) -> TopicModel:
        """Post-processing: the posterior of the votes; topics of which words stand above the noise, largest first."""
        space, centres, sizes = documents.space, clusters.centres, clusters.sizes
        expected = expected_votes(space, centres, sizes * sqrt(self.most_words))
        counts = posterior(table, self.word_sigma, expected)
        words = weights(counts, self.word_sigma, expected, seen)
        order = telling(words.sure, sizes, LEAST_WORDS if self.auto else 1)
        return TopicModel(
            topic_word=np.ascontiguousarray(words.share.T[order]),
            vocabulary=vocabulary,
            topic_share=sizes[order] / sizes[order].sum(),
            alpha=0.1,
            noise_std=words.noise_std[order],
            text=corpus.text,
            seeds=clusters.seeds[order] if self.seed_words else None,
            space=self._space(documents, centres[order]),
        )


@dataclass(frozen=True, kw_only=True)
class AtlasTopics(EmbeddedTopics):
    """Themes of the atlas, however many people there are: see :class:`EmbeddedTopics`."""

    few: int = 10**12
    name: ClassVar[str] = "atlas"
    usual_vocabulary: ClassVar[str] = "common"

    @classmethod
    def accepts(cls) -> frozenset[str]:
        """What concerns themes."""
        return frozenset({"atlas", "embedding", "examples_from", "most_words", "steepness"})
