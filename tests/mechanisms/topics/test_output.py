"""Noise on the output of any learner: what is drawn, what is promised, what is refused, from Python and the shell."""

import json
from dataclasses import FrozenInstanceError, fields, replace
from math import sqrt

import numpy as np
import pytest

from charging import charged
from dptopics import Corpus, Ledger, PrivateTopics
from dptopics.core import progress
from dptopics.core.errors import BudgetExceeded, BundleError, InputError, PrivacyError
from dptopics.core.vocabulary import Vocabulary
from dptopics.learners.adapters import named_learner
from dptopics.learners.lda import GibbsLda, VariationalLda
from dptopics.ledger.ledger import Unrecorded
from dptopics.mechanisms.mechanism import calibrate
from dptopics.mechanisms.topics import sensitivity_file
from dptopics.mechanisms.topics.output import OutputTopics
from dptopics.mechanisms.topics.output_matrix import OutputMatrix, tidy
from dptopics.mechanisms.vocabulary.policy import PolicyVocabulary
from dptopics.mechanisms.vocabulary.threshold import WeightedVocabulary
from dptopics.mechanisms.vocabulary.two_stage import ReplaceOneVocabulary
from dptopics.plan import Plan
from dptopics.privacy import noise
from dptopics.privacy.events import Failure, Gaussian, Relation
from dptopics.privacy.guarantee import Guarantee, Strength, Unit
from dptopics.privacy.rng import secure_rng
from dptopics.registry import catalogue
from dptopics.release import bundle

DELTA = 1e-3
TEXTS = ["fracture knee", "fracture knee cast", "rash skin", "rash skin cream", "rash knee"] * 12
OTHERS = ["fracture cast", "knee cast cast", "rash skin skin", "skin cream", "cream knee", "rash"] * 12
WORDS = Vocabulary.of(["cast", "cream", "fracture", "knee", "rash", "skin"])
LEARNER = VariationalLda(n_topics=2, passes=3)
units = pytest.mark.parametrize("unit", Unit)


def bounded(texts, unit=Unit.AUTHOR, rows=None, **limits):
    rows = range(len(texts)) if rows is None else rows
    authors = [f"author {row // 2}" for row in rows] if unit is Unit.AUTHOR else None
    return Corpus.from_texts([texts[row] for row in rows], authors).bounded(unit=unit, **limits)


def private(unit=Unit.AUTHOR, rows=None):
    return bounded(TEXTS, unit, rows).limited(vocabulary=WORDS)


def public(unit=Unit.AUTHOR):
    return bounded(OTHERS, unit)


def mechanism(unit=Unit.AUTHOR, **settings):
    settings = {"learner": LEARNER, "n_topics": 2, "epsilon": 2.0, "delta": DELTA, "gamma": 0.2} | settings
    settings = {"unit": unit, "public": public(unit)} | settings
    return OutputTopics.calibrated(**settings)


# --- what every mechanism must do (tests/privacy/test_mechanism.py is about what is proved) ---


@units
def test_fields_and_guarantee(unit):
    one = mechanism(unit)
    assert all(field.kw_only for field in fields(one))
    with pytest.raises(FrozenInstanceError):
        one.n_topics = 5
    promise = one.guarantee
    assert (promise.unit, promise.delta, promise.gamma) == (unit, DELTA, 0.2)
    assert (promise.relation, promise.strength) == (Relation.REPLACE, Strength.RANDOM)
    assert promise.events == (Gaussian(one.output.sigma, relation=Relation.REPLACE),)
    assert one.rescaled(1) == replace(one) == one
    assert one.rescaled(2).guarantee.epsilon < promise.epsilon < one.rescaled(0.5).guarantee.epsilon
    assert 2 * (1 - 1e-6) <= promise.epsilon <= 2
    assert calibrate(one, epsilon=0.5).guarantee.epsilon <= 0.5


@units
def test_release(unit):
    one = mechanism(unit)
    release = one(private(unit), secure_rng())
    assert release.guarantee == one.guarantee
    assert release.value.topic_word.shape == (2, 6)
    np.testing.assert_allclose(release.value.topic_word.sum(axis=1), 1)
    assert (release.value.topic_word >= 0).all()
    text = json.dumps(release.settings, allow_nan=False)
    assert json.loads(text)["mechanism"] == "output"
    assert not [word for word in (*WORDS.words, "author 1") if word in text]
    settings = release.settings["output"]
    assert settings["sensitivity"]["value"] == pytest.approx(release.value.noise_std[0] / one.output.sigma)
    assert "key" not in settings["sensitivity"]


