"""Topics with a public model's help: planted clusters come back, bad embeddings are refused, votes are read rightly."""

import os
import stat
from dataclasses import replace

import numpy as np
import pytest

from dptopics import Corpus
from dptopics.core.errors import InputError, PrivacyError
from dptopics.core.text import TextSettings
from dptopics.core.vocabulary import Vocabulary
from dptopics.mechanisms.topics import embedded
from dptopics.mechanisms.topics.embedded import EmbeddedTopics
from dptopics.privacy import noise
from dptopics.privacy.guarantee import Unit
from dptopics.public import embeddings
from dptopics.public.embeddings import TextModel, cached, check_vectors, common_words, embedding

THEMES = [
    ["hockey", "baseball", "playoffs", "teams", "players", "goalie"],
    ["doctor", "disease", "patients", "medicine", "symptoms", "therapy"],
    ["church", "bible", "faith", "prayer", "gospel", "christian"],
    ["engine", "wheel", "motorcycle", "brakes", "driving", "tires"],
]
WORDS = Vocabulary.of([word for theme in THEMES for word in theme] + ["window", "purple", "seven", "letter"])


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    chosen = rng.integers(len(THEMES), size=2000)
    return [" ".join(rng.choice(THEMES[theme], 6)) for theme in chosen], chosen


def fitted(corpus, epsilon=3.0, **settings):
    mechanism = EmbeddedTopics.calibrated(n_topics=4, epsilon=epsilon, delta=1e-6, **({"unit": "document"} | settings))
    return mechanism(corpus.bounded(unit=mechanism.unit).limited(vocabulary=WORDS), np.random.default_rng(1)).value


def found(model):
    """Planted words among the six heaviest of the topics, each theme matched with the topic that has most of it."""
    return sum(max(len(set(theme) & set(words)) for words in model.top_words(6)) for theme in THEMES)


def test_planted_themes_come_back(texts):
    model = fitted(Corpus.from_texts(texts[0]))
    assert found(model) >= 22  # of 24: so small a vocabulary has hardly a space of its own
    assert model.topic_share.sum() == pytest.approx(1)
    main = model.transform(texts[0]).argmax(axis=1)
    assert len({(theme, topic) for theme, topic in zip(texts[1], main, strict=True)}) == 4


def test_topics_stand_in_the_order_of_size(texts):
    """Of what was known before the last count: the clusters' own order says nothing."""
    rows = [text for i, (text, theme) in enumerate(zip(*texts, strict=True)) if i % 4 >= theme]
    model = fitted(Corpus.from_texts(rows))
    assert np.all(np.diff(model.topic_share) <= 0)


