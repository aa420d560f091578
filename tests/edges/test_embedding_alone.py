"""A document's vector depends on that document alone, with any model: nobody's vector moves when somebody leaves."""

import numpy as np
import pytest

from dptopics import Corpus, PrivateTopics, Vocabulary
from dptopics.core.errors import InputError, PrivacyError, PrivacyWarning
from dptopics.data.bounded import Placed
from dptopics.mechanisms.topics import embedded_space
from dptopics.mechanisms.topics.embedded import OWN_VECTORS, EmbeddedTopics
from dptopics.mechanisms.topics.embedded_space import Documents, Sums
from dptopics.public.embeddings import MiniLMWords, available, embedding
from dptopics.public.text_models import TextModel, cached, check_repeatable

WIDTH = 24
RNG = np.random.default_rng(7)
TOKENS, MIXED = RNG.normal(size=(97, WIDTH)).astype(np.float32), RNG.normal(size=(WIDTH, WIDTH)).astype(np.float32)
TEXTS = [" ".join(["pain"] * n + ["knee", "skin", "rash", "cast"][i % 4 :]) for i, n in enumerate([*range(1, 40), 99])]


def padded(texts):
    """A small model of the kind that real ones are: padded to the longest, mixed, and averaged in float32."""
    length = max(len(text.split()) for text in texts)
    batch = np.zeros((len(texts), length, WIDTH), np.float32)
    for row, text in zip(batch, texts, strict=True):
        for place, word in enumerate(text.split()):
            row[place] = TOKENS[(len(word) * 31 + place) % 97]
    mixed = np.tanh(batch @ MIXED) + np.float32(1e-4) * length  # position embeddings of the padding shine through
    return mixed.mean(axis=1)


def others_change(embed, texts=TEXTS):
    """How many of the others' vectors change when the longest text is taken out."""
    without = texts[:-1]
    whole = Corpus.from_texts(texts, embed=embed).vectors[:-1]
    return int((whole != Corpus.from_texts(without, embed=embed).vectors).any(axis=1).sum())


def test_the_control_moves_everybody():
    changed = (padded(TEXTS)[:-1] != padded(TEXTS[:-1])).any(axis=1)
    assert changed.all()  # in one batch, one text moves all others


@pytest.mark.parametrize("model", [padded, embedding(padded), TextModel("padded", padded)], ids=type)
def test_one_text_moves_no_other(model):
    assert others_change(model) == 0
    vectors = Corpus.from_texts(TEXTS, embed=model).vectors
    np.testing.assert_array_equal(vectors, np.concatenate([padded([text]) for text in TEXTS]).astype(np.float32))


def test_order_repeats_and_batches_do_not_matter():
    model = embedding(padded)
    many = [TEXTS[i] for i in RNG.integers(0, len(TEXTS), 5000)]  # more than are read at once
    found = Corpus.from_texts(many, embed=model).vectors
    alone = {text: padded([text])[0] for text in TEXTS}
    np.testing.assert_array_equal(found, np.array([alone[text] for text in many], np.float32))


def test_an_object_with_encode_is_called_with_one_text():
    class Model:
        name = "batches"

        def encode(self, texts):
            sizes.append(len(texts))
            return padded(texts)

    sizes = []
    assert others_change(Model()) == 0
    assert set(sizes) == {1}


def test_a_cache_keeps_vectors_made_alone(tmp_path):
    model = cached(embedding(padded), tmp_path / "cache")
    words = ["pain", "pain knee skin", *TEXTS]
    model.together(words)  # public words, in a batch: not what a document of the same words gets
    assert others_change(model) == 0
    again = cached(embedding(padded), tmp_path / "cache")
    np.testing.assert_array_equal(again(TEXTS), np.concatenate([padded([text]) for text in TEXTS]).astype(np.float32))
    np.testing.assert_array_equal(again.together(words), padded(words).astype(np.float32))


def test_a_cache_of_batches_is_not_used_again(tmp_path):
    """Version 0.1.0 kept vectors of batches, by a hash of the model's name and the text."""
    from hashlib import blake2b

    model = cached(TextModel("padded", padded), tmp_path / "cache")
    old = np.full(WIDTH, 7, np.float32).tobytes()
    with model.store:
        keys = [blake2b(f"padded\0{text}".encode()).digest() for text in TEXTS]
        model.store.executemany("INSERT INTO vectors VALUES (?, ?)", [(key, old) for key in keys])
    assert not (model(TEXTS) == 7).any()