def test_seed_voids_the_guarantee():
    assert mechanism()(private(), np.random.default_rng(0)).guarantee.strength is Strength.NONE


@units
def test_same_seed_same_release_in_any_order_of_rows(unit):
    shuffled = np.random.default_rng(3).permutation(len(TEXTS)).tolist()
    first, second = (mechanism(unit)(private(unit, rows), np.random.default_rng(11)) for rows in (None, shuffled))
    np.testing.assert_array_equal(first.value.topic_word, second.value.topic_word)


def test_progress_ends_at_one():
    shares = []
    with progress.shown_by(shares.append):
        mechanism()(private(), np.random.default_rng(0))
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)


def test_noise_has_the_scale_that_is_priced(monkeypatch):
    drawn = []

    def spy(rng, sigma, size):
        drawn.append((sigma, size))
        return np.zeros(size, np.int64)

    monkeypatch.setattr(noise, "gaussian", spy)
    one = mechanism(post="none").prepared(private())
    release = one(private(), secure_rng())
    far = one.output.sensitivity.value
    assert drawn == [(pytest.approx(one.output.sigma * far / one.output.grid), (2, 6))]
    assert release.value.noise_std == pytest.approx(one.output.sigma * far)
    # Without noise: the learner's topics on the grid, in sorted order.
    exact = OutputMatrix.exact(one.output, private())[0] * one.output.grid
    np.testing.assert_array_equal(release.value.topic_word, exact[np.lexsort(exact.T[::-1])])


def test_noisy_rows_are_sorted_and_their_order_in_f_is_forgotten():
    corpus, rng = private(), np.random.default_rng(0)
    one = mechanism(post="none", epsilon=50.0).prepared(corpus)
    for _ in range(20):
        rows = one.output.noisy(corpus, rng)[0]
        assert rows[0, 0] <= rows[1, 0]


def test_rows_keep_their_place_if_not_matched():
    def numbered(counts):
        return np.array([[5.0, 0], [1.0, 0], [3.0, counts.n_documents % 1]])

    one = OutputMatrix.calibrated(
        function=numbered, epsilon=9.0, delta=DELTA, gamma=0.2, public=public(), matched=False
    )
    assert one(private(), secure_rng()).value[:, 0].round(2).tolist() == [5, 1, 3]


def test_other_matrices():
    # Item factors of a recommender: users × items, rows are items.
    def factors(counts):
        _, values, items = np.linalg.svd(counts.matrix().toarray().astype(float), full_matrices=False)
        return np.abs(items[:2].T * values[:2])

    one = OutputMatrix.calibrated(
        function=factors, epsilon=9.0, delta=DELTA, gamma=0.2, public=public(), matched=False, grid=2.0**-20
    )
    release = one(private(), secure_rng())
    assert release.value.shape == (6, 2)
    assert release.guarantee.strength is Strength.RANDOM


@pytest.mark.filterwarnings("ignore")  # those of other packages
@pytest.mark.parametrize("name", ["variational", "gibbs", "lsi", "plsa", "hdp"])
def test_every_learner(name):
    learner = named_learner(name, 2, steps=3)
    release = mechanism(learner=learner, gamma=0.4)(private(), secure_rng())
    np.testing.assert_allclose(release.value.topic_word.sum(axis=1), 1)


def test_unknown_learner():
    with pytest.raises(InputError, match="there is no learner 'magic'"):
        named_learner("magic", 2)
    with pytest.raises(InputError, match="steps must be at least 1"):
        named_learner("gibbs", 2, steps=0)


# --- forms of the output ---


@pytest.mark.parametrize("post", ["simplex", "clip"])
def test_rows_become_distributions(post):
    rows = np.random.default_rng(0).normal(0, 1, (50, 7))
    tidied = tidy(rows, post)
    np.testing.assert_allclose(tidied.sum(axis=1), 1)
    assert (tidied >= 0).all()
    assert tidy(np.full((1, 4), -1.0), post).tolist() == [[0.25] * 4]  # nothing above zero
    np.testing.assert_allclose(tidy(tidied, post), tidied, atol=1e-12)
    assert (tidy(rows, "none") == rows).all()
    with pytest.raises(InputError, match="post must be"):
        tidy(rows, "guess")


