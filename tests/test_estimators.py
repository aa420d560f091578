"""The scikit-learn face, and scikit-learn's own estimator checks on count matrices."""

import warnings

import numpy as np
import pandas
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils import estimator_checks

from dptopics import Corpus, Ledger, PrivacyWarning, PrivateTopics, Strength, TextSettings, TopicModel, Vocabulary
from dptopics.core.errors import BudgetExceeded, InputError, NothingReleased, PrivacyError
from dptopics.data.matrices import COUNTED_ALONE

TEXTS = ["knee pain after running", "knee hurts when running", "glasses for reading", "eyes need reading glasses"] * 100
AUTHORS = [f"patient {i}" for i in range(400)]
WORDS = Vocabulary.public(["knee", "pain", "running", "glasses", "reading", "eyes"])


def private_topics(**settings):
    return PrivateTopics(
        **({"n_topics": 2, "epsilon": 20.0, "delta": 1e-6, "mechanism": "variational", "vocabulary": WORDS} | settings)
    )


def test_fit_on_texts_finds_the_two_themes():
    model = private_topics().fit(TEXTS, authors=AUTHORS)
    tops = {frozenset(words) for words in model.top_words(2)}
    assert tops == {frozenset({"knee", "running"}), frozenset({"glasses", "reading"})}
    assert model.components_.shape == (2, 6)
    assert model.components_.sum(axis=1) == pytest.approx([1, 1])
    assert model.guarantee_.strength is Strength.PROVED
    assert model.guarantee_.epsilon == pytest.approx(20, abs=1e-6)
    shares = model.transform(["my knee is in pain", "new reading glasses"])
    assert shares.argmax(axis=1)[0] != shares.argmax(axis=1)[1]
    assert list(model.get_feature_names_out()) == ["privatetopics0", "privatetopics1"]


def test_private_vocabulary_is_the_default():
    model = PrivateTopics(n_topics=2, epsilon=20.0, mechanism="variational").fit(TEXTS, authors=AUTHORS)
    assert {"knee", "glasses"} <= set(model.vocabulary_)


def test_a_corpus_and_its_texts_give_the_same_seeded_release():
    with pytest.warns(PrivacyWarning, match="not private"):
        a = private_topics(random_state=1).fit(TEXTS, authors=AUTHORS)
    with pytest.warns(PrivacyWarning, match="not private"):
        b = private_topics(random_state=1).fit(Corpus.from_texts(TEXTS, AUTHORS))
    np.testing.assert_array_equal(a.components_, b.components_)
    assert a.guarantee_.strength is Strength.NONE


def test_without_authors_documents_are_protected_with_a_warning():
    with pytest.warns(PrivacyWarning, match="each document is protected separately"):
        model = private_topics().fit(TEXTS)
    assert model.guarantee_.unit == "document"
    private_topics(unit="document").fit(TEXTS)  # asked for: no warning


def test_large_delta_warns():
    with pytest.warns(PrivacyWarning, match="larger than 1 / number of authors"):
        private_topics(delta=0.01).fit(TEXTS, authors=AUTHORS)


@pytest.mark.parametrize("vocabulary, noise", [("weighted", "laplace"), ("policy", None), ("greedy", None)])
def test_other_private_vocabularies(vocabulary, noise):
    model = private_topics(vocabulary=vocabulary, noise=noise, max_words=10).fit(TEXTS, authors=AUTHORS)
    kind = {"policy": "gaussian"}.get(vocabulary, "laplace")
    assert model.release_.settings["vocabulary"]["noise"] == kind
    assert model.guarantee_.epsilon == pytest.approx(20, rel=1e-6)
    with pytest.raises(InputError, match="noise must be"):
        private_topics(noise="uniform").fit(TEXTS, authors=AUTHORS)


