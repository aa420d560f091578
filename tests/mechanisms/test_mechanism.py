"""What every mechanism must do. A new one joins by a line in MECHANISMS."""

import json
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from math import inf, nan

import numpy as np
import pytest

from dptopics.core.errors import InputError, NothingReleased, PrivacyError
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.corpus import Corpus
from dptopics.data.public_inputs import PublicNgrams
from dptopics.mechanisms.mechanism import calibrate
from dptopics.mechanisms.ngrams.bayes import BayesNgrams
from dptopics.mechanisms.ngrams.counts import VocabularyThenNgrams
from dptopics.mechanisms.ngrams.laplace import LaplaceNgrams
from dptopics.mechanisms.topics.best_of import BestOf, VocabularyThenTopics
from dptopics.mechanisms.topics.embedded import EmbeddedTopics
from dptopics.mechanisms.topics.mixture import MixtureTopics
from dptopics.mechanisms.topics.spectral import SpectralTopics
from dptopics.mechanisms.topics.variational import VariationalTopics
from dptopics.mechanisms.vocabulary.policy import GreedyVocabulary, PolicyVocabulary
from dptopics.mechanisms.vocabulary.threshold import CountVocabulary, WeightedVocabulary
from dptopics.mechanisms.vocabulary.two_stage import PublicVocabulary
from dptopics.privacy import noise
from dptopics.privacy.events import Relation
from dptopics.privacy.guarantee import Strength, Unit
from dptopics.privacy.rng import secure_rng
from dptopics.public.word_lists import read_words
from dptopics.release.ngrams import NgramTable
from dptopics.release.release import Release

DELTA = 1e-3
TEXTS = ["fracture knee", "fracture knee cast", "rash skin", "rash skin cream", "rash knee"] * 12
WORDS = Vocabulary.of(["cast", "cream", "fracture", "knee", "rash", "skin"])


def chosen(kind, scale=1.0, **settings):
    """A vocabulary mechanism as a function of the unit."""
    return lambda unit: kind(scale=scale, tail=DELTA / 2, max_words=5, delta=DELTA, unit=unit, **settings)


weighted = chosen(WeightedVocabulary)
VOCABULARIES = {
    "weighted": weighted,
    "weighted, laplace": chosen(WeightedVocabulary, noise="laplace"),
    "count": chosen(CountVocabulary),
    "count, laplace": chosen(CountVocabulary, noise="laplace", scale=0.2),  # times five words
    "policy": chosen(PolicyVocabulary),
    "policy, laplace": chosen(PolicyVocabulary, noise="laplace"),
    "greedy": chosen(GreedyVocabulary),
}


def embedded(unit, **settings):
    return EmbeddedTopics(n_topics=2, sigma=0.5, steps=2, dimensions=3, delta=DELTA, unit=unit, **settings)


def variational(unit, **settings):
    return VariationalTopics(n_topics=2, sigma=2.0, steps=2, delta=DELTA, unit=unit, **settings)


PUBLIC = PublicNgrams.of({word: 3.0 + number for number, word in enumerate(WORDS.words)})


def ngrams(kind, **settings):
    """An n-gram mechanism (n = 1) as a function of the unit."""
    return lambda unit: kind(scale=1.5, delta=DELTA, unit=unit, prior=PUBLIC, **settings)


NGRAMS = {
    "n-grams, bayes": ngrams(BayesNgrams, max_words=3),
    "n-grams, bayes laplace": ngrams(BayesNgrams, max_words=3, noise="laplace"),
    "n-grams, bayes log": ngrams(BayesNgrams, max_words=3, max_count=2, slope=0.1, centre=1.0),
    "n-grams, laplace": ngrams(LaplaceNgrams, max_total=3.0),
    "n-grams, laplace gaussian": ngrams(LaplaceNgrams, max_total=3.0, noise="gaussian"),
}