def test_projection_is_the_nearest_distribution():
    rng = np.random.default_rng(1)
    rows = rng.normal(0, 1, (20, 5))
    nearest = np.linalg.norm(tidy(rows, "simplex") - rows, axis=1)
    for other in rng.dirichlet(np.ones(5), 500):
        assert (nearest <= np.linalg.norm(other - rows, axis=1) + 1e-12).all()


def test_published_form_releases_top_words_and_says_so():
    one = mechanism(top=2, post="none")
    release = one(private(), secure_rng())
    assert np.count_nonzero(release.value.topic_word, axis=1).tolist() == [2, 2]
    assert release.guarantee.strength is Strength.CLAIMED
    assert "without noise" in release.guarantee.card()
    with pytest.raises(InputError, match="top must be at least 1"):
        mechanism(top=0)
    with pytest.raises(InputError, match="top words"):
        mechanism(top=7).check(private())


def test_neighbours_from_the_private_data_are_a_claim():
    one = mechanism(public=None)
    assert one.guarantee.strength is Strength.CLAIMED
    assert "sampled from the private data" in one.guarantee.card()
    assert one(private(), secure_rng()).guarantee == one.guarantee
    assert not one.prepared(private()).output.sensitivity.public


@pytest.mark.parametrize("calibration, least", [("renyi", 12), ("renyi-best", 1.05)])
def test_other_calibrations_draw_more_and_are_priced_for_it(calibration, least):
    more = mechanism(calibration=calibration, epsilon=3.0, delta=1e-4)
    assert more.output.sigma > least * mechanism(epsilon=3.0, delta=1e-4).output.sigma
    assert more.guarantee.epsilon < 3


# --- a saved sensitivity ---


def test_sensitivity_is_sampled_once(tmp_path):
    path = tmp_path / "s.json"
    first = sensitivity_file.prepare(mechanism(), private(), path)
    assert not path.with_name("s.json.partial").exists()
    saved = json.loads(path.read_text())
    assert (saved["not_for_release"], saved["public"], saved["shape"]) == (False, True, [2, 6])
    again = sensitivity_file.prepare(mechanism(epsilon=0.5), private(), path)  # the noise may differ
    assert again.output.sensitivity == first.output.sensitivity
    assert again(private(), secure_rng()).value.n_topics == 2


def test_another_corpus_learner_or_setting_is_refused(tmp_path):
    path = tmp_path / "s.json"
    sensitivity_file.prepare(mechanism(), private(), path)
    others = {
        "learner": mechanism(learner=replace(LEARNER, passes=4)),
        "kind": mechanism(learner=GibbsLda(n_topics=2)),
        "seed": mechanism(seed=1),
        "grid": mechanism(grid=2.0**-20),
        "order": mechanism(matched=False),
        "top": mechanism(top=2),
        "sample": mechanism(sample_size="binomial"),
        "neighbours": mechanism(public=bounded(OTHERS[:40])),
    }
    for other in others.values():
        with pytest.raises(PrivacyError, match="saved sensitivity is of another corpus"):
            sensitivity_file.prepare(other, private(), path)
    with pytest.raises(PrivacyError, match="saved sensitivity is of another corpus"):  # another number of authors
        sensitivity_file.prepare(mechanism(), private(rows=range(40)), path)
    fewer = bounded(TEXTS).limited(vocabulary=Vocabulary.of(WORDS.words[:5]))
    with pytest.raises(PrivacyError, match="saved sensitivity is of another corpus"):
        sensitivity_file.prepare(mechanism(), fewer, path)
    with pytest.raises(PrivacyError, match="vice versa"):
        sensitivity_file.prepare(mechanism(public=None), private(), path)


def test_the_key_depends_on_the_number_of_units_alone():
    # Of the private data, under this relation, that is public; the file may be published.
    swapped = [*TEXTS[:-2], "cream cream", "skin"]
    other = bounded(swapped).limited(vocabulary=WORDS)
    one = mechanism()
    assert one.output.key(private()) == one.output.key(other)
    assert one.prepared(private()).output.sensitivity == one.prepared(other).output.sensitivity


