"""The tree of topics: like topics are joined first, and fewer topics cost nothing."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dptopics import TopicModel, Vocabulary
from dptopics.core.errors import BundleError, InputError
from dptopics.privacy.guarantee import Guarantee, Strength, Unit
from dptopics.release import bundle
from dptopics.release.release import Release
from dptopics.release.topic_sizes import DocumentSpace
from dptopics.release.tree import merged, tree_of

WORDS = Vocabulary.of(["asthma", "cough", "cream", "inhaler", "rash", "skin"])
# 0 and 2 are about breath, 1 and 3 about skin.
MODEL = TopicModel(
    topic_word=np.array(
        [
            [0.5, 0.3, 0.0, 0.2, 0.0, 0.0],
            [0.0, 0.0, 0.2, 0.0, 0.3, 0.5],
            [0.3, 0.4, 0.0, 0.3, 0.0, 0.0],
            [0.0, 0.0, 0.4, 0.1, 0.2, 0.3],
        ]
    ),
    topic_share=np.array([0.4, 0.3, 0.2, 0.1]),
    vocabulary=WORDS,
    alpha=0.1,
    noise_std=np.array([0.01, 0.02, 0.03, 0.04]),
)
PROMISE = Guarantee(events=(), delta=0.0, unit=Unit.AUTHOR, strength=Strength.PROVED)
RELEASE = Release(value=MODEL, guarantee=PROMISE, settings={"mechanism": "mixture"})


def test_like_topics_are_joined_first():
    tree = RELEASE.tree()
    assert tree.groups(2).tolist() == [0, 1, 0, 1]
    assert tree.groups(4).tolist() == [0, 1, 2, 3]
    assert tree.groups(1).tolist() == [0, 0, 0, 0]
    assert (np.diff(tree.heights) >= 0).all()
    told = str(tree)
    assert [word in told for word in WORDS.words] == [True] * 6
    assert sorted(line.count(": ") for line in told.splitlines()) == [0, 0, 0, 1, 1, 1, 1]
    leaves = json.dumps(tree.to_dict())
    assert all(f'"topic": {k}' in leaves for k in range(4))


def test_merged_topics_are_means_by_share():
    two = merged(MODEL, 2)
    assert two.topic_share.tolist() == pytest.approx([0.6, 0.4])
    assert two.topic_word[0] == pytest.approx((0.4 * MODEL.topic_word[0] + 0.2 * MODEL.topic_word[2]) / 0.6)
    assert two.topic_word.sum(axis=1) == pytest.approx([1, 1])
    assert two.noise_std[0] == pytest.approx(np.hypot(0.4 * 0.01, 0.2 * 0.03) / 0.6)
    same = merged(MODEL, 4)
    assert same.topic_word == pytest.approx(MODEL.topic_word)
    shares = two.transform(["asthma asthma cough", "rash on the skin"])
    assert shares.argmax(axis=1).tolist() == [0, 1]


def test_centres_are_used_where_there_are_any():
    centres = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    plain = {"mean": np.zeros(2), "projection": np.eye(2), "middle": np.zeros(2)}
    model = replace(MODEL, space=DocumentSpace(embedding="letters", of_words=False, centres=centres, **plain))
    assert tree_of(model).groups(2).tolist() == [0, 0, 1, 1]
    assert np.linalg.norm(merged(model, 2).space.centres, axis=1) == pytest.approx([1, 1])


def test_a_merged_release_keeps_its_guarantee_and_is_saved(tmp_path):
    two = RELEASE.merged(2)
    assert two.guarantee == RELEASE.guarantee
    assert two.settings["merged_to"] == 2
    bundle.save(two, tmp_path / "two")
    assert bundle.load(tmp_path / "two").value.n_topics == 2


def test_what_cannot_be_joined():
    with pytest.raises(InputError, match="1 to 4 groups, got 5"):
        RELEASE.merged(5)
    with pytest.raises(BundleError, match="contains words, not topics"):
        Release(value=WORDS, guarantee=PROMISE, settings={}).tree()
    one = merged(MODEL, 1)
    assert str(tree_of(one)).startswith("0: ")
