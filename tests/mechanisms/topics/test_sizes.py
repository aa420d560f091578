"""Sizes of topics: what is counted, under which rule, how sure that is, and that every place says the same."""

import json
import warnings
from dataclasses import replace
from math import ceil, floor

import numpy as np
import pytest
from typer.testing import CliRunner

from dptopics import Corpus, InputError, PrivacyWarning, PrivateTopics, TopicModel, Unit
from dptopics.cli import app
from dptopics.core.vocabulary import Vocabulary
from dptopics.mechanisms.queries import grid_for
from dptopics.mechanisms.topics.gaussian import _Assigned, sized
from dptopics.mechanisms.topics.mixture import MixtureTopics
from dptopics.plan import Plan
from dptopics.public.demo import demo_corpus
from dptopics.release import bundle
from dptopics.release.topic_sizes import TopicSizes

WORDS = ["bone", "cast", "cream", "itch", "knee", "skin"]
RULE = TopicModel(
    topic_word=np.array([[0.3, 0.3, 0.01, 0.01, 0.3, 0.08], [0.01, 0.01, 0.3, 0.3, 0.08, 0.3]]),
    topic_share=np.ones(2) / 2,
    vocabulary=Vocabulary.of(WORDS),
    alpha=0.1,
)
MECHANISMS = ["embedded", "mixture", "variational", "spectral"]


def counted(texts, authors=None, **bounds):
    """Exact sizes under the rule."""
    corpus = Corpus.from_texts(texts, authors=authors).bounded(**bounds).limited(vocabulary=Vocabulary.of(WORDS))
    grid = grid_for(1.0, 1.0)
    return corpus.bounded_sum(_Assigned(RULE), bound=1.0, grid=grid)[:, 0] * grid


def test_an_author_counts_once_shared_out_over_their_texts():
    texts = ["knee bone", "cast bone", "skin itch", "cream", "nothing known", "itch itch"]
    np.testing.assert_allclose(counted(texts), [2, 3, 1], atol=1e-5)
    authors = ["a", "a", "a", "a", "b", "c"]
    np.testing.assert_allclose(counted(texts, authors), [0.5, 1.5, 1], atol=1e-5)
    # However many documents: one author moves the sizes by one in all.
    many = counted(["knee"] * 400 + ["skin"] * 300 + ["cream"], ["a"] * 700 + ["b"], unit="author")
    np.testing.assert_allclose(many, [4 / 7, 3 / 7 + 1, 0], atol=1e-4)


def test_the_rule_is_that_of_the_released_model():
    texts = ["knee bone", "skin", "", "cream itch knee", "unknown"]
    assert RULE.assign(texts).tolist() == [0, 1, -1, 1, -1]
    assert RULE.transform(texts).argmax(axis=1).tolist()[:2] == [0, 1]
    exact = counted(texts)
    placed = RULE.assign(texts)
    assert exact.round(4).tolist() == [*np.bincount(placed[placed >= 0], minlength=2), np.count_nonzero(placed < 0)]


@pytest.fixture(scope="module")
def messages():
    return demo_corpus().texts[:1500]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_intervals_hold_what_the_released_model_says(mechanism, messages):
    """Six releases of each mechanism: with seeds that the test's name decides, so it holds or fails for everybody."""
    words = Vocabulary.public(sorted({w for text in messages for w in text.lower().split() if w.isalpha()})[::2])
    corpus, z = Corpus.from_texts(messages), []
    for _ in range(6):
        asked = {"n_topics": 5, "mechanism": mechanism, "epsilon": 2.0, "delta": 1e-5, "unit": "document"}
        fitted = PrivateTopics(vocabulary=words, **asked).fit(corpus)
        sizes, topic = fitted.topic_sizes_, fitted.model_.assign(messages)
        true = [*np.bincount(topic[topic >= 0], minlength=fitted.n_topics_), np.count_nonzero(topic < 0)]
        z.append((sizes.noisy - true) / sizes.noise)
    found = np.concatenate(z)
    assert np.mean(abs(found) < 1.96) > 0.8
    assert 0.4 < np.mean(found**2) < 2.2


def test_terminal_page_files_and_python_say_the_same(tmp_path, messages):
    fitted = PrivateTopics(n_topics=4, epsilon=3.0, delta=1e-5, unit="document", mechanism="mixture").fit(messages)
    folder = fitted.save(tmp_path / "release")
    sizes, model = fitted.topic_sizes_, TopicModel.load(folder)
    np.testing.assert_array_equal(model.sizes.noisy, sizes.noisy)
    run = CliRunner().invoke
    terminal = run(app, ["show", str(folder)], terminal_width=200).output
    plain = json.loads(run(app, ["show", str(folder), "--json"]).output)
    page = fitted.report(tmp_path / "page.html").read_text("utf-8")
    rows = (folder / "sizes.csv").read_text("utf-8").splitlines()
    assert rows[0] == "topic,documents,low,high"
    assert sizes.note in page
    assert sizes.note in (folder / "README.txt").read_text("utf-8")
    for k in range(model.n_topics):
        found = sizes.estimate(k)
        of = sizes.of(k)
        assert of in terminal
        assert f"<b>{of.split()[0]}</b> <span>{of.partition(' ')[2]}</span>" in page
        assert rows[k + 1] == f"{k},{found.value:.1f},{floor(found.low)},{ceil(found.high)}"
        assert plain["topics"][k]["size"] == pytest.approx(sizes.estimate(k)._asdict())
    assert rows[-1].startswith("none,")
    assert plain["sizes"]["note"] == sizes.note
    assert plain["sizes"]["none"]["value"] == pytest.approx(sizes.noisy[-1])
    # Files are as measured, so that sums stay right: pages and terminals show nothing below zero.
    below = replace(model, sizes=replace(sizes, noisy=np.where(np.arange(sizes.noisy.size) == 1, -90.0, sizes.noisy)))
    assert "1,-90.0,-" in below.tables()["sizes.csv"]
    assert below.sizes.of(1).startswith("0 (0 to ")
    assert below.sizes.of(1) != "0 (0 to 0)"
    assert "Share" not in terminal