def test_a_stopped_run_goes_on(tmp_path):
    path = tmp_path / "s.json"
    whole = sensitivity_file.prepare(mechanism(), private(), path).output.sensitivity
    path.unlink()
    partial = tmp_path / "s.json.partial"
    key = mechanism().output.key(private())
    partial.write_text(f"{json.dumps(key)}\n[0, {whole.distances[0]}]\n[2, {whole.distances[2]}]\n[1, 0.0")
    assert sensitivity_file.prepare(mechanism(), private(), path).output.sensitivity == whole
    partial.write_text('"another key"\n')
    path.unlink()
    with pytest.raises(InputError, match="unfinished run of another corpus"):
        sensitivity_file.prepare(mechanism(), private(), path)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": 1}', '{"schema": 9}'])
def test_damaged_files_are_refused(tmp_path, content):
    path = tmp_path / "s.json"
    path.write_text(content)
    with pytest.raises(BundleError):
        sensitivity_file.load(path)
    with pytest.raises(InputError, match="no sensitivity file"):
        sensitivity_file.load(tmp_path / "none.json")
    with pytest.raises(InputError, match="folder of"):
        sensitivity_file.prepare(mechanism(), private(), tmp_path / "none" / "s.json")


def test_a_lowered_sensitivity_is_refused(tmp_path):
    path = tmp_path / "s.json"
    sensitivity_file.prepare(mechanism(), private(), path)
    data = json.loads(path.read_text())
    path.write_text(json.dumps(data | {"sensitivity": data["sensitivity"] / 2}))
    with pytest.raises(BundleError, match="damaged"):
        sensitivity_file.load(path)


# --- bad input ---


@pytest.mark.parametrize("gamma", [0.0, 1.0, -1, 2])
def test_gamma(gamma):
    with pytest.raises(InputError, match="gamma must lie strictly between 0 and 1"):
        mechanism(gamma=gamma)


def test_what_it_cannot_run_on():
    one = mechanism()
    with pytest.raises(PrivacyError, match="bounded per document"):
        one.check(private(Unit.DOCUMENT))
    with pytest.raises(PrivacyError, match="words of this corpus are private"):
        one.check(bounded(TEXTS))
    with pytest.raises(InputError, match="7 topics need at least as many words"):
        replace(one, n_topics=7).check(private())
    with pytest.raises(PrivacyError, match="Bound both alike"):
        mechanism(public=bounded(OTHERS, max_docs=1)).check(private())
    with pytest.raises(InputError, match=r"drawn from 3 units, but gamma = 0\.2 needs at least 5"):
        mechanism(public=bounded(OTHERS[:6])).check(private())


def test_noise_too_large_for_the_grid_is_refused_before_it_is_charged():
    one = mechanism(grid=2.0**-40)
    with pytest.raises(InputError, match="coarser grid"):
        one.prepared(private()).check(private())


def test_a_learner_that_fails_on_the_private_data_only():
    def fragile(counts):
        documents = counts.n_documents
        return np.full((2, 6), np.nan if documents == len(TEXTS) and counts.word[0] == first else 1 / 6)

    corpus = private()
    from dptopics.data.bounded import raw_counts

    first = raw_counts(corpus).word[0]
    one = mechanism(learner=lambda counts: np.full((2, 6), 1 / 6)).prepared(corpus)
    broken = replace(one, output=replace(one.output, function=fragile))
    assert not broken.output.exact(corpus)[0].any()  # zeros: to fail would tell this data from all other
    grown = replace(one.output, function=lambda counts: np.ones((3, 6)))
    assert not grown.exact(corpus)[0].any()


def test_topics_without_words():
    with pytest.raises(InputError, match="each row sums to 1"):
        mechanism(learner=lambda counts: np.array([[0.5] * 2 + [0] * 4, [0.0] * 6])).prepared(private())


# --- pipeline, ledger, estimator, shell ---