def test_authors_with_many_documents_count_once(texts):
    corpus = Corpus.from_texts(texts[0], authors=[row // 4 for row in range(2000)])
    model = fitted(corpus, epsilon=8.0, unit=Unit.AUTHOR)
    assert found(model) >= 20


def own_model():
    """A text model whose vectors point along themes, with all texts far on one side, as real models have it."""
    index = {word: number for number, theme in enumerate(THEMES) for word in theme}

    def encode(batch):
        rows = np.zeros((len(batch), 6))
        for row, text in zip(rows, batch, strict=True):
            for word in text.split():
                row[index.get(word, 4)] += 1
            row[5] = 5 * len(text.split()) ** 0.5 if len(text.split()) > 1 else 0.0
        return rows

    return embedding(encode)


def test_vectors_of_a_text_model(texts, tmp_path):
    model = own_model()
    corpus = Corpus.from_texts(texts[0], embed=model)
    topics = fitted(corpus, embedding=model, dimensions=6)
    assert found(topics) >= 22
    main = topics.transform(texts[0], embedding=model).argmax(axis=1)
    assert len({(theme, topic) for theme, topic in zip(texts[1], main, strict=True)}) == 4
    with pytest.raises(InputError, match="pass the same model"):
        topics.transform(["hockey"])
    with pytest.raises(InputError, match="another model"):
        topics.transform(["hockey"], embedding=lambda batch: np.ones((len(batch), 2)))


def test_corpus_without_vectors_is_refused(texts):
    with pytest.raises(InputError, match="no embeddings"):
        fitted(Corpus.from_texts(texts[0]), embedding=own_model(), dimensions=6)
    wrong = Corpus.from_texts(texts[0]).with_vectors(np.ones((2000, 5)))
    mechanism = EmbeddedTopics.calibrated(n_topics=4, epsilon=1.0, delta=1e-6, unit="document", embedding=own_model())
    with pytest.raises(InputError, match="come from another model"):
        mechanism.check(wrong.bounded().limited(vocabulary=WORDS))  # before anything is charged


def test_private_words_are_refused(texts):
    mechanism = EmbeddedTopics.calibrated(n_topics=4, epsilon=1.0, delta=1e-6, unit=Unit.DOCUMENT)
    with pytest.raises(PrivacyError, match="Put a vocabulary in front"):
        mechanism(Corpus.from_texts(texts[0]).bounded(), np.random.default_rng(0))


@pytest.mark.parametrize(
    "vectors, message",
    [
        (np.ones((3, 2)), "2 rows are needed"),
        (np.ones(2), "2 rows are needed"),
        (np.ones((2, 0)), "2 rows are needed"),
        ([["a"], ["b"]], "matrix of numbers"),
    ],
)
def test_bad_vectors(vectors, message):
    with pytest.raises(InputError, match=message):
        Corpus.from_texts(["one knee", "two eyes"]).with_vectors(vectors)


def test_zero_vectors_and_few_documents():
    # A document whose vector is zero has no place; fewer documents than topics still give a release.
    corpus = Corpus.from_texts(["hockey playoffs", "doctor disease"]).with_vectors(np.array([[0.0, 0], [1, 0]]))
    model = EmbeddedTopics(
        n_topics=3,
        sigma=0.01,
        delta=1e-6,
        unit=Unit.DOCUMENT,
        embedding=TextModel("flat", lambda t: np.eye(2)[[0] * len(t)]),
    )(corpus.bounded().limited(vocabulary=WORDS), np.random.default_rng(0)).value
    assert model.n_topics >= 2
    assert np.isfinite(model.topic_word).all()
    assert model.topic_word.sum(axis=1) == pytest.approx(np.ones(model.n_topics))


def test_settings_are_checked():
    for wrong in ({"n_topics": 1}, {"steps": 0}, {"candidates": 2}, {"start_share": 0.0}, {"centre_share": 0.95}):
        with pytest.raises(InputError):
            EmbeddedTopics(**({"n_topics": 4, "sigma": 1.0, "delta": 1e-6} | wrong))


def test_noise_of_each_sum_is_what_the_guarantee_prices(texts, monkeypatch):
    drawn = []

    def spy(rng, sigma, size):
        drawn.append((sigma, size))
        return np.zeros(size, np.int64)

    monkeypatch.setattr(noise, "gaussian", spy)
    mechanism = EmbeddedTopics(n_topics=4, sigma=2.0, delta=1e-6, unit=Unit.DOCUMENT, steps=3, candidates=10)
    mechanism(Corpus.from_texts(texts[0]).bounded().limited(vocabulary=WORDS), np.random.default_rng(0))
    names = ("frequency_sigma", "start_sigma", "word_sigma", "size_sigma")
    each = [getattr(mechanism, name) for name in names]
    every_word, start, words, sizes = (sigma / public_grid(1.0, sigma) for sigma in each)
    bound = 1.25**0.5
    moved = mechanism.step_sigma * bound / public_grid(bound, mechanism.step_sigma)
    expected = [every_word, moved, start, *[moved] * 3, words, sizes]
    assert [sigma for sigma, _ in drawn] == pytest.approx(expected)
    # All of them together are one Gaussian of multiplier sigma, and the rounds what is priced as signed.
    spent = 4 / mechanism.step_sigma**2 + sum(1 / sigma**2 for sigma in each)
    signed, positive = mechanism.guarantee.events
    assert spent == pytest.approx(1 / 4) == pytest.approx(1 / signed.sigma**2 + 1 / positive.sigma**2)
    assert 1 / signed.sigma**2 == pytest.approx(4 / mechanism.step_sigma**2)
    assert (signed.adaptive, positive.adaptive) == (True, True)
    assert (signed.nonnegative, positive.nonnegative) == (False, True)


def public_grid(bound, sigma):
    from dptopics.mechanisms.queries import grid_for

    return grid_for(bound, sigma)


def test_posterior_trusts_votes_where_the_prior_expects_them():
    noisy, expected = np.array([[30.0, 30.0], [0.0, -5.0]]), np.array([[10.0, 1e-4], [10.0, 10.0]])
    found = embedded.posterior(noisy, 5.0, expected)
    assert found[0, 0] == pytest.approx(30, abs=0.2)
    assert found[0, 1] < 0.1  # a word that does not belong: taken for noise
    assert 0 < found[1, 1] < found[1, 0] < 0.1


def test_common_words_are_read_like_texts():
    words = common_words(TextSettings(), 2000).words
    assert {"doctor", "music"} <= set(words)
    assert not {"the", "of", "it"} & set(words)
    with pytest.raises(InputError, match="no public word list"):
        common_words(TextSettings(language="gujarati"))


def test_cache_is_private_and_spares_the_model(tmp_path):
    asked = []

    def encode(batch):
        asked.extend(batch)
        return np.array([[float(len(text)), 1.0] for text in batch])

    path = tmp_path / "cache.sqlite"
    model = cached(TextModel("lengths", encode), path)
    first = model(["knee", "eyes", "knee"])
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    again = cached(TextModel("lengths", encode), path)(["eyes", "knee", "skin!"])
    np.testing.assert_array_equal(again, [[4, 1], [4, 1], [5, 1]])
    np.testing.assert_array_equal(first, [[4, 1]] * 3)
    assert sorted(set(asked)) == ["eyes", "knee", "skin!"]
    assert asked.count("eyes") == 1
    assert b"knee" not in path.read_bytes()
    path.chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        cached(TextModel("lengths", encode), path)


@pytest.mark.parametrize(
    "model, message",
    [("wordllama", "there is no embedding 'wordllama'. Use minilm-words, minilm, "), (7, "must be a callable")],
)
def test_unknown_models(model, message):
    with pytest.raises(InputError, match=message):
        embedding(model)


def test_a_release_by_a_model_that_is_gone_says_which_there_are(texts):
    model = fitted(Corpus.from_texts(texts[0]))
    gone = replace(model, text=TextSettings(), space=replace(model.space, embedding="wordllama"))
    with pytest.raises(InputError, match=r"there is no embedding 'wordllama'. Use minilm-words, minilm, "):
        gone.transform(texts[0][:3])


def test_a_model_that_needs_a_download_says_so(monkeypatch):
    def load(name):
        return embeddings._loaded(lambda: (_ for _ in ()).throw(OSError("offline")), name)

    monkeypatch.setitem(embeddings._LOADERS, "model2vec", load)
    with pytest.raises(InputError, match="download it while online"):
        embedding("model2vec:some/model")


def test_check_vectors_keeps_good_ones():
    assert check_vectors([[1, 2]], 1).dtype == np.float32