def test_counts_keep_their_columns():
    counts = np.repeat(np.array([[3, 2, 0, 0], [0, 0, 2, 3]]), 200, axis=0)
    model = private_topics(vocabulary="public").fit(sparse.csr_matrix(counts), authors=AUTHORS)
    assert {frozenset(w) for w in model.top_words(2)} == {frozenset({"x0", "x1"}), frozenset({"x2", "x3"})}
    shares = model.transform(counts)
    assert np.all(shares[:200].argmax(axis=1) == shares[0].argmax())
    assert np.all(shares[200:].argmax(axis=1) != shares[0].argmax())


def test_every_fit_of_a_clone_charges_the_same_ledger(tmp_path):
    ledger = Ledger.create(tmp_path / "clinic.ledger", epsilon=50, delta=1e-5)
    model = private_topics(ledger=ledger)
    model.fit(TEXTS, authors=AUTHORS)
    clone(model).fit(TEXTS, authors=AUTHORS)
    assert ledger.spent.epsilon == pytest.approx(40)
    with pytest.raises(BudgetExceeded):
        private_topics(ledger=tmp_path / "clinic.ledger").fit(TEXTS, authors=AUTHORS)
    assert len(ledger.receipts()) == 2


def test_a_seed_and_a_ledger_do_not_go_together(tmp_path):
    ledger = Ledger.create(tmp_path / "clinic.ledger", epsilon=50, delta=1e-5)
    with pytest.warns(PrivacyWarning), pytest.raises(PrivacyError, match="seeded"):
        private_topics(ledger=ledger, random_state=0).fit(TEXTS, authors=AUTHORS)
    assert ledger.receipts() == []


def test_a_search_over_settings_warns_that_it_spends():
    class Scored(PrivateTopics):
        def score(self, X, y=None):
            return 0.0

    model = Scored(n_topics=2, epsilon=20.0, vocabulary=WORDS, unit="document")
    with pytest.warns(PrivacyWarning, match="Every fit spends"):
        GridSearchCV(model, {"n_topics": [2, 3]}, cv=2).fit(TEXTS)


def test_works_in_a_pipeline():
    pipeline = make_pipeline(private_topics(unit="document"), Normalizer("l1"))
    assert pipeline.fit(TEXTS).transform(TEXTS[:3]).shape == (3, 2)


def test_save_and_load(tmp_path):
    model = private_topics().fit(TEXTS, authors=AUTHORS)
    loaded = TopicModel.load(model.save(tmp_path / "release"))
    np.testing.assert_array_equal(loaded.topic_word, model.components_)


def test_not_fitted():
    with pytest.raises(NotFittedError):
        private_topics().transform(TEXTS)
    with pytest.raises(NotFittedError):
        private_topics().top_words()


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"epsilon": 0}, "epsilon must be"),
        ({"epsilon": float("nan")}, "epsilon must be"),
        ({"delta": 1.0}, "delta must"),
        ({"mechanism": "magic"}, "no mechanism 'magic'"),
        ({"n_topics": 7}, "at least as many words"),
        ({"n_topics": 1}, "n_topics must lie between 2 and"),
        ({"unit": "team"}, "unit must be"),
        ({"vocabulary_share": 1.0}, "vocabulary_share"),
        ({"vocabulary": "public"}, "count matrices"),
        ({"vocabulary": "no such file"}, "word list"),
        ({"settings": {"steps": 0}}, "steps must be"),
    ],
)
def test_bad_settings_spend_nothing(tmp_path, settings, message):
    ledger = Ledger.create(tmp_path / "clinic.ledger", epsilon=50, delta=1e-5)
    with pytest.raises(InputError, match=message):
        private_topics(ledger=ledger, **settings).fit(TEXTS, authors=AUTHORS)
    assert ledger.receipts() == []


def test_bad_data_spends_nothing(tmp_path):
    ledger = Ledger.create(tmp_path / "clinic.ledger", epsilon=50, delta=1e-5)
    model = private_topics(ledger=ledger)
    for texts, authors in [
        ("one string", None),
        (["knee", None], ["a", "b"]),
        (["knee", float("nan")], ["a", "b"]),
        (["knee", "pain"], ["a"]),
        (["knee", "pain"], ["a", 1.5]),
    ]:
        with pytest.raises((InputError, ValueError)):
            model.fit(texts, authors=authors)
    with pytest.raises(InputError, match="whole numbers"):
        private_topics(ledger=ledger, vocabulary="public", unit="document").fit(np.full((5, 3), 0.5))
    assert ledger.receipts() == []