def test_private_words_make_it_a_claim():
    whole = Plan.topics(
        mechanism="output",
        vocabulary="weighted",
        n_topics=2,
        epsilon=3.0,
        delta=DELTA,
        unit=Unit.AUTHOR,
        public=public(),
    ).build()
    promise = whole.guarantee
    assert 3 * (1 - 1e-6) <= promise.epsilon <= 3
    assert (promise.strength, promise.relation, promise.gamma) == (Strength.CLAIMED, Relation.REPLACE, 0.1)
    assert "released from the same data" in " ".join(promise.card().split())
    many = Plan.topics(
        mechanism="output", vocabulary="weighted", n_topics=2, epsilon=3.0, delta=DELTA, unit="author", gamma=0.02,
        sample_size="dkw",
    ).build()  # fmt: skip
    with pytest.raises(InputError, match="--no-sampling-limit"):
        many.check(bounded(TEXTS))  # before anything is charged


def test_words_then_noisy_topics():
    whole = Plan.topics(
        mechanism="output", vocabulary="weighted", n_topics=2, epsilon=60.0, delta=0.02, unit=Unit.AUTHOR,
        public=public(), gamma=0.3, steps=2,
    ).build()  # fmt: skip
    release = charged(Unrecorded(), whole, bounded(TEXTS), secure_rng(), accept_unproven=True)
    assert release.value.n_topics == 2


def test_exchange_is_two_steps():
    words = WeightedVocabulary(scale=2.0, tail=1e-5, max_words=5, delta=DELTA)
    both = ReplaceOneVocabulary(vocabulary=words)
    replaced = Relation.REPLACE
    drawn = Gaussian(2.0 / sqrt(2), 1, replaced, nonnegative=True)
    assert both.guarantee.events == (drawn, Failure(1e-5, replaced), Failure(1e-5, replaced))
    other = ReplaceOneVocabulary(vocabulary=PolicyVocabulary(scale=2.0, tail=1e-5, max_words=5, delta=DELTA))
    assert other.guarantee.events[0].sigma == pytest.approx(1.0, rel=1e-3)  # no sum: twice
    assert both.guarantee.relation is Relation.REPLACE
    assert both.rescaled(3).vocabulary.scale == 6
    assert both.unit is Unit.AUTHOR
    assert both(bounded(TEXTS), secure_rng()).guarantee == both.guarantee
    with pytest.raises(PrivacyError, match="only a vocabulary of add-or-remove"):
        ReplaceOneVocabulary(vocabulary=both)


def test_ledger_counts_gamma(tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=5, delta=1e-2, relation="replace")
    with pytest.raises(PrivacyError, match="'random', not 'proved'"):
        charged(ledger, mechanism(), private(), secure_rng())
    for _ in range(2):
        charged(ledger, mechanism(), private(), secure_rng(), accept_unproven=True)
    assert ledger.gamma == pytest.approx(0.4)
    assert ledger.strength is Strength.RANDOM
    assert "γ = 0.4" in ledger.card()
    with pytest.raises(BudgetExceeded):
        charged(ledger, mechanism(), private(), secure_rng(), accept_unproven=True)
    other = Ledger.create(tmp_path / "b.ledger", epsilon=5, delta=1e-2)
    with pytest.raises(PrivacyError, match="one relation"):
        charged(other, mechanism(), private(), secure_rng(), accept_unproven=True)
    assert "γ" not in other.card()


def test_gamma_is_part_of_the_guarantee():
    promise = mechanism().guarantee
    assert Guarantee.from_dict(json.loads(promise.to_json())) == promise
    card = " ".join(promise.card().split())
    assert "Except with probability γ = 0.2" in card
    assert "NOT every author" in card
    for wrong in (None, 1.5, "x"):
        with pytest.raises(BundleError, match="damaged"):
            Guarantee.from_dict(promise.to_dict() | {"gamma": wrong})
    silent = promise.to_dict()
    del silent["gamma"]
    with pytest.raises(BundleError, match="damaged"):
        Guarantee.from_dict(silent)


def test_catalogue():
    rows = {row["name"]: row for row in catalogue()}
    assert (rows["output"]["strength"], rows["output"]["relation"]) == ("random", "replace")
    assert (rows["mvg"]["strength"], rows["laplace"]["strength"]) == ("random", "proved")


