"""Words of embedded topics: only what stands above the noise is a finding, and few documents carry few topics."""

from dataclasses import replace

import numpy as np
import pytest

from dptopics import Corpus
from dptopics.core.errors import InputError
from dptopics.core.text import TextSettings
from dptopics.core.vocabulary import Vocabulary
from dptopics.mechanisms.topics import embedded
from dptopics.mechanisms.topics.embedded import EmbeddedTopics
from dptopics.plan import Plan
from dptopics.preview import expected
from dptopics.privacy import noise
from dptopics.privacy.guarantee import Unit
from dptopics.public.embeddings import available

pytestmark = pytest.mark.skipif(not available(), reason="the extra 'embeddings' is not installed")
WRITTEN = [
    "hockey",
    "goalie",
    "playoffs",
    "doctor",
    "disease",
    "therapy",
    "church",
    "bible",
    "gospel",
    "engine",
    "brakes",
]
LISTED = [
    "music",
    "river",
    "window",
    "yellow",
    "planet",
    "kitchen",
    "lawyer",
    "winter",
    "painter",
    "football",
    "hospital",
]
WORDS = Vocabulary.public(WRITTEN + LISTED)
THEMES = [WRITTEN[:3], WRITTEN[3:6], WRITTEN[6:9], WRITTEN[9:]]


def texts(n):
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(THEMES[row % 4], 4)) for row in range(n)]


def topics(n, epsilon=1.0, **settings):
    mechanism = EmbeddedTopics.calibrated(
        n_topics=4, epsilon=epsilon, delta=1e-6, unit=Unit.DOCUMENT, dimensions=16, **settings
    )
    corpus = Corpus.from_texts(texts(n)).bounded().limited(vocabulary=WORDS)
    return mechanism(corpus, np.random.default_rng(1)).value


def test_words_that_nobody_wrote_are_not_shown_and_weigh_nothing():
    model = topics(6000)
    shown = {word for row in model.top_words(10) for word in row}
    assert len(shown & set(WRITTEN)) >= 9
    assert not shown & set(LISTED)
    weight = model.topic_word[:, [model.vocabulary.index[word] for word in LISTED]].sum(axis=1)
    assert model.topic_share @ weight <= 0.05
    assert {word for row in model.top_words(22, min_z=0) for word in row} == set(WRITTEN + LISTED)


def test_a_handful_of_documents_gives_no_findings(monkeypatch):
    model = topics(100, epsilon=0.2, auto=True)
    assert model.n_topics == 2  # of four
    assert sum(len(row) for row in model.top_words(10)) <= 1
    # The control: without noise the same documents say a lot, so it is the noise that the words must clear.
    monkeypatch.setattr(noise, "gaussian", lambda rng, sigma, size: np.zeros(size, np.int64))
    assert any(topics(100, epsilon=20.0).top_words(10))


def test_the_number_of_topics_follows_the_noisy_number_of_documents():
    template = EmbeddedTopics(n_topics=50, sigma=2.0, delta=1e-6, auto=True)
    carried = [template._carried(size) for size in (1.0, 300.0, 3000.0, 1e5)]
    assert carried[:2] == [2, 2]
    assert carried == sorted(carried)
    assert carried[-1] == 50
    assert EmbeddedTopics(n_topics=7, sigma=2.0, delta=1e-6)._carried(1.0) == 7


def test_one_word_documents():
    corpus = Corpus.from_texts([WRITTEN[row % 11] for row in range(4400)])
    mechanism = EmbeddedTopics.calibrated(n_topics=4, epsilon=2.0, delta=1e-6, unit=Unit.DOCUMENT, dimensions=16)
    model = mechanism(corpus.bounded().limited(vocabulary=WORDS), np.random.default_rng(0)).value
    assert len({word for row in model.top_words(10) for word in row} & set(WRITTEN)) >= 8


def test_the_model_says_less_where_documents_say_more():
    trust = [embedded.trust_in_model(units, 2.0) for units in (1.0, 200.0, 400.0, 1e6)]
    assert trust[0] == trust[1] == 2 * trust[2] > trust[3] > 0


def test_weight_goes_to_words_that_were_seen():
    counts = np.array([[40.0], [4.0], [4.0], [1.0]])
    expected_votes = np.array([[1.0], [1.0], [5.0], [5.0]])
    seen = np.array([False, True, False, False])
    found = embedded.weights(counts, 5.0, expected_votes, seen)
    assert found.sure.tolist() == [1]
    assert found.share.sum() == pytest.approx(1)
    assert found.share[2:].sum() <= 0.01
    assert found.share[0, 0] >= 3 * found.noise_std[0] > found.share[1, 0]
    nothing = embedded.weights(counts, 50.0, expected_votes, np.zeros(4, bool))
    assert nothing.sure.tolist() == [0]
    np.testing.assert_allclose(nothing.share[:, 0], expected_votes[:, 0] / 12)
    assert np.all(nothing.share[:, 0] < 3 * nothing.noise_std[0])  # nothing is shown


def test_topics_without_enough_words_go():
    sure, sizes = np.array([9, 2, 6, 0]), np.array([10.0, 90.0, 20.0, 30.0])
    assert embedded.telling(sure, sizes, 5).tolist() == [2, 0]
    assert embedded.telling(sure, sizes, 1).tolist() == [1, 2, 0]
    assert embedded.telling(np.zeros(4, int), sizes, 5).tolist() == [1, 3]  # the largest two


def test_auto_is_asked_for_by_name():
    plan = Plan.topics(n_topics="auto", epsilon=1.0, delta=1e-6, unit="document", text=TextSettings())
    assert plan.build().topics.auto
    assert Plan.from_dict(plan.to_dict()) == plan
    with pytest.raises(InputError, match="cannot tell how many topics"):
        Plan.topics(mechanism="mixture", n_topics="auto", epsilon=1.0, delta=1e-6, unit="document")
    with pytest.raises(InputError, match="a whole number or 'auto'"):
        Plan.topics(mechanism="mixture", n_topics="many", epsilon=1.0, delta=1e-6, unit="document")


def test_the_preview_says_what_few_units_give():
    plan = Plan.topics(n_topics="auto", epsilon=1.0, delta=1e-6, unit="document", text=TextSettings())
    assert "Few themes would be more than noise" in expected(plan, 60).advice
    assert 8 <= expected(plan, 300).themes <= 15
    assert expected(plan, 30_000).themes is None
    words_alone = replace(plan, settings={name: v for name, v in plan.settings.items() if name != "atlas"})
    assert "Too few units for any topic" in expected(words_alone, 300).advice


def test_settings_out_of_range():
    for wrong in ({"spread": 0.5}, {"axes_from_data": 1.5}, {"steepness": -1.0}, {"frequency_share": 0.0}):
        with pytest.raises(InputError):
            EmbeddedTopics(n_topics=4, sigma=1.0, delta=1e-6, **wrong)