# Name: a mechanism for a unit. Those in NEEDS_WORDS run on a corpus with public words; those in FREE draw no noise.
MECHANISMS = {
    "public": lambda unit: PublicVocabulary(vocabulary=WORDS, delta=DELTA, unit=unit),
    **VOCABULARIES,
    "weighted, largest": lambda unit: replace(weighted(unit), max_size=3),
    "variational": variational,
    "embedded": embedded,
    "mixture": lambda unit: MixtureTopics(n_topics=2, sigma=0.5, steps=2, delta=DELTA, unit=unit),
    "spectral": lambda unit: SpectralTopics(n_topics=2, sigma=0.5, delta=DELTA, unit=unit),
    "best of": lambda unit: BestOf(
        candidates=(variational(unit), MECHANISMS["spectral"](unit)), sigma=3.0, delta=DELTA
    ),
    "variational, sampled": lambda unit: variational(unit, sampling_rate=0.5),
    "weighted then variational": lambda unit: VocabularyThenTopics(
        vocabulary=weighted(unit), topics=variational(unit), delta=DELTA
    ),
    "greedy then variational": lambda unit: VocabularyThenTopics(
        vocabulary=VOCABULARIES["greedy"](unit).rescaled(0.2), topics=variational(unit), delta=DELTA
    ),
    **NGRAMS,
    "weighted then n-grams": lambda unit: VocabularyThenNgrams(
        vocabulary=weighted(unit), ngrams=NGRAMS["n-grams, bayes"](unit), delta=DELTA
    ),
    "public then variational": lambda unit: VocabularyThenTopics(
        vocabulary=PublicVocabulary(vocabulary=WORDS, delta=DELTA, unit=unit), topics=variational(unit), delta=DELTA
    ),
}
NEEDS_WORDS = {"variational", "variational, sampled", "embedded", "mixture", "spectral", "best of", *NGRAMS}
FREE = {"public"}
every = pytest.mark.parametrize("name", MECHANISMS)
noisy = pytest.mark.parametrize("name", sorted(MECHANISMS.keys() - FREE))
units = pytest.mark.parametrize("unit", Unit)
every_vocabulary = pytest.mark.parametrize("name", VOCABULARIES)
KINDS = [
    (WeightedVocabulary, {}),
    (WeightedVocabulary, {"noise": "laplace"}),
    (CountVocabulary, {}),
    (CountVocabulary, {"noise": "laplace"}),
    (PolicyVocabulary, {}),
    (PolicyVocabulary, {"noise": "laplace"}),
    (GreedyVocabulary, {}),
    (VariationalTopics, {"n_topics": 4}),
    (EmbeddedTopics, {"n_topics": 4}),
    (MixtureTopics, {"n_topics": 4}),
    (SpectralTopics, {"n_topics": 4}),
    (BayesNgrams, {}),
    (BayesNgrams, {"slope": 0.01, "noise": "laplace"}),
    (LaplaceNgrams, {}),
]


def corpus_for(name, unit, rows=None):
    rows = list(range(len(TEXTS))) if rows is None else rows
    authors = [f"author {row // 2}" for row in rows] if unit is Unit.AUTHOR else None
    corpus = Corpus.from_texts([TEXTS[row] for row in rows], authors).bounded(unit=unit)
    return corpus.limited(vocabulary=WORDS) if name in NEEDS_WORDS else corpus


def plain(value):
    """A released value as plain data."""
    if isinstance(value, Vocabulary):
        return [value.words, value.weights]
    if isinstance(value, NgramTable):
        return [plain(value.vocabulary), value.total, value.probability.tolist(), value.noise_std.tolist()]
    return [
        plain(value.vocabulary),
        *(array.tolist() for array in (value.topic_word, value.topic_share, value.noise_std)),
    ]


# --- conformance ---


@every
@units
def test_fields_are_fixed_and_public(name, unit):
    mechanism = MECHANISMS[name](unit)
    assert is_dataclass(mechanism)
    assert all(field.kw_only for field in fields(mechanism))
    with pytest.raises(FrozenInstanceError):
        mechanism.delta = 0.5
    assert isinstance(mechanism.name, str)
    assert isinstance(mechanism.paper, str)
    assert replace(mechanism) == mechanism


@every
@units
def test_guarantee_states_unit_relation_and_delta(name, unit):
    guarantee = MECHANISMS[name](unit).guarantee
    assert (guarantee.unit, guarantee.delta) == (unit, DELTA)
    assert guarantee.relation is Relation.ADD_OR_REMOVE  # what is proved; replace-one would cost more
    assert guarantee.strength is Strength.PROVED
    assert 0 <= guarantee.epsilon < inf