@pytest.mark.parametrize("name", ["output", "mvg", "laplace"])
def test_estimator(name, tmp_path):
    authors = [row // 2 for row in range(len(TEXTS))]
    settings = {"epsilon": 5.0, "delta": DELTA, "mechanism": name, "vocabulary": WORDS, "settings": {"steps": 3}}
    if name != "laplace":
        public = Corpus.from_texts(OTHERS, authors=[r // 2 for r in range(len(OTHERS))])
        settings["settings"] |= {"gamma": 0.2, "public": public}
    if name != "laplace":
        with pytest.raises(PrivacyError, match="accept_unproven=True"):
            PrivateTopics(2, **settings).fit(TEXTS, authors=authors)
    model = PrivateTopics(2, **settings, accept_unproven=True).fit(TEXTS, authors=authors)
    assert model.guarantee_.relation is Relation.REPLACE
    assert bundle.load(model.save(tmp_path / "release")).guarantee == model.guarantee_


@pytest.fixture
def shell(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from dptopics.cli import app

    monkeypatch.chdir(tmp_path)
    for name, texts in (("notes", TEXTS), ("others", OTHERS)):
        lines = ["patient,note", *(f"{row // 2},{text}" for row, text in enumerate(texts))]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n", "utf-8")
    (tmp_path / "words.txt").write_text("\n".join(WORDS.words) + "\n", "utf-8")

    def run(*more, out="r"):
        options = {
            "text": "note", "author": "patient", "epsilon": 3, "delta": DELTA, "topics": 2, "set": "steps=3",
            "vocabulary": "words.txt", "out": out,
        }  # fmt: skip
        command = ["fit", "notes.csv", "--accept-unproven"]
        command += [str(part) for key, value in options.items() for part in (f"--{key}", value)]
        result = CliRunner().invoke(app, [*command, *map(str, more)])
        return result, " ".join(result.output.replace("│", " ").split())

    return run


def of(*settings):
    return [word for one in settings for word in ("--set", one)]


OTHER = ("--mechanism", "output", "--public-corpus", "others.csv")
OUTPUT = (*OTHER, *of("gamma=0.2"))


def test_shell_end_to_end(shell, tmp_path):
    Ledger.create(tmp_path / "a.ledger", epsilon=10, delta=0.5, relation="replace")
    result, shown = shell(*OUTPUT, "--sensitivity", "s.json", "--ledger", "a.ledger")
    assert result.exit_code == 0, result.output
    assert "RANDOM: holds with a stated probability" in shown
    assert (tmp_path / "s.json").exists()
    result, _ = shell(*OUTPUT, "--sensitivity", "s.json", "--ledger", "a.ledger", out="again")
    assert result.exit_code == 0
    ledger = Ledger.open(tmp_path / "a.ledger")
    assert (len(ledger.receipts()), ledger.gamma) == (2, pytest.approx(0.4))
    result, _ = shell(*OUTPUT, "--sensitivity", "s.json", "--ledger", "a.ledger", "--set", "learner=gibbs", out="third")
    assert isinstance(result.exception, PrivacyError)  # a sensitivity of another learner
    assert len(ledger.receipts()) == 2  # nothing was charged


def test_shell_refusals(shell, tmp_path):
    cases = [
        ((*of("gamma=0.2"),), InputError, "mechanism 'embedded' has no setting gamma"),
        ((*OTHER, *of("gamma=1.5")), InputError, "gamma must lie"),
        ((*OTHER, *of("gamma=0.03", "sample_size=dkw")), InputError, "--no-sampling-limit"),
        ((*OUTPUT, "--vocabulary", "weighted", "--sensitivity", "s", "--delta", 0.02), InputError, "--vocabulary FILE"),
        ((*OUTPUT, *of("learner=magic")), InputError, "no learner"),
    ]  # fmt: skip
    for more, kind, message in cases:
        result, _ = shell(*more)
        assert isinstance(result.exception, kind), result.output
        assert message in str(result.exception)
        assert not (tmp_path / "r").exists()


def test_shell_other_forms(shell):
    for number, more in enumerate(
        [
            ("--mechanism", "output", *of("top=2", "calibration=renyi", "post=clip", "gamma=0.2")),
            (*OUTPUT, *of("sample_size=binomial"), "--no-sampling-limit"),
            ("--mechanism", "laplace"),
        ]
    ):
        result, _ = shell(*more, out=f"r{number}")
        assert result.exit_code == 0, result.output
