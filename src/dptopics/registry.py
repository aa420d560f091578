"""Names on the outside, and the mechanisms behind them. To add a mechanism, add it here and nowhere else."""

from dataclasses import fields
from math import sqrt
from pathlib import Path
from typing import Any

from dptopics.errors import InputError, PrivacyError
from dptopics.learners import Learner
from dptopics.learners.named import named_learner
from dptopics.ngrams.bayes import BayesNgrams
from dptopics.ngrams.laplace import LaplaceNgrams
from dptopics.ngrams.pipeline import VocabularyThenNgrams
from dptopics.privacy.events import Noise
from dptopics.privacy.guarantee import Unit, check_budget
from dptopics.privacy.mechanism import Mechanism, calibrate
from dptopics.public.embeddings import Embedding, available, common_words
from dptopics.public.ngrams import PublicNgrams
from dptopics.public.text import TextSettings
from dptopics.public.word_lists import check_entries, is_file
from dptopics.published.fdptm.zhao import ZhaoTopics
from dptopics.published.fdptm.zhu import ZhuTopics
from dptopics.published.gibbs.laplace_counts import LaplaceCountsTopics
from dptopics.published.ngrams.bayes_local import BayesLocalNgrams
from dptopics.published.ngrams.end_to_end import EndToEndNgrams
from dptopics.published.ngrams.k_anonymity import KAnonymousNgrams
from dptopics.published.ngrams.laplace_public import LaplacePublicNgrams
from dptopics.published.spectral.configuration import SpectralConfiguration
from dptopics.published.spectral.edges import check_size
from dptopics.published.spectral.moments import SpectralMomentsTopics
from dptopics.published.spectral.output import SpectralOutputTopics
from dptopics.published.spectral.whitened import SpectralComponentsTopics, SpectralTensorTopics
from dptopics.published.topicdp.laplace_output import LaplaceOutputTopics
from dptopics.published.topicdp.mvg import MvgTopics
from dptopics.release.ngram_table import NgramTable
from dptopics.release.release import check_stated
from dptopics.release.topic_model import TopicModel
from dptopics.release.vocabulary import Vocabulary
from dptopics.topics.best_of import BestOf
from dptopics.topics.embedded.mechanism import EmbeddedTopics
from dptopics.topics.mixture import MixtureTopics
from dptopics.topics.output.mechanism import OutputTopics
from dptopics.topics.output.renyi import Calibration
from dptopics.topics.output.sensitivity import n_pairs
from dptopics.topics.pipeline import VocabularyThenTopics
from dptopics.topics.spectral.extended import ExtendedTopics
from dptopics.topics.spectral.mechanism import SpectralTopics
from dptopics.topics.variational import VariationalTopics
from dptopics.vocabulary.count import CountVocabulary
from dptopics.vocabulary.greedy import GreedyVocabulary
from dptopics.vocabulary.policy import PolicyVocabulary
from dptopics.vocabulary.public import PublicVocabulary, read_words
from dptopics.vocabulary.replaced import ReplaceOneVocabulary
from dptopics.vocabulary.weighted import WeightedVocabulary

PrivateVocabulary = WeightedVocabulary | CountVocabulary | PolicyVocabulary | GreedyVocabulary