def moved(corpus, neighbour):
    """How far a sum of the mechanism moves between neighbours, in units of its bound."""
    words = Vocabulary.public(["pain", "knee", "skin", "rash", "cast"])
    public = embedded_space.of_words(words, embedding(padded), None)
    space = public.space(WIDTH, np.full(5, 0.2), 0.2, 1.0)
    documents = Documents(space, False, np.zeros(space.projection.shape[1]))
    bound, grid = 1.25**0.5, 2.0**-20
    statistic = Placed(Sums(np.zeros((1, space.projection.shape[1]))), documents)
    one, two = (c.bounded().bounded_sum(statistic, bound=bound, grid=grid) for c in (corpus, neighbour))
    return float(np.linalg.norm((one - two).astype(float))) * grid / bound


@pytest.mark.skipif(not available(), reason="the extra 'embeddings' is not installed")
def test_a_sum_stays_within_its_bound():
    two = TEXTS[:-1] * 20
    one = [*two, TEXTS[-1]]  # a neighbour, with the one long text
    assert moved(*(Corpus.from_texts(texts, embed=padded) for texts in (one, two))) <= 1
    batches = [Corpus.from_texts(texts).with_vectors(padded(texts)) for texts in (one, two)]
    assert moved(*batches) > 1.5  # the control: one batch, and the bound does not hold


def test_the_card_states_what_cannot_be_checked():
    words = Vocabulary.public(["pain", "knee", "skin", "rash", "cast"])
    model = PrivateTopics(2, mechanism="embedded", embedding=padded, vocabulary=words, unit="document", epsilon=40.0)
    assert OWN_VECTORS in model.fit(TEXTS).guarantee_.assumptions
    assert "one text at a time" in " ".join(model.guarantee_.card().split())


def test_word_vectors_are_added_up_text_by_text():
    model = MiniLMWords()
    texts = [*TEXTS, "", "naïve Zoë's résumé " * 40, "日本"]
    together = model(texts)
    np.testing.assert_array_equal(together, np.concatenate([model([text]) for text in texts]))
    np.testing.assert_array_equal(together, model(texts[::-1])[::-1])
    assert OWN_VECTORS not in EmbeddedTopics.template(n_topics=2, delta=1e-6).guarantee.assumptions


def counting():
    calls = []

    def model(texts):
        calls.append(1)
        return [[float(len(calls)), 1.0] for _ in texts]

    return model


def random(texts):
    return RNG.normal(size=(len(texts), 2))


@pytest.mark.parametrize("model", [counting(), random], ids=["counting", "random"])
def test_a_model_that_remembers_is_refused_before_the_charge(tmp_path, model):
    words = Vocabulary.public(["pain", "knee", "skin"])
    made = PrivateTopics(2, mechanism="embedded", embedding=model, vocabulary=words, unit="document")
    with pytest.raises(PrivacyError, match="gives the same text different vectors"):
        made.fit(TEXTS)
    with pytest.raises(PrivacyError, match="gives the same text different vectors"):
        check_repeatable(cached(embedding(model), tmp_path / "cache"))
    check_repeatable(cached(embedding(padded), tmp_path / "cache"))


def test_vectors_of_different_lengths():
    with pytest.raises(InputError, match="differ in length"):
        embedding(lambda texts: [[1.0] * len(texts[0])])(["a", "bb"])
    assert embedding(padded)([]).shape == (0, 1)
    assert embedding(padded).together([]).shape == (0, 1)


def test_a_text_that_the_model_cannot_read_is_not_refused():
    """Its vector is taken for zeros: whose text it was would be told by an error, and nobody would have paid for it."""
    corpus = Corpus.from_texts(["knee pain", "skin rash"], ["a", "b"])
    with pytest.warns(PrivacyWarning, match=r"of 1 documents hold NaN"):
        held = corpus.with_vectors(np.array([[1.0, np.nan], [0.0, 1.0]]))
    assert held.vectors.tolist() == [[0.0, 0.0], [0.0, 1.0]]