def test_topics_are_not_numbered_by_their_counts():
    """The one that is counted largest is so by its noise too: the interval of topic 0 would hold far less often."""
    n_topics, each, inside = 12, 40, 0
    words = [f"word{chr(97 + k)}" for k in range(n_topics)]
    model = TopicModel(
        topic_word=np.full((n_topics, n_topics), 0.01) + np.eye(n_topics) * 0.88,
        topic_share=np.full(n_topics, 1 / n_topics), vocabulary=Vocabulary.of(words), alpha=0.1,
    )  # fmt: skip
    corpus = Corpus.from_texts([word for word in words for _ in range(each)])
    bounded = corpus.bounded().limited(vocabulary=model.vocabulary)
    for seed in range(60):
        found = sized(model, bounded, sigma=20.0, rng=np.random.default_rng(seed)).sizes.estimate(0)
        inside += found.low <= each <= found.high
    assert inside >= 52  # of 60 at 95 %; numbered by the counts, 74 % would be inside


@pytest.mark.parametrize("rows", [1, 3])
def test_a_text_with_known_words_has_a_topic_even_if_all_are_alike(rows):
    model = TopicModel(
        topic_word=np.full((rows, 6), 1 / 6), topic_share=np.full(rows, 1 / rows), vocabulary=Vocabulary.of(WORDS),
        alpha=0.1,
    )  # fmt: skip
    assert model.assign(["knee", "unknown", "", "skin itch"]).tolist() == [0, -1, -1, 0]


def test_one_joined_topic_holds_every_text(messages):
    fitted = PrivateTopics(n_topics=4, epsilon=3.0, delta=1e-5, unit="document").fit(messages)
    one = fitted.release_.merged(1).value
    assert np.mean(one.assign(messages[:200]) == 0) > 0.98


def test_shares_of_all_units():
    sizes = TopicSizes(noisy=np.array([60.0, 30.0, 10.0]), noise=np.full(3, 1e-9), unit="author")
    assert [round(float(x), 6) for x in sizes.share(0)] == [0.6, 0.6, 0.6]
    lost = TopicSizes(noisy=np.array([6.0, -3.0, 1.0]), noise=np.full(3, 40.0), unit="author")
    assert lost.share(0) is None
    assert lost.of(1) == "0 (0 to 76)"
    assert 0 <= TopicSizes(noisy=np.array([50.0, -10.0]), noise=np.full(2, 2.0), unit="author").share(0).value <= 1
    # Coverage of the ratio's interval, by simulation.
    rng, true = np.random.default_rng(0), np.array([300.0, 80.0, 20.0])
    inside = 0
    for _ in range(4000):
        share = TopicSizes(noisy=true + rng.normal(0, 15, 3), noise=np.full(3, 15.0), unit="author").share(0)
        inside += share.low <= 0.75 <= share.high
    assert inside / 4000 == pytest.approx(0.95, abs=0.012)


def test_joined_topics_have_the_sum_of_their_sizes(messages):
    fitted = PrivateTopics(n_topics=4, epsilon=3.0, delta=1e-5, unit="document", mechanism="mixture").fit(messages)
    joined = fitted.release_.merged(2).value.sizes
    assert joined.noisy.sum() == pytest.approx(fitted.topic_sizes_.noisy.sum())
    assert (joined.noise**2).sum() == pytest.approx((fitted.topic_sizes_.noise**2).sum())


@pytest.mark.parametrize("n", [0, 1, 300])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_noise_is_not_shown_as_words(mechanism, n, messages):
    """Of nobody, of one and of few: at ε = 1 nothing can stand above the noise but a word or two by chance."""
    words = Vocabulary.public(sorted({w for text in messages for w in text.lower().split() if w.isalpha()})[::4])
    shown = 0
    for _ in range(4):
        fitted = PrivateTopics(
            n_topics=5, mechanism=mechanism, epsilon=1.0, delta=1e-6, unit="document", vocabulary=words
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            shown += sum(map(len, fitted.fit(Corpus.from_texts(messages[:n])).top_words(300)))
    assert shown <= (8 if n < 300 else 24)


def test_sizes_can_be_left_out_and_old_bundles_are_read(tmp_path):
    plan = Plan.topics(mechanism="mixture", epsilon=1.0, delta=1e-6, n_topics=3, size_share=0.0, unit=Unit.DOCUMENT)
    assert plan.build().guarantee.epsilon == pytest.approx(1.0)
    with pytest.raises(InputError, match="size_share must be at least 0 and below 1"):
        MixtureTopics(n_topics=3, sigma=1.0, delta=1e-6, size_share=1.0)
    asked = {"n_topics": 2, "epsilon": 3.0, "delta": 1e-5, "unit": "document", "vocabulary": Vocabulary.of(WORDS)}
    fitted = PrivateTopics(mechanism="mixture", settings={"size_share": 0.0}, **asked)
    fitted.fit(["knee bone", "skin itch"] * 20)
    assert fitted.topic_sizes_ is None
    again = bundle.load(fitted.save(tmp_path / "without")).value
    assert again.sizes is None
    assert "Authors" not in fitted.report(tmp_path / "page.html").read_text("utf-8").split('id="guarantee"')[0]
    assert replace(again, sizes=None).tables().keys() == {"topics.csv"}
