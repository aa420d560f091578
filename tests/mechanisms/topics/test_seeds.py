"""Seed words: wanted topics are looked for, and what is shown still comes from the data."""

import json

import numpy as np
import pytest

from dptopics import Corpus, InputError, Plan, PrivateTopics, TopicModel, Vocabulary
from dptopics.cli import main
from dptopics.mechanisms.topics.gaussian import LEAN, checked_seeds, leaning, seed_shares
from dptopics.plan import read_plan
from dptopics.public.demo import demo_corpus
from dptopics.public.word_lists import read_seed_words
from dptopics.release import bundle

SEEDS = (("rash", "skin", "itching"), ("insulin", "glucose", "sugar"))


@pytest.fixture(scope="module")
def corpus():
    demo = demo_corpus()
    return Corpus.from_texts(demo.texts[:6000], demo.authors[:6000])


def seeded(corpus, mechanism, seeds=SEEDS, n_topics=6):
    vocabulary = "common+weighted" if mechanism == "embedded" else "weighted"
    model = PrivateTopics(
        n_topics, epsilon=8.0, mechanism=mechanism, vocabulary=vocabulary, settings={"seed_words": seeds}
    )
    return model.fit(corpus)


@pytest.mark.parametrize("mechanism", ["embedded", "mixture"])
def test_each_seed_finds_its_topic(corpus, mechanism, tmp_path):
    model = seeded(corpus, mechanism).model_
    assert {0, 1} <= set(model.seeds.tolist())
    for seed, expected in enumerate(({"skin", "rash", "cream", "itching", "eczema"}, {"insulin", "glucose", "sugar"})):
        topic = model.seeds.tolist().index(seed)
        assert expected & set(model.top_words(10)[topic]), model.top_words(10)
    bundle.save(seeded(corpus, mechanism).release_, tmp_path / "release")
    loaded = TopicModel.load(tmp_path / "release")
    assert loaded.seeds.shape == loaded.topic_share.shape


@pytest.mark.parametrize("mechanism", ["embedded", "mixture", "variational"])
def test_words_that_nobody_writes_are_never_shown(corpus, mechanism):
    """Seeds are no evidence: a seed that nothing in the data answers shows none of its words."""
    wanted = (("galaxy", "telescope", "planet"),)
    model = seeded(corpus, mechanism, seeds=wanted).model_
    assert not {"galaxy", "telescope", "planet"} & {word for row in model.top_words(20) for word in row}


def test_the_price_is_the_same_with_seeds():
    plans = [
        Plan.topics(mechanism="mixture", n_topics=6, epsilon=1.0, delta=1e-6, unit="author", **settings)
        for settings in ({}, {"seed_words": SEEDS})
    ]
    assert plans[0].build().guarantee == plans[1].build().guarantee
    again = Plan.from_dict(json.loads(json.dumps(plans[1].to_dict())))
    assert again == plans[1]
    assert again.build().topics.seed_words == SEEDS


def test_only_the_first_topics_lean():
    words = Vocabulary.of(["a", "b", "c", "d"])
    topics = np.full((4, 3), 0.25)
    led = leaning(topics, seed_shares((("a",), ("z",)), words))
    assert led[0, 0] == pytest.approx(0.25 * (1 - LEAN) + LEAN)
    np.testing.assert_array_equal(led[:, 1:], topics[:, 1:])  # a seed without a known word does nothing
    np.testing.assert_allclose(led.sum(axis=0), 1)


@pytest.mark.parametrize(
    "seeds, message",
    [
        ("rash skin", "list of lists"),
        (["rash skin"], "at least one word"),
        ([[]], "at least one word"),
        ([[""]], "at least one word"),
        ([["a"], ["b"], ["c"]], "for 3 topics, but only 2"),
    ],
)
def test_bad_seeds(seeds, message):
    with pytest.raises(InputError, match=message):
        checked_seeds(seeds, 2)


def test_seeds_of_a_mechanism_that_takes_none():
    with pytest.raises(InputError, match="no setting seed_words"):
        Plan.topics(mechanism="spectral", n_topics=2, epsilon=1.0, delta=1e-6, unit="author", seed_words=SEEDS).build()


def test_a_file_of_seeds(tmp_path, monkeypatch, capsys):
    (tmp_path / "seeds.txt").write_text("rash, skin  Itching\n\ninsulin glucose\n")
    assert read_seed_words(tmp_path / "seeds.txt") == (("rash", "skin", "itching"), ("insulin", "glucose"))
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(InputError, match="empty"):
        read_seed_words(tmp_path / "empty.txt")
    monkeypatch.chdir(tmp_path)
    demo = demo_corpus()
    rows = "".join(f'"{t}",{a}\n' for t, a in zip(demo.texts[:3000], demo.authors[:3000], strict=True))
    (tmp_path / "notes.csv").write_text("note,patient\n" + rows)
    words = "fit notes.csv --text note --author patient --topics 4 --epsilon 8 --delta 1e-6 --mechanism mixture"
    monkeypatch.setattr("sys.argv", ["dptopics", *words.split(), "--seed-words", "seeds.txt", "--out", "release"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    assert "(seed 1)" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["dptopics", *words.split(), "--seed-words", "notes.csv", "--out", "other"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert "is the private table itself" in capsys.readouterr().err
    (tmp_path / "plan.json").write_text(json.dumps(bundle.load("release").record.plan))
    assert read_plan(tmp_path / "plan.json").settings["seed_words"] == (
        ("rash", "skin", "itching"),
        ("insulin", "glucose"),
    )