TOPICS: dict[str, type[MixtureTopics | VariationalTopics | EmbeddedTopics | SpectralTopics | ExtendedTopics]] = {
    "embedded": EmbeddedTopics,
    "mixture": MixtureTopics,
    "spectral": SpectralTopics,
    "spectral-extended": ExtendedTopics,
    "variational": VariationalTopics,
}
# Reproductions: not proved, so they run only with accept_unproven.
SpectralPublished = SpectralMomentsTopics | SpectralTensorTopics | SpectralComponentsTopics | SpectralOutputTopics
PUBLISHED: dict[str, type[ZhuTopics | ZhaoTopics | LaplaceCountsTopics | SpectralPublished]] = {
    "zhu": ZhuTopics,
    "zhao": ZhaoTopics,
    "laplace-counts": LaplaceCountsTopics,
    "spectral-1": SpectralMomentsTopics,
    "spectral-2": SpectralTensorTopics,
    "spectral-3": SpectralComponentsTopics,
    "spectral-4": SpectralOutputTopics,
}
# Noise on the output of any learner, and the two baselines of that paper.
OUTPUT: dict[str, type[OutputTopics | MvgTopics | LaplaceOutputTopics]] = {
    "output": OutputTopics,
    "mvg": MvgTopics,
    "laplace": LaplaceOutputTopics,
}
VOCABULARIES: dict[str, type[PrivateVocabulary]] = {
    "weighted": WeightedVocabulary,
    "count": CountVocabulary,
    "policy": PolicyVocabulary,
    "greedy": GreedyVocabulary,
}
MOST_SPECTRAL_WORDS = 1000  # of a private vocabulary, where nothing else is said: there is noise on every pair
COMMON = "common"  # the name of the public list of a language's common words
EXTENDED = "common+weighted"  # that list, and other words chosen privately
EXTENDED_SHARE = 0.1  # of the budget for those; chosen on Wikipedia for Schools and Reddit posts
DEFAULT_GAMMA = 0.1  # the paper's
NgramMechanism = (
    BayesNgrams | BayesLocalNgrams | EndToEndNgrams | LaplaceNgrams | LaplacePublicNgrams | KAnonymousNgrams
)
NGRAMS: dict[str, type[NgramMechanism]] = {
    "bayes": BayesNgrams,
    "bayes-published": BayesLocalNgrams,
    "end-to-end": EndToEndNgrams,
    "laplace": LaplaceNgrams,
    "laplace-public": LaplacePublicNgrams,
    "k-anonymity": KAnonymousNgrams,
}
DEFAULT_SHARE = 0.4  # of the privacy budget (in μ²) for the vocabulary; chosen on the demo corpus and 20 Newsgroups


def vocabulary_mechanism(
    name: str | Path | Vocabulary,
    *,
    epsilon: float,
    delta: float,
    unit: Unit,
    noise: Noise | str | None = None,
    text: TextSettings | None = None,
    **settings: Any,
) -> Mechanism[Vocabulary]:
    """A vocabulary mechanism by name, or the public word list in a file. ``noise``: None for the mechanism's own.

    ``text``: how texts are read, where they are texts. Public words that no text can be split into are refused.
    """
    check_budget(epsilon, delta)
    template = _vocabulary(name, delta=delta, unit=unit, noise=noise, text=text, **settings)
    return template if isinstance(template, PublicVocabulary) else calibrate(template, epsilon=epsilon)


def default_mechanism(text: TextSettings | None) -> str:
    """``embedded`` for English texts where the extra is installed (its model knows English), else ``mixture``."""
    english = text is not None and text.language in ("english", "en")
    return "embedded" if english and available() else "mixture"