@noisy
def test_more_noise_costs_less(name):
    mechanism = MECHANISMS[name](Unit.AUTHOR)
    loud = mechanism.rescaled(2)
    assert type(loud) is type(mechanism)
    assert loud.guarantee.epsilon < mechanism.guarantee.epsilon < mechanism.rescaled(0.5).guarantee.epsilon
    assert mechanism.rescaled(1) == mechanism
    assert loud.guarantee.delta == mechanism.guarantee.delta


@noisy
def test_rescaling_scales_the_noise_that_is_drawn(name, monkeypatch):
    drawn = []

    def spy(rng, sigma, size):
        drawn.append(sigma)
        return np.full(size, 2**40, np.int64)  # far above any threshold

    monkeypatch.setattr(noise, "gaussian", spy)
    monkeypatch.setattr(noise, "laplace", spy)
    # Less noise than the bound, so that the grid is the same for both.
    mechanism, corpus = MECHANISMS[name](Unit.AUTHOR).rescaled(0.01), corpus_for(name, Unit.AUTHOR)
    mechanism(corpus, np.random.default_rng(0))
    once = list(drawn)
    drawn.clear()
    mechanism.rescaled(3)(corpus, np.random.default_rng(0))
    assert drawn == pytest.approx([3 * sigma for sigma in once])
    # As many draws as the guarantee counts, where it counts them.
    if not any(getattr(event, "adaptive", False) for event in mechanism.guarantee.events):
        assert len(once) == sum(getattr(event, "count", 0) for event in mechanism.guarantee.events)


@every
@units
def test_corpus_bounded_for_another_unit_is_refused(name, unit):
    other = Unit.DOCUMENT if unit is Unit.AUTHOR else Unit.AUTHOR
    corpus = corpus_for(name, other)
    with pytest.raises(PrivacyError, match=f"protects each {unit}, but the corpus was bounded per {other}"):
        MECHANISMS[name](unit)(corpus, secure_rng())


@every
@units
def test_runs_for_both_units(name, unit):
    release = MECHANISMS[name](unit)(corpus_for(name, unit), secure_rng())
    assert isinstance(release, Release)
    assert release.guarantee.unit is unit


@every
def test_secure_generator_keeps_the_guarantee(name):
    mechanism = MECHANISMS[name](Unit.AUTHOR)
    assert mechanism(corpus_for(name, Unit.AUTHOR), secure_rng()).guarantee == mechanism.guarantee


@every
def test_seed_voids_the_guarantee(name):
    guarantee = MECHANISMS[name](Unit.AUTHOR)(corpus_for(name, Unit.AUTHOR), np.random.default_rng(0)).guarantee
    assert guarantee.strength is Strength.NONE
    assert sum("Seeded" in assumption for assumption in guarantee.assumptions) == 1
    assert "Nothing is guaranteed" in guarantee.card()


@every
def test_settings_are_plain_and_hold_no_words(name):
    mechanism = MECHANISMS[name](Unit.AUTHOR)
    settings = mechanism(corpus_for(name, Unit.AUTHOR), np.random.default_rng(0)).settings
    text = json.dumps(settings, allow_nan=False)
    assert json.loads(text) == settings
    assert settings["mechanism"] == mechanism.name
    assert not [word for word in WORDS.words if word in text]
    assert "author 1" not in text


@every
@units
def test_same_seed_same_release(name, unit):
    mechanism, corpus = MECHANISMS[name](unit), corpus_for(name, unit)
    first, second = (mechanism(corpus, np.random.default_rng(11)) for _ in range(2))
    assert plain(first.value) == plain(second.value)
    other = mechanism(corpus, np.random.default_rng(12))
    assert (plain(first.value) == plain(other.value)) == (name in FREE)


@every
@units
def test_order_of_rows_does_not_matter(name, unit):
    mechanism = MECHANISMS[name](unit)
    shuffled = np.random.default_rng(3).permutation(len(TEXTS)).tolist()
    first, second = (mechanism(corpus_for(name, unit, rows), np.random.default_rng(11)) for rows in (None, shuffled))
    assert plain(first.value) == plain(second.value)


