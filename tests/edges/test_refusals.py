"""The output is release or refusal: after parsing, data decides nothing before the charge, the empty data included."""

import warnings

import numpy as np
import pytest

from charging import charged
from dptopics import Corpus, Guarantee, Ledger, PrivateTopics, Release, TopicModel, Vocabulary
from dptopics.core.errors import NothingReleased, PrivacyWarning
from dptopics.data.public_inputs import PublicNgrams
from dptopics.ledger.ledger import Unrecorded
from dptopics.plan import Plan
from dptopics.privacy.guarantee import Strength, Unit
from dptopics.privacy.rng import secure_rng
from dptopics.registry import mechanisms
from dptopics.release import bundle

LISTED = Vocabulary.of(["chorea", "huntington", "knee", "tremor"])
NOBODY = ["it is", "new glasses", "flu in may"]  # none of the listed words
SOMEBODY = "huntington runs in the family with tremor and chorea, and huntington again"


def neighbours(**how):
    """Data sets around the empty edge, each one document more than the one before."""
    for texts in ([], ["it is"], NOBODY, [*NOBODY, SOMEBODY]):
        yield Corpus.from_texts(texts, [f"a{i}" for i in range(len(texts))], **how)


def outcomes(mechanism, corpora):
    """What each corpus leads to: a release, or nothing after the charge; anything else ends the test."""
    door = Unrecorded()
    for corpus in corpora:
        bounded = corpus.bounded(unit=mechanism.unit)
        mechanism.check(bounded)  # what a data set may not decide
        try:
            charged(door, mechanism, bounded, secure_rng(), accept_unproven=True)
            yield "released"
        except NothingReleased:
            yield "nothing"


@pytest.mark.parametrize("name", sorted(mechanisms("vocabulary")))
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_vocabularies_run_on_no_data(name, kind):
    if kind not in [str(n) for n in mechanisms("vocabulary")[name].noises]:
        return
    mechanism = Plan.words(mechanism=name, epsilon=1.0, delta=1e-6, unit=Unit.AUTHOR, noise=kind).build()
    assert set(outcomes(mechanism, neighbours())) == {"released"}


@pytest.mark.parametrize("name", [name for name, kind in mechanisms("topics").items() if not kind.needs_preparation])
def test_topics_over_public_words_run_on_no_data(name):
    mechanism = Plan.topics(
        mechanism=name, vocabulary=LISTED, n_topics=2, epsilon=5.0, delta=1e-3, unit=Unit.AUTHOR
    ).build()
    found = list(outcomes(mechanism, neighbours(vocabulary=LISTED)))
    if mechanism.guarantee.strength is Strength.PROVED:
        assert set(found) == {"released"}
    assert len(found) == 4


@pytest.mark.parametrize("name", ["mixture", "embedded", "variational", "spectral"])
def test_topics_over_private_words_run_on_no_data(name):
    """No word clears the threshold: nothing released, after the charge, on every one of them."""
    mechanism = Plan.topics(
        mechanism=name, vocabulary="weighted", n_topics=2, epsilon=1.0, delta=1e-6, unit=Unit.AUTHOR
    ).build()
    assert set(outcomes(mechanism, neighbours())) == {"nothing"}


@pytest.mark.parametrize("name", sorted(mechanisms("n-grams")))
def test_ngrams_run_on_no_data(name):
    prior = PublicNgrams(LISTED, np.array([3, 2, 5, 1]))
    mechanism = Plan.ngrams(mechanism=name, epsilon=1.0, delta=1e-6, unit=Unit.AUTHOR, prior=prior).build()
    assert set(outcomes(mechanism, neighbours(vocabulary=LISTED))) == {"released"}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")  # on import of tomotopy
@pytest.mark.parametrize("learner", ["variational", "gibbs", "spectral", "lsi", "plsa", "hdp"])
def test_learners_fail_into_uniform_topics(learner):
    """The largest change there can be is priced, also that from a learner's failure to its success."""
    mechanism = Plan.topics(
        mechanism="laplace", vocabulary=LISTED, n_topics=2, epsilon=1.0, delta=1e-6, unit=Unit.AUTHOR, learner=learner
    ).build()
    assert mechanism.guarantee.strength is Strength.PROVED
    assert set(outcomes(mechanism, neighbours(vocabulary=LISTED))) == {"released"}


def test_a_learner_that_never_works_is_refused_before_the_charge():
    def broken(counts):
        raise RuntimeError("out of order")

    mechanism = Plan.topics(
        mechanism="laplace", vocabulary=LISTED, n_topics=2, epsilon=1.0, delta=1e-6, unit=Unit.AUTHOR, learner=broken
    ).build()
    corpus = next(neighbours(vocabulary=LISTED)).bounded()
    with pytest.raises(RuntimeError):
        mechanism.check(corpus)


