"""Whole texts in batches of fixed shape: a text's vector is its own, or each text has a call of its own."""

import json
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from dptopics.core.errors import PrivacyWarning
from dptopics.data.public_inputs import allow, restored, serialize
from dptopics.mechanisms.topics.embedded import EmbeddedTopics
from dptopics.public.embeddings import ShapedModel, cached, embedding
from dptopics.public.text_models import check_repeatable


@dataclass(frozen=True)
class Lengths:
    """Counts of characters; ``mixes`` is what a library might do to the rows of a batch."""

    mixes: str = ""
    how: str = "batches of 4 × 8 and 4 × 32 letters, float32 on paper"
    calls: list[tuple[int, int]] = field(default_factory=list, compare=False, repr=False)

    def read(self, texts):
        return [(8 if len(text) <= 8 else 32, text) for text in texts]

    def rows(self, tokens):
        return 4

    def __call__(self, texts, tokens):
        self.calls.append((len(texts), tokens))
        rows = np.array([[len(text), tokens, sum(map(ord, text)), 1] for text in texts], np.float32)
        if self.mixes == "neighbours" and len(texts) > 1:
            rows[:, 3] += np.float32(1e-7) * (1 + rows[:, 0].sum() % 7)
        if self.mixes == "places":
            rows[:, 3] += np.float32(1e-6) * np.arange(len(texts))
        if self.mixes == "how full it is":
            rows[:, 3] += np.float32(1e-6) * sum(text == "" for text in texts)
        return rows


TEXTS = ["knee", "a longer text than eight", "eyes", "knee", "ear", "toes", "hand", "another that is long"]


def test_batches_are_of_one_shape_and_full():
    plain = Lengths()
    model = embedding(plain)
    assert isinstance(model, ShapedModel)
    found = model(TEXTS)
    assert found[:, 0].tolist() == [len(text) for text in TEXTS]
    assert found[:, 1].tolist() == [8 if len(text) <= 8 else 32 for text in TEXTS]
    assert set(plain.calls) == {(4, 8), (4, 32)}  # in the test of the machine too
    check_repeatable(model)


@pytest.mark.parametrize("mixes", ["neighbours", "places", "how full it is"])
def test_a_library_that_mixes_rows_is_caught_and_each_text_called_alone(mixes):
    mixing = Lengths(mixes)
    model = embedding(mixing)
    with pytest.warns(PrivacyWarning, match="Each text has a call of its own"):
        found = model(TEXTS)
    assert model.tested == {8: False, 32: False}
    mixing.calls.clear()
    assert np.array_equal(found, np.concatenate([model([text]) for text in TEXTS]))
    assert {rows for rows, _ in mixing.calls} == {1}


def test_plan_and_card_state_the_shape():
    model = embedding(Lengths())
    allow(Lengths)
    stored = json.loads(json.dumps(serialize(model)))
    assert stored["how"] == Lengths.how
    assert restored(stored, lambda data: None).how == Lengths.how
    mechanism = replace(EmbeddedTopics.calibrated(n_topics=2, epsilon=1.0, delta=1e-5), embedding=model)
    assert any(Lengths.how in line for line in mechanism.guarantee.assumptions)


def test_a_cache_keeps_vectors_of_other_shapes_apart(tmp_path):
    first = cached(embedding(Lengths()), tmp_path / "vectors")
    second = cached(replace(first.model, encode=Lengths(how="others")), tmp_path / "vectors")
    first(["knee"])
    second.model.encode.calls.clear()
    second(["knee"])
    assert second.model.encode.calls