def topic_mechanism(
    name: str | None,
    *,
    vocabulary: str | Path | Vocabulary | None = None,
    n_topics: int,
    epsilon: float,
    delta: float,
    unit: Unit,
    text: TextSettings | None = None,
    embedding: Embedding | None = None,
    steps: int | None = None,
    vocabulary_share: float | None = None,
    max_words: int = 200,
    max_vocabulary: int | None = None,
    noise: Noise | str | None = None,
    **settings: Any,
) -> Mechanism[TopicModel]:
    """The whole pipeline for one (ε, δ): vocabulary, then topics. ``noise`` is the vocabulary's (``spectral-1``: its).

    Several names, with commas between: all are run and charged, and the best by a noisy likelihood is released. Without
    a ``name`` the best that is installed for texts read by ``text`` (:func:`default_mechanism`); without a
    ``vocabulary`` words chosen privately, and where topics come from embeddings the language's common words as well.

    >>> pipeline = topic_mechanism(
    ...     "variational", vocabulary="weighted", n_topics=20, epsilon=1.0, delta=1e-6, unit=Unit.AUTHOR)
    >>> round(pipeline.guarantee.epsilon, 6)
    1.0
    """
    check_budget(epsilon, delta)
    if not isinstance(vocabulary, str | Path):
        check_stated(vocabulary)
    name = name or default_mechanism(text)
    if "," in name:
        if vocabulary is None or (isinstance(vocabulary, str) and vocabulary in (*VOCABULARIES, EXTENDED)):
            raise InputError("a choice among mechanisms needs one list of public words (--vocabulary FILE).")
        same: dict[str, Any] = {"n_topics": n_topics, "epsilon": epsilon, "delta": delta, "unit": unit, "text": text}
        same |= {"steps": steps, "noise": noise, **settings}
        names = [part.strip() for part in name.split(",")]
        parts = [topic_mechanism(part, vocabulary=vocabulary, **same) for part in names]
        return BestOf.calibrated(parts, epsilon=epsilon, delta=delta)
    kind = TOPICS.get(name) or PUBLISHED.get(name)
    if embedding is not None and kind is not EmbeddedTopics:
        raise InputError(f"mechanism {name!r} uses no embedding. Leave it out, or use mechanism 'embedded'.")
    if (
        kind is not None
        and issubclass(kind, SpectralTopics | ExtendedTopics | SpectralConfiguration)
        and steps is not None
    ):
        raise InputError(f"mechanism {name!r} takes no steps: it looks at the data once or twice. Leave steps out.")
    if kind is SpectralMomentsTopics and noise is not None:
        settings["noise"], noise = noise, None  # its words are public and have none
    if kind is SpectralTopics:
        max_vocabulary = MOST_SPECTRAL_WORDS if max_vocabulary is None else max_vocabulary
    settings |= {} if steps is None else {"steps": steps}
    settings |= {} if embedding is None else {"embedding": embedding}
    if vocabulary is None:
        vocabulary = EXTENDED if kind is EmbeddedTopics else "weighted"
    if vocabulary_share is None:
        vocabulary_share = EXTENDED_SHARE if vocabulary == EXTENDED else DEFAULT_SHARE
    chosen: dict[str, Any] = {}
    if vocabulary == COMMON:
        vocabulary = common_words(text or TextSettings())
    elif vocabulary == EXTENDED:
        vocabulary, chosen = "weighted", {"besides": common_words(text or TextSettings())}
    if kind is None and name not in OUTPUT:
        known = ", ".join([*TOPICS, *OUTPUT, *PUBLISHED])
        raise InputError(f"there is no mechanism {name!r}. The mechanisms are: {known}.")
    if not 0 < vocabulary_share < 1:
        raise InputError(f"vocabulary_share must lie strictly between 0 and 1, got {vocabulary_share}.")
    # Topics have Gaussian noise and need a part of δ, whatever the noise of the vocabulary.
    tail = delta / 2 if kind else delta / 4  # an exchange of units can fail twice
    words = _vocabulary(
        vocabulary,
        delta=delta,
        unit=unit,
        noise=noise,
        text=text,
        tail=tail,
        max_words=max_words,
        max_size=max_vocabulary,
        **chosen,
    )
    if kind is None:
        return output_mechanism(
            name, words, share=vocabulary_share, n_topics=n_topics, epsilon=epsilon, delta=delta, unit=unit, **settings
        )
    share = 0.0
    if not isinstance(words, PublicVocabulary):
        share = vocabulary_share
        # Laplace noise of scale 1 costs less than Gaussian noise of scale 1. With this factor both cost ε alone.
        gaussian = calibrate(WeightedVocabulary.template(delta=delta), epsilon=epsilon)
        words = words.rescaled(calibrate(words, epsilon=epsilon).scale / gaussian.scale)
    elif n_topics > len(words.vocabulary):
        raise InputError(f"{n_topics} topics need at least as many words, but the list has {len(words.vocabulary)}.")
    listed = words.vocabulary if isinstance(words, PublicVocabulary) else chosen.get("besides", Vocabulary(()))
    topics = kind.template(n_topics=n_topics, delta=delta, unit=unit, **settings)
    if isinstance(topics, SpectralTopics):  # now, not when the words are released and charged for
        topics.check_size(len(listed) + (0 if isinstance(words, PublicVocabulary) else max_vocabulary or 0))
    if isinstance(topics, ExtendedTopics) and listed:
        topics.core_of(listed)
    if isinstance(topics, ZhaoTopics | LaplaceCountsTopics):  # about single words: what hides units cannot go first
        if not isinstance(words, PublicVocabulary):
            raise PrivacyError(
                f"{name} is about single words, a vocabulary chosen from the data about whole units: the two do not "
                "add up. Give a list of public words."
            )
        return calibrate(topics.over(words.vocabulary), epsilon=epsilon)
    if isinstance(topics, SpectralConfiguration):
        if not isinstance(words, PublicVocabulary):
            raise PrivacyError(
                f"{name} is about units exchanged for others, a vocabulary chosen from the data about units added or "
                "removed: the two do not add up. Give a list of public words."
            )
        check_size(topics, len(words.vocabulary))
        return calibrate(topics.over(words.vocabulary), epsilon=epsilon)
    if isinstance(topics, ZhuTopics):  # its claim is one of Laplace noise: the same factor again
        gaussian = calibrate(WeightedVocabulary.template(delta=delta), epsilon=epsilon)
        topics = topics.rescaled(1 / (epsilon * gaussian.scale))
    template = VocabularyThenTopics(
        vocabulary=words.rescaled(1 / sqrt(share)) if share else words,
        topics=topics.rescaled(1 / sqrt(1 - share)),
        delta=delta,
    )
    return calibrate(template, epsilon=epsilon)