def test_one_author_only():
    model = private_topics().fit(TEXTS, authors=["the only one"] * len(TEXTS))
    assert model.components_.shape == (2, 6)  # nothing to learn, and nothing learned, but it runs


def test_an_empty_private_vocabulary_says_how_to_get_one():
    with pytest.raises(NothingReleased, match=r"no word cleared.*charged.*--vocabulary FILE"):
        PrivateTopics(n_topics=2, epsilon=0.1, unit="document", mechanism="variational").fit(["knee pain"] * 10)


# scikit-learn's checks. The reason stands beside each one that cannot hold.
EXPECTED_FAILURES = {
    "check_fit2d_1feature": "one column is one word: fewer words than topics, refused with that message",
}


def counts_only(estimator, X, kernel=None):
    """Stand in for scikit-learn's data: non-negative whole numbers, as a count matrix holds."""
    return np.floor(np.abs(np.asarray(X, dtype=float)) * 3) + 1 if np.ndim(X) == 2 else X


def check_name(check):
    return getattr(check, "func", check).__name__


ESTIMATOR = PrivateTopics(
    n_topics=2, epsilon=50.0, vocabulary="public", unit="document", settings={"steps": 3}, random_state=0
)


@pytest.mark.parametrize(
    "check",
    [check for _, check in estimator_checks.estimator_checks_generator(ESTIMATOR, legacy=True)],
    ids=check_name,
)
def test_scikit_learn_check(check, monkeypatch):
    monkeypatch.setattr(estimator_checks, "_enforce_estimator_tags_X", counts_only)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if check_name(check) not in EXPECTED_FAILURES:
            check(clone(ESTIMATOR))
            return
        with pytest.raises((AssertionError, ValueError)):  # the list must not outlive its reasons
            check(clone(ESTIMATOR))


def test_texts_are_embedded_by_default():
    model = PrivateTopics(n_topics=2, epsilon=20.0).fit(TEXTS, authors=AUTHORS)
    assert model.release_.settings["topics"]["mechanism"] == "embedded"
    assert model.transform(["my knee is in pain", "new reading glasses"]).argmax(axis=1).tolist() in ([0, 1], [1, 0])
    counts = np.tile(np.eye(6, dtype=int), (50, 1))
    plain = PrivateTopics(n_topics=2, epsilon=20.0, unit="document", vocabulary="public").fit(counts)
    assert plain.release_.settings["topics"]["mechanism"] == "mixture"  # columns without a name have no vectors
    german = PrivateTopics(n_topics=2, epsilon=20.0, text="german").preview(900)
    assert german.themes
    foreign = PrivateTopics(n_topics=2, epsilon=20.0, text="swedish").fit(TEXTS, authors=AUTHORS)
    assert foreign.release_.settings["topics"]["mechanism"] == "mixture"


def test_embeddings_computed_before(tmp_path):
    def lengths(texts):
        return np.array([[float("knee" in text), float("glasses" in text), 0.1] for text in texts])

    model = PrivateTopics(n_topics=2, epsilon=20.0, vocabulary=WORDS, mechanism="embedded", embedding=lengths)
    model.fit(TEXTS, authors=AUTHORS, embeddings=lengths(TEXTS))
    assert model.transform(TEXTS[:3:2]).argmax(axis=1).tolist() in ([0, 1], [1, 0])
    ledger = Ledger.create(tmp_path / "l.ledger", epsilon=30, delta=1e-5)
    counted = PrivateTopics(2, vocabulary=WORDS, mechanism="embedded", embedding=lengths, ledger=ledger)
    with pytest.raises(InputError, match="come from another model"):
        counted.fit(TEXTS, authors=AUTHORS, embeddings=np.ones((400, 2)))
    assert not ledger.receipts()  # nothing was charged
    with pytest.raises(InputError, match="need their model too"):
        PrivateTopics(n_topics=2, mechanism="embedded").fit(TEXTS, authors=AUTHORS, embeddings=lengths(TEXTS))
    with pytest.raises(InputError, match="uses no embeddings"):
        private_topics().fit(TEXTS, authors=AUTHORS, embeddings=lengths(TEXTS))