@every
def test_progress_ends_at_one(name):
    from dptopics.core import progress

    shares = []
    with progress.shown_by(shares.append):
        MECHANISMS[name](Unit.AUTHOR)(corpus_for(name, Unit.AUTHOR), np.random.default_rng(0))
    assert shares == sorted(shares)
    assert not shares or (shares[0] >= 0 and shares[-1] == pytest.approx(1))


# --- calibration ---


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("name", sorted(MECHANISMS.keys() - FREE - {"variational, sampled"}))
def test_calibration_hits_the_target_from_below(name, epsilon):
    mechanism = calibrate(MECHANISMS[name](Unit.AUTHOR), epsilon=epsilon)
    assert epsilon * (1 - 1e-6) <= mechanism.guarantee.epsilon <= epsilon
    assert mechanism.guarantee.delta == DELTA


def test_calibration_of_sampled_noise():
    # Slower: every price is a numerical composition, and the more losses there are, the longer it takes.
    mechanism = calibrate(variational(Unit.AUTHOR, sampling_rate=0.5), epsilon=0.1)
    assert 0.1 * (1 - 1e-6) <= mechanism.guarantee.epsilon <= 0.1
    assert mechanism.sampling_rate == 0.5


@pytest.mark.parametrize("kind, settings", KINDS)
def test_calibrated(kind, settings):
    mechanism = kind.calibrated(epsilon=2.0, delta=1e-6, unit=Unit.DOCUMENT, **settings)
    assert 2 * (1 - 1e-6) <= mechanism.guarantee.epsilon <= 2
    assert (mechanism.unit, mechanism.delta) == (Unit.DOCUMENT, 1e-6)


def test_what_is_free_stays_free():
    mechanism = MECHANISMS["public"](Unit.AUTHOR)
    assert calibrate(mechanism, epsilon=1.0).guarantee.epsilon == 0


def test_epsilon_that_no_noise_gives():
    template = WeightedVocabulary(scale=1.0, tail=1e-3, max_words=5, delta=1e-4)  # the failures alone exceed δ
    with pytest.raises(InputError, match="no amount of noise gives ε = 1"):
        calibrate(template, epsilon=1.0)


@pytest.mark.parametrize("epsilon", [0, -1, nan, inf])
@noisy
def test_impossible_epsilon(name, epsilon):
    with pytest.raises(InputError, match="epsilon must be a positive number"):
        calibrate(MECHANISMS[name](Unit.AUTHOR), epsilon=epsilon)


@pytest.mark.parametrize("delta", [0, 1, -1, nan])
@pytest.mark.parametrize("kind, settings", KINDS)
def test_impossible_delta(kind, settings, delta):
    with pytest.raises(InputError, match="delta must lie strictly between"):
        kind.calibrated(epsilon=1.0, delta=delta, **settings)


# --- settings that make no sense ---


@pytest.mark.parametrize(
    "change, message",
    [
        ({"max_words": 0}, "max_words must be at least 1, got 0"),
        ({"max_size": 0}, "max_size must be at least 1, got 0"),
        ({"tail": 0.0}, "tail must lie strictly between 0 and 1, got 0"),
        ({"tail": 1.0}, "tail must (lie|be a number)"),
        ({"tail": nan}, "tail must (lie|be a number)"),
        ({"noise": "cauchy"}, "noise must be 'gaussian' or 'laplace', got 'cauchy'"),
    ],
)
@every_vocabulary
def test_vocabulary_settings(name, change, message):
    with pytest.raises(InputError, match=message):
        replace(VOCABULARIES[name](Unit.AUTHOR), **change)


@pytest.mark.parametrize("alpha", [-1.0, -1e-9, nan, inf])
@pytest.mark.parametrize("name", ["policy", "policy, laplace", "greedy"])
def test_alpha_must_not_be_negative(name, alpha):
    with pytest.raises(InputError, match=r"alpha must (lie between 0 and 1000|be a number)"):
        replace(VOCABULARIES[name](Unit.AUTHOR), alpha=alpha)


def test_greedy_has_laplace_noise_only():
    with pytest.raises(InputError, match="greedy vocabulary has Laplace noise only, got 'gaussian'"):
        replace(VOCABULARIES["greedy"](Unit.AUTHOR), noise="gaussian")