def test_a_function_that_fails_on_the_data_alone_is_released_as_zeros():
    """The sensitivity was sampled on neighbours on which it works."""
    from dptopics.mechanisms.topics.output_matrix import OutputMatrix

    def picky(counts):
        if counts.count.max() > 100:
            raise ValueError("one of you shouts")
        return np.bincount(counts.word, minlength=counts.n_words).astype(float)[None]

    rng = np.random.default_rng(0)
    calm, loud = (rng.integers(0, 2, (50, 3)) for _ in range(2))
    loud[0, 0] = 1000
    users, others = (
        Corpus.from_counts(m, ["a", "b", "c"], public_vocabulary=True).bounded(unit="document") for m in (loud, calm)
    )
    mechanism = OutputMatrix.calibrated(
        function=picky, epsilon=1.0, delta=1e-6, gamma=0.2, public=others, unit="document", matched=False, grid=2.0**-10
    )
    release = mechanism(users, secure_rng())
    assert np.abs(release.value).max() < 200


@pytest.mark.parametrize("how", ["texts", "counts", "corpus"])
def test_the_estimator_charges_for_no_data(how, tmp_path):
    ledger = Ledger.create(tmp_path / "l", epsilon=3, delta=1e-5)
    model = PrivateTopics(n_topics=2, epsilon=1.0, mechanism="mixture", vocabulary=LISTED, ledger=ledger)
    for texts in ([], NOBODY, [*NOBODY, SOMEBODY]):
        authors = [f"a{i}" for i in range(len(texts))]
        if how == "counts":
            words = LISTED.words
            table = np.array([[t.count(w) for w in words] for t in texts], int).reshape(len(texts), len(words))
            corpus = Corpus.from_counts(table, words, authors=authors, public_vocabulary=True)
            model.set_params(vocabulary=None).fit(corpus)
        elif how == "corpus":
            model.set_params(vocabulary=None).fit(Corpus.from_texts(texts, authors, vocabulary=LISTED))
        else:
            model.fit(texts, authors=authors)
    assert len(ledger.receipts()) == 3


def test_a_note_to_the_owner_is_never_an_exception():
    """Filters that turn warnings into errors would make a refusal of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Corpus.from_texts([])
    with pytest.warns(PrivacyWarning, match="no documents"):
        Corpus.from_texts([])


COMMANDS = {
    "fit": ["fit", "notes.csv", "--topics", "2", "--vocabulary", "list.txt", "--mechanism", "mixture"],
    "fit-private": ["fit", "notes.csv", "--topics", "2", "--mechanism", "mixture", "--vocabulary", "weighted"],
    "fit-laplace": [
        "fit", "notes.csv", "--topics", "2", "--vocabulary", "list.txt", "--mechanism", "laplace",
        "--set", "learner=spectral",
    ],
    "vocabulary": ["vocabulary", "notes.csv"],
    "count": ["count", "topics", "notes.csv"],
    "ngrams": ["ngrams", "notes.csv", "--public", "list.txt", "--n", "1"],
    "ngrams-private": ["ngrams", "notes.csv", "--n", "2"],
}  # fmt: skip


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_commands_end_alike_with_and_without_the_only_author(command, tmp_path, monkeypatch):
    """Exit code, files and ledger tell whether anybody wrote a listed word only as far as the noise lets."""
    from typer.testing import CliRunner

    from dptopics.cli import app

    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.txt").write_text("".join(f"{word}\n" for word in LISTED.words))
    if command == "count":
        model = TopicModel(topic_word=np.eye(2, len(LISTED)), topic_share=np.ones(2) / 2, vocabulary=LISTED, alpha=0.1)
        promise = Guarantee(events=(), delta=0.0, unit=Unit.AUTHOR, strength=Strength.PROVED)
        bundle.save(Release(value=model, guarantee=promise, settings={}), "topics")
    relation = "replace" if command == "fit-laplace" else "add-or-remove"
    Ledger.create("l", epsilon=1e6, delta=0.9, relation=relation)
    seen = []
    for number, texts in enumerate(([], NOBODY, [*NOBODY, SOMEBODY])):
        rows = "".join(f'"{text}",p{i}\n' for i, text in enumerate(texts))
        (tmp_path / "notes.csv").write_text("text,author\n" + rows)
        options = ["--text", "text", "--author", "author", "--epsilon", "1", "--delta", "1e-6", "--ledger", "l"]
        result = CliRunner().invoke(app, [*COMMANDS[command], *options, "--out", f"out{number}"])
        kind = type(result.exception).__name__
        seen.append((kind, (tmp_path / f"out{number}").exists(), len(Ledger.open("l").receipts()) - number))
    assert len(set(seen)) == 1, seen
    assert seen[0][2] == 1