WRITTEN = [
    f"{theme} {'pain' if i % 2 else 'again'}" for i in range(200) for theme in ("knee running", "glasses reading")
]


def test_columns_that_a_vectorizer_learned_are_not_named_by_their_place():
    """One author with one new word moves the places of all columns behind it, so that x7 tells of them."""
    pipeline = make_pipeline(CountVectorizer(), PrivateTopics(2, epsilon=8.0, mechanism="mixture"))
    with pytest.raises(InputError, match=r"have no column names.*texts themselves.*feature_names=.*'public'"):
        pipeline.fit(WRITTEN, privatetopics__authors=AUTHORS)
    counts = CountVectorizer().fit_transform(WRITTEN)
    for vocabulary in ("weighted", WORDS, None):
        with pytest.raises(InputError, match="have no column names"):
            private_topics(vocabulary=vocabulary).fit(counts, authors=AUTHORS)


def test_pipelines_that_keep_documents_apart():
    """Texts by themselves, public columns, and words that are chosen privately."""
    words = list(WORDS.words)
    fit = {"privatetopics__authors": AUTHORS}
    assert make_pipeline(private_topics()).fit(WRITTEN, **fit).transform(WRITTEN[:3]).shape == (3, 2)
    listed = make_pipeline(CountVectorizer(vocabulary=words), private_topics(vocabulary="public"))
    listed.fit(WRITTEN, **fit, privatetopics__feature_names=words)
    assert set(listed[-1].vocabulary_) == set(words)
    hashed = HashingVectorizer(n_features=64, alternate_sign=False, norm=None)
    pipeline = make_pipeline(hashed, private_topics(vocabulary="public", epsilon=8.0)).fit(WRITTEN, **fit)
    assert pipeline.transform(WRITTEN[:3]).shape == (3, 2)
    learned = CountVectorizer().fit(WRITTEN)
    model = private_topics(vocabulary="weighted")
    model.fit(learned.transform(WRITTEN), authors=AUTHORS, feature_names=learned.get_feature_names_out())
    assert "knee" in model.vocabulary_
    for made in (listed[-1], pipeline[-1], model):
        assert "min_df" in made.guarantee_.assumptions[0]
    assert not any("min_df" in line for line in private_topics().fit(TEXTS, authors=AUTHORS).guarantee_.assumptions)


def test_the_assumption_on_counts_follows_a_corpus():
    corpus = Corpus.from_counts(np.eye(6, dtype=int), WORDS.words, authors=range(6), public_vocabulary=True)
    with pytest.warns(PrivacyWarning, match="seeded"):
        release = PrivateTopics(2, epsilon=8.0, mechanism="mixture", random_state=0).fit(corpus).release_
    assert release.guarantee.assumptions[0] == COUNTED_ALONE


def by_blanks(text):
    return text.split()


def test_a_tokenizer_of_ones_own_is_on_the_card(tmp_path):
    model = private_topics(text=TextSettings(tokenizer=by_blanks)).fit(TEXTS, authors=AUTHORS)
    assert "by_blanks, splits each text by that text alone" in model.guarantee_.assumptions[0]
    readme = model.save(tmp_path / "release").joinpath("README.txt").read_text("utf-8")
    assert "by_blanks (sha256 " in readme
    assert "a function of the owner." in readme
    plain = private_topics().fit(TEXTS, authors=AUTHORS)
    assert not any("tokenizer" in line for line in plain.guarantee_.assumptions)
    assert "Tokenizer" not in plain.save(tmp_path / "plain").joinpath("README.txt").read_text("utf-8")