@every_vocabulary
def test_noise_is_a_word_in_the_settings(name):
    mechanism = VOCABULARIES[name](Unit.AUTHOR)
    assert replace(mechanism, noise=str(mechanism.noise)) == mechanism
    settings = mechanism(corpus_for(name, Unit.AUTHOR), np.random.default_rng(0)).settings
    assert settings["noise"] == ("laplace" if "laplace" in name or name == "greedy" else "gaussian")


@pytest.mark.parametrize(
    "change, message",
    [
        ({"n_topics": 1}, "n_topics must be at least 2, got 1"),
        ({"steps": 0}, "steps must be at least 1, got 0"),
        ({"sampling_rate": 0.0}, "sampling_rate must (lie in|be a number)"),
        ({"sampling_rate": 1.5}, "sampling_rate must (lie in|be a number)"),
        ({"sampling_rate": nan}, "sampling_rate must (lie in|be a number)"),
        ({"clip": 0.0}, "clip(?: and alpha)? must be (positive|a number)"),
        ({"clip": nan}, "clip(?: and alpha)? must be (positive|a number)"),
        ({"alpha": -1.0}, "clip(?: and alpha)? must be (positive|a number)"),
    ],
)
def test_topic_settings(change, message):
    with pytest.raises(InputError, match=message):
        replace(variational(Unit.AUTHOR), **change)


@pytest.mark.parametrize("name", [*VOCABULARIES, "variational"])
def test_noise_that_is_no_number_is_refused_at_once(name):
    field = "sigma" if name == "variational" else "scale"
    for scale in (nan, "1", None, True):
        with pytest.raises(InputError, match=f"{field} must be a number"):
            replace(MECHANISMS[name](Unit.AUTHOR), **{field: scale})


@pytest.mark.parametrize("scale", [0.0, -1.0])
@pytest.mark.parametrize("name", [*VOCABULARIES, "variational"])
def test_impossible_noise_is_never_run(name, scale):
    field = "sigma" if name == "variational" else "scale"
    mechanism = replace(MECHANISMS[name](Unit.AUTHOR), **{field: scale})
    with pytest.raises(PrivacyError, match="impossible privacy event"):
        _ = mechanism.guarantee
    with pytest.raises((PrivacyError, InputError)):
        mechanism(corpus_for("variational", Unit.AUTHOR), secure_rng())


# --- the largest words ---


@every_vocabulary
def test_max_size_keeps_the_heaviest_by_noisy_weight(name):
    mechanism, corpus = VOCABULARIES[name](Unit.AUTHOR).rescaled(0.2), corpus_for(name, Unit.AUTHOR)
    whole = mechanism(corpus, np.random.default_rng(5)).value
    cut = replace(mechanism, max_size=2)(corpus, np.random.default_rng(5)).value
    heaviest = sorted(zip(whole.weights, whole.words, strict=True), reverse=True)[:2]
    assert len(whole) > 2
    assert sorted(zip(cut.weights, cut.words, strict=True), reverse=True) == heaviest


# --- the pipeline ---


def test_parts_must_protect_the_same_unit():
    with pytest.raises(PrivacyError, match="same unit"):
        VocabularyThenTopics(vocabulary=weighted(Unit.AUTHOR), topics=variational(Unit.DOCUMENT), delta=DELTA)


class Relabelled(WeightedVocabulary):
    """A part that is stated for replace-one."""

    @property
    def guarantee(self):
        base = super().guarantee
        return replace(base, events=tuple(replace(event, relation=Relation.REPLACE) for event in base.events))


def test_parts_must_have_the_same_relation():
    part = Relabelled(scale=1.0, tail=DELTA / 2, max_words=5, delta=DELTA)
    with pytest.raises(PrivacyError, match="same relation"):
        VocabularyThenTopics(vocabulary=part, topics=variational(Unit.AUTHOR), delta=DELTA)


class Claimed(WeightedVocabulary):
    """A part with a hole in its proof."""

    @property
    def guarantee(self):
        return super().guarantee.weakened(Strength.CLAIMED, "A hole.")