def output_mechanism(
    name: str,
    words: PrivateVocabulary | PublicVocabulary,
    *,
    share: float,
    n_topics: int,
    epsilon: float,
    delta: float,
    unit: Unit,
    learner: str | Learner = "variational",
    steps: int = 15,
    **settings: Any,
) -> Mechanism[TopicModel]:
    """Output perturbation over public words, or after a vocabulary that is priced for an exchange of units too."""
    learner = named_learner(learner, n_topics, steps=steps) if isinstance(learner, str) else learner
    settings = {"learner": learner, "n_topics": n_topics, "delta": delta, "unit": unit} | settings
    if name == "laplace":
        settings = {key: value for key, value in settings.items() if key in LaplaceOutputTopics.__dataclass_fields__}
    else:
        settings = {"gamma": DEFAULT_GAMMA} | settings
    kind = OUTPUT[name]
    if isinstance(words, PublicVocabulary):
        return kind.calibrated(epsilon=epsilon, vocabulary=words.vocabulary, **settings)
    if settings.get("calibration", Calibration.ANALYTIC) != Calibration.ANALYTIC:
        raise InputError("with a private vocabulary only calibration 'analytic' is offered. Give public words.")
    if name != "laplace":
        limit, wanted = (
            settings.get("max_pairs", 1000),
            n_pairs(settings["gamma"], settings.get("sample_size", "exchangeable")),
        )
        if limit is not None and wanted > limit:
            raise InputError(f"{wanted:,} pairs of fits are more than {limit:,}. Say --yes (max_pairs=None).")
    first = calibrate(ReplaceOneVocabulary(vocabulary=words), epsilon=epsilon)
    topics = kind.calibrated(epsilon=epsilon, **settings)
    both = VocabularyThenTopics(
        vocabulary=first.rescaled(1 / sqrt(share)), topics=topics.rescaled(1 / sqrt(1 - share)), delta=delta
    )
    return calibrate(both, epsilon=epsilon)