def test_rows_without_text_can_be_left_out():
    with pytest.raises(InputError, match=r"row 1 has no text.*drop_missing=True"):
        private_topics().fit([None, *TEXTS], authors=[1, *AUTHORS])
    private_topics().fit([None, *TEXTS, "knee"], authors=[1, *AUTHORS, None], drop_missing=True)
    frame = pandas.DataFrame({"note": [None, *TEXTS], "who": ["p", *AUTHORS]})
    private_topics().fit(frame, text="note", authors="who", drop_missing=True)
    with pytest.raises(InputError, match="drop_missing is for texts"):
        private_topics(vocabulary="public").fit(np.eye(6, dtype=int), authors=range(6), drop_missing=True)
    with pytest.raises(InputError, match="already has its authors and rows"):
        private_topics().fit(Corpus.from_texts(TEXTS, AUTHORS), drop_missing=True)
    with pytest.raises(InputError, match="rows that are dropped have embeddings too"):
        private_topics().fit(TEXTS, authors=AUTHORS, embeddings=np.ones((400, 2)), drop_missing=True)


def test_transform_says_what_is_wrong():
    model = private_topics().fit(TEXTS, authors=AUTHORS)
    with pytest.raises(InputError, match="a text must be a string, got NoneType"):
        model.transform([None])
    with pytest.raises(InputError, match=r"got a Corpus\. Give the texts themselves"):
        model.transform(Corpus.from_texts(TEXTS, AUTHORS))


@pytest.mark.parametrize("form", ["pandas", "numpy"])
def test_one_column_of_texts(form):
    frame = pandas.DataFrame({"text": TEXTS, "length": [len(text) for text in TEXTS]})
    columns = ColumnTransformer([("t", private_topics(unit="document"), ["text"] if form == "pandas" else [0])])
    given = frame if form == "pandas" else frame.to_numpy(object)
    assert columns.fit(given).transform(given[:3]).shape == (3, 2)


def test_how_many_topics_there_are():
    model = PrivateTopics(n_topics="auto", epsilon=20.0).fit(TEXTS, authors=AUTHORS)
    assert model.n_topics_ == len(model.components_)
    assert model.n_topics == "auto"


def test_built_in_embeddings_are_refused_for_languages_they_do_not_know(tmp_path):
    ledger = Ledger.create(tmp_path / "l.ledger", epsilon=30, delta=1e-5)
    for language in ("sv", "swedish"):
        with pytest.raises(InputError, match=r"minilm-words knows English only.*mixture"):
            PrivateTopics(2, mechanism="embedded", text=language, ledger=ledger).fit(TEXTS, authors=AUTHORS)
    assert not ledger.receipts()
    PrivateTopics(2, epsilon=20.0, mechanism="embedded", text="none", vocabulary=WORDS).fit(TEXTS, authors=AUTHORS)


def test_what_the_command_line_has(fitted_texts):
    fitted = fitted_texts
    frame = fitted.to_pandas()
    assert list(frame.columns) == ["topic", "word", "weight", "noise_std"]
    assert len(fitted.label().labels) == fitted.n_topics_
    assert fitted.label(by=lambda words: "mine").labels[0].label == "mine"
    expected = PrivateTopics(n_topics=7, epsilon=2.0, mechanism="mixture", vocabulary="common").preview(20_000)
    assert expected.units == 20_000
    with pytest.raises(InputError, match="people"):
        PrivateTopics().preview(0)
    with pytest.raises(NotFittedError):
        PrivateTopics().label()


@pytest.fixture
def fitted_texts():
    words = Vocabulary.public(["knee", "run", "eyes", "glasses"])
    texts = ["knee pain after a run", "new glasses for my eyes"] * 300
    return PrivateTopics(n_topics=2, epsilon=50, mechanism="mixture", vocabulary=words).fit(texts, authors=range(600))