def test_whole_is_as_strong_as_its_weakest_part():
    part = Claimed(scale=1.0, tail=DELTA / 2, max_words=5, delta=DELTA)
    whole = VocabularyThenTopics(vocabulary=part, topics=variational(Unit.AUTHOR), delta=DELTA).guarantee
    assert whole.strength is Strength.CLAIMED
    assert "A hole." in whole.assumptions


def test_pipeline_pays_for_both_parts():
    pipeline = MECHANISMS["weighted then variational"](Unit.AUTHOR)
    parts = pipeline.vocabulary.guarantee, pipeline.topics.guarantee
    assert pipeline.guarantee.events == parts[0].events + parts[1].events
    assert pipeline.guarantee.epsilon > max(part.epsilon for part in parts)


def test_pipeline_without_any_word_says_so():
    pipeline = MECHANISMS["weighted then variational"](Unit.AUTHOR).rescaled(500)
    with pytest.raises(NothingReleased, match="no word cleared the privacy threshold"):
        pipeline(corpus_for("weighted", Unit.AUTHOR), np.random.default_rng(0))


def test_pipeline_restricts_before_it_bounds():
    # An author of one public and many other words spends all on the public one.
    texts = ["knee " + " ".join(f"other{letter}" for letter in "abcdefgh")] * 3
    corpus = Corpus.from_texts(texts, authors=["a", "b", "c"]).bounded(max_words=1)
    seen = []

    class Topics(VariationalTopics):
        def __call__(self, corpus, rng):
            release = super().__call__(corpus, rng)
            seen.append(corpus.bounded_sum(Ones(), bound=1.0, grid=2.0**-20))
            return release

    class Ones:
        height = None
        width = 1

        def __call__(self, block):
            from dptopics.data.bounded import UnitRows

            return UnitRows(block.doc_start[block.unit_start], block.word, np.ones((block.word.size, 1)))

    pipeline = VocabularyThenTopics(
        vocabulary=PublicVocabulary(vocabulary=Vocabulary.of(["knee", "skin"]), delta=DELTA),
        topics=Topics(n_topics=2, sigma=2.0, steps=1, delta=DELTA),
        delta=DELTA,
    )
    pipeline(corpus, np.random.default_rng(0))
    assert seen[0].tolist() == [[3 * 2**20], [0]]


# --- topics need public words ---


def test_private_words_are_refused():
    with pytest.raises(PrivacyError, match="words of this corpus are private"):
        variational(Unit.AUTHOR)(corpus_for("weighted", Unit.AUTHOR), secure_rng())


def test_more_topics_than_words():
    with pytest.raises(InputError, match="7 topics need at least as many words, but the vocabulary has 6"):
        replace(variational(Unit.AUTHOR), n_topics=7)(corpus_for("variational", Unit.AUTHOR), secure_rng())


# --- public word lists ---


def test_word_list_is_read_as_texts_are(tmp_path):
    path = tmp_path / "words.txt"
    path.write_bytes("\ufeffKnee\r\n\r\n  Skin  \nknee\nZoe\u0308\n".encode())
    assert read_words(path).words == ("knee", "skin", "zoë")
    mechanism = PublicVocabulary(vocabulary=read_words(path), delta=DELTA)
    release = mechanism(corpus_for("public", Unit.AUTHOR), secure_rng())
    assert release.value.words == ("knee", "skin", "zoë")
    assert release.guarantee.epsilon == 0
    assert any("public beforehand" in assumption for assumption in release.guarantee.assumptions)


@pytest.mark.parametrize(
    "content, message", [(b"", "is empty"), (b"\n \n", "is empty"), (b"caf\xe9\n", "is not valid UTF-8")]
)
def test_bad_word_list(tmp_path, content, message):
    path = tmp_path / "words.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_words(path)


def test_missing_word_list(tmp_path):
    with pytest.raises(InputError, match="cannot read the word list"):
        read_words(tmp_path / "nothing.txt")
    with pytest.raises(InputError, match="cannot read the word list"):
        read_words(tmp_path)


# --- vocabularies ---


def test_vocabulary_is_sorted_and_distinct():
    assert Vocabulary.of(["b", "a", "b"]).words == ("a", "b")
    for words in (("b", "a"), ("a", "a")):
        with pytest.raises(InputError, match="sorted and distinct"):
            Vocabulary(words)
