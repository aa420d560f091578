"""Shadows trained once serve against models trained elsewhere, for documents that they never saw."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dptopics.audit.membership.models import of_learner
from dptopics.audit.membership.rates import halves, train_shadows
from dptopics.audit.membership.scores import Attack, Moments, in_turn, rate
from dptopics.audit.membership.target_attack import attack_target, calibrated, read_shadows, read_target
from dptopics.core.errors import InputError
from dptopics.data.corpus import Corpus
from dptopics.learners.lda import GibbsLda

LEARNER = GibbsLda(n_topics=4, sweeps=15)
WORDS = [f"w{i:03d}" for i in range(400)]
KNOWN, NEW = 120, 80


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """Shadows over the first documents; a target that had half of those, and half of the new ones."""
    rng = np.random.default_rng(0)
    rows = np.stack([rng.multinomial(25, rng.dirichlet(np.full(400, 0.05))) for _ in range(KNOWN + NEW)])
    everything = Corpus.from_counts(rows, WORDS)
    old = Corpus.from_counts(rows[:KNOWN], WORDS)
    folder = tmp_path_factory.mktemp("shadows")
    counts = old.counts()
    train_shadows(of_learner(LEARNER, counts), counts, n_shadows=32, folder=folder, words=old.words)
    member = rng.random(KNOWN + NEW) < 0.5
    topics = of_learner(LEARNER, everything.counts())(np.flatnonzero(member), 99)
    return folder, everything, member, topics


def test_old_documents_online_and_new_ones_offline(case):
    folder, corpus, member, topics = case
    found = attack_target(read_shadows(folder), topics, corpus.words, corpus)
    np.testing.assert_array_equal(found.known, np.arange(KNOWN + NEW) < KNOWN)
    old, new = slice(None, KNOWN), slice(KNOWN, None)
    assert Attack("old", found.online[old], member[old]).area() > 0.8
    assert Attack("old", found.offline[old], member[old]).area() > 0.8
    assert Attack("new", found.offline[new], member[new]).area() > 0.8


def test_documents_are_called_new_only_where_they_are(case):
    """A document that occurs in both halves of the data is in every shadow: no online attack, and yet not new."""
    folder, corpus, _, topics = case
    shadows = read_shadows(folder)
    found = attack_target(shadows, topics, corpus.words, corpus)
    assert found.n_new == NEW
    assert (
        f"Both attacks are made on {KNOWN} of them; {NEW} were new to the shadows: only the offline" in found.verdict()
    )
    member = shadows.member.copy()
    member[:, :3] = True
    found = attack_target(replace(shadows, member=member), topics, corpus.words, corpus)
    assert f"on {KNOWN - 3} of them; {NEW} were new to the shadows and 3 were in nearly all" in found.verdict()
    assert sorted(row["row"] for row in found.rows()) == list(range(1, KNOWN + NEW + 1))  # as in messages


def test_chances_are_what_they_say(case):
    """Of outsiders, at most a share p has a chance of p or less, and of members many more."""
    folder, corpus, _, _ = case
    shadows = read_shadows(folder)
    chance, of_members = [], []
    for seed in range(10):
        member = np.zeros(KNOWN + NEW, bool)
        member[np.random.default_rng(1000 + seed).permutation(KNOWN)[: KNOWN // 2]] = True  # trained as shadows are
        topics = of_learner(LEARNER, corpus.counts())(np.flatnonzero(member), 500 + seed)
        found = attack_target(shadows, topics, corpus.words, corpus)
        chance.append(found.chance[~member])
        of_members.append(found.chance[member])
    chance, of_members = np.concatenate(chance), np.concatenate(of_members)
    for most in (0.01, 0.05, 0.1):
        # 1,400 outsiders of 10 models: the share has a standard deviation of at most 0.8 % by chance.
        assert np.mean(chance <= most) <= most + 0.015
    assert np.mean(of_members <= 0.01) > 0.3


def test_chances_hold_where_scores_are_far_from_normal():
    rng = np.random.default_rng(5)
    said, seen = rng.standard_t(3, (16, 400, 1)), halves(400, 16, key=1)
    moments = Moments.of(said, seen)
    nulls = in_turn(said, seen, moments, len(said), online=False)
    scores = [rate(rng.standard_t(3, (400, 1)), moments, online=False) for _ in range(30)]
    honest = np.mean([calibrated(score, nulls, seen) <= 0.001 for score in scores])
    normal = np.mean([np.exp(-score) <= 0.001 for score in scores])
    assert honest <= 0.0025  # 12,000 outsiders: 0.001 with a standard deviation of 0.0003
    assert normal > 0.005  # the control: tails of a normal accuse five times as many as they say


def test_conformal_chances_by_hand():
    seen = np.array([[True, False, False], [False, True, False]])
    shadow_scores = np.array([[9.0, 1.0, 5.0], [3.0, 9.0, 7.0]])
    # Outsiders: 1 and 3 of documents that shadows had, 5 and 7 of the new one.
    np.testing.assert_allclose(calibrated(np.array([2.0, 4.0, 6.0]), shadow_scores, seen), [2 / 3, 1 / 3, 2 / 3])


def test_words_are_matched_by_name(case):
    folder, corpus, _, topics = case
    order = np.random.default_rng(1).permutation(400)
    found = attack_target(read_shadows(folder), topics, corpus.words, corpus)
    again = attack_target(read_shadows(folder), topics[:, order], [corpus.words[i] for i in order], corpus)
    np.testing.assert_allclose(again.offline, found.offline, rtol=1e-3, atol=1e-3)


def test_a_model_of_another_vocabulary(case):
    """Only shared words count: a model that knows half of the words is not taken for one that saw nothing."""
    folder, corpus, member, topics = case
    words = [*corpus.words[:300], "of", "its", "own"]
    other = np.concatenate([topics[:, :300], np.full((4, 3), 0.1)], axis=1)
    found = attack_target(read_shadows(folder), other, words, corpus)
    assert found.shared_words == 300
    assert np.all(np.isfinite(found.offline))
    assert Attack("all", found.offline, member).area() > 0.7
    assert np.median(found.offline[~member]) < 3


def test_a_copy_in_the_shadows_counts_as_the_document(case):
    folder, corpus, _, _ = case
    shadows = read_shadows(folder)
    seen = shadows.seen(np.concatenate([corpus.content_key[:2], corpus.content_key[:1], [np.uint64(5)]]))
    np.testing.assert_array_equal(seen[:, 0], shadows.member[:, 0])
    np.testing.assert_array_equal(seen[:, 2], shadows.member[:, 0])
    assert not seen[:, 3].any()


def test_what_is_written(case, tmp_path):
    folder, corpus, _, topics = case
    found = attack_target(read_shadows(folder), topics, corpus.words, corpus)
    found.save(tmp_path / "out")
    data = json.loads((tmp_path / "out" / "audit.json").read_text())
    assert data["not_for_release"] is True
    assert "w0" not in json.dumps(data)
    lines = (tmp_path / "out" / "documents.csv").read_text().splitlines()
    assert len(lines) == 1 + KNOWN + NEW
    chances = [float(line.split(",")[1]) for line in lines[1:]]
    assert chances == sorted(chances)


def test_what_cannot_be_attacked(case, tmp_path):
    folder, corpus, _, topics = case
    shadows = read_shadows(folder)
    for wrong, words, message in [
        (topics[:2], corpus.words, "2 topics and the shadows have 4"),
        (topics, [f"x{w}" for w in corpus.words], "shares no word"),
        (topics[:, :10], corpus.words, "topics × 400 words"),
        (-topics, corpus.words, "not negative"),
        (topics, [corpus.words[0]] * 400, "distinct"),
    ]:
        with pytest.raises(InputError, match=message):
            attack_target(shadows, wrong, words, corpus)
    with pytest.raises(InputError, match="contains no shadows"):
        read_shadows(tmp_path)
    for name in ("corpus.npz", "shadow-0000.npz"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    with pytest.raises(InputError, match="31 of 32 shadows are missing"):
        read_shadows(tmp_path)
    with pytest.raises(InputError, match="is not a topic model"):
        read_target(folder / "corpus.npz")
    with pytest.raises(InputError, match="is not a topic model"):
        read_target(tmp_path / "nowhere.npz")
    np.savez(tmp_path / "model.npz", topic_word=topics, words=np.array(corpus.words))
    found, words = read_target(tmp_path / "model.npz")
    np.testing.assert_array_equal(found, topics)
    assert words == list(corpus.words)