def ngram_mechanism(
    name: str,
    *,
    epsilon: float,
    delta: float,
    unit: Unit,
    prior: PublicNgrams | None = None,
    vocabulary: str | None = None,
    vocabulary_share: float = DEFAULT_SHARE,
    max_list: int | None = None,
    **settings: Any,
) -> Mechanism[NgramTable]:
    """An n-gram mechanism by name; with the name of a ``vocabulary`` mechanism in front, where the list is private.

    ``settings`` are fields of the mechanism, and for ``end-to-end`` the ``shares`` of ε. A setting of None is left at
    its default.

    >>> mechanism = ngram_mechanism("bayes", epsilon=1.0, delta=1e-6, unit=Unit.AUTHOR, max_words=10)
    >>> round(mechanism.guarantee.epsilon, 6), mechanism.max_words
    (1.0, 10)
    """
    check_budget(epsilon, delta)
    kind = NGRAMS.get(name)
    if kind is None:
        raise InputError(f"there is no n-gram mechanism {name!r}. The mechanisms are: {', '.join(NGRAMS)}.")
    settings = {key: value for key, value in settings.items() if value is not None}
    known = {field.name for field in fields(kind)} | ({"shares"} if kind is EndToEndNgrams else set())
    if unknown := sorted(settings.keys() - known):
        raise InputError(f"{name!r} has no setting {', '.join(unknown)}. Leave it out, or choose another mechanism.")
    if kind is EndToEndNgrams:
        settings["epsilon"] = epsilon
    template = kind.template(delta=delta, unit=unit, prior=prior, **settings)
    if vocabulary is not None:
        if not 0 < vocabulary_share < 1:
            raise InputError(f"vocabulary_share must lie strictly between 0 and 1, got {vocabulary_share}.")
        if vocabulary not in VOCABULARIES:
            raise InputError(
                f"there is no way to choose n-grams privately called {vocabulary!r}. Use {', '.join(VOCABULARIES)}; "
                "a public list goes to prior= (--public)."
            )
        words = _vocabulary(vocabulary, delta=delta, unit=unit, noise=None, tail=delta / 2, max_size=max_list)
        # Each part alone at ε, then both in the proportions asked for: kinds of noise differ in price.
        pipeline = VocabularyThenNgrams(
            vocabulary=calibrate(words, epsilon=epsilon).rescaled(1 / sqrt(vocabulary_share)),
            ngrams=calibrate(template, epsilon=epsilon).rescaled(1 / sqrt(1 - vocabulary_share)),
            delta=delta,
        )
        return calibrate(pipeline, epsilon=epsilon)
    if isinstance(template, KAnonymousNgrams | EndToEndNgrams):  # no noise; calibrated by its two shares
        return template
    return calibrate(template, epsilon=epsilon)


def _vocabulary(
    name: str | Path | Vocabulary,
    *,
    delta: float,
    unit: Unit,
    noise: Noise | str | None,
    text: TextSettings | None = None,
    **settings: Any,
) -> PrivateVocabulary | PublicVocabulary:
    kind = None if noise is None else Noise(noise)
    if isinstance(name, str) and name in VOCABULARIES:
        mechanism = VOCABULARIES[name]
        return mechanism.template(delta=delta, unit=unit, noise=kind or mechanism.noise, **settings)
    if not isinstance(name, str | Path):
        check_stated(name)
        words = name
    elif not is_file(name):
        raise InputError(
            f"there is no vocabulary mechanism and no word list of that name. Use {', '.join(VOCABULARIES)}, {COMMON} "
            f"(public words of the language), {EXTENDED} (those, and others chosen privately), or the path of a file "
            "with one public word on each line."
        )
    else:
        words = read_words(name)
    if text is not None:
        check_entries(words.words, text)
    return PublicVocabulary(vocabulary=words, delta=delta, unit=unit)
