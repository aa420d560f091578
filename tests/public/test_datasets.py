import hashlib
import re
from collections import Counter, defaultdict

import numpy as np
import pytest

from dptopics.public.demo import DemoTexts, demo_corpus

GOLDEN = "8b82c7a676c241739c35c16012f1dbd2a3eae9a8ebae2b1dc4cdd58560334f5e"


@pytest.fixture(scope="module")
def demo() -> DemoTexts:
    return demo_corpus()


@pytest.fixture(scope="module")
def messages_by_rare_word(demo: DemoTexts) -> dict[str, list[int]]:
    found = defaultdict(list)
    for i, text in enumerate(demo.texts):
        for word in demo.rare_words.intersection(re.findall(r"\w+", text.lower())):
            found[word].append(i)
    return found


def digest(demo: DemoTexts) -> str:
    return hashlib.sha256("\n".join(demo.texts + demo.authors + demo.themes).encode()).hexdigest()


def test_the_corpus_has_the_stated_size(demo):
    assert len(demo.texts) == len(demo.authors) == len(demo.themes)
    assert 19_000 < len(demo.texts) < 21_000
    assert len(set(demo.authors)) == 8_000
    assert all(re.fullmatch(r"patient-\d{5}", author) for author in demo.authors)


def test_the_same_seed_writes_the_same_messages(demo):
    assert digest(demo) == GOLDEN
    assert demo_corpus(seed=7) == demo


def test_another_seed_writes_other_messages(demo):
    other = demo_corpus(seed=8)
    assert digest(other) != GOLDEN
    assert other.rare_words == demo.rare_words


def test_activity_is_uneven(demo):
    counts = np.sort(list(Counter(demo.authors).values()))[::-1]
    assert np.median(counts) <= 2
    assert counts[0] >= 100
    assert counts[: len(counts) // 100].sum() > 0.08 * counts.sum()


def test_ten_themes_none_of_them_small(demo):
    counts = Counter(demo.themes)
    assert len(counts) == 10
    assert min(counts.values()) > 0.04 * len(demo.themes)


def test_authors_keep_to_one_to_three_themes(demo):
    themes = defaultdict(set)
    for author, theme in zip(demo.authors, demo.themes, strict=True):
        themes[author].add(theme)
    assert {len(own) for own in themes.values()} == {1, 2, 3}


def test_messages_are_short_and_every_slot_is_filled(demo):
    words = np.array([len(text.split()) for text in demo.texts])
    assert words.min() >= 10
    assert words.max() <= 75
    assert np.mean((words >= 15) & (words <= 60)) > 0.98
    assert not any(mark in text for text in demo.texts for mark in "{|}")


def test_messages_hardly_repeat(demo):
    assert len(set(demo.texts)) > 0.99 * len(demo.texts)


def test_a_rare_word_survives_a_tokeniser_whole(demo):
    assert len(demo.rare_words) == 40
    assert all(re.fullmatch(r"[a-z][a-z0-9]{2,14}", word) for word in demo.rare_words)


def test_a_rare_word_belongs_to_exactly_one_author(demo, messages_by_rare_word):
    assert set(messages_by_rare_word) == demo.rare_words
    for messages in messages_by_rare_word.values():
        assert len({demo.authors[i] for i in messages}) == 1


def test_some_rare_words_pass_a_frequency_cut(messages_by_rare_word):
    uses = [len(messages) for messages in messages_by_rare_word.values()]
    assert sum(n >= 5 for n in uses) >= 10
    assert min(uses) < 5
    assert max(uses) <= 40


def test_each_theme_has_words_of_its_own(demo):
    """A word is a theme's own if most messages with it are on that theme."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for text, theme in zip(demo.texts, demo.themes, strict=True):
        for word in set(re.findall(r"[a-z]{3,}", text.lower())):
            seen[word][theme] += 1
    own = Counter(
        counts.most_common(1)[0][0]
        for counts in seen.values()
        if counts.total() >= 20 and counts.most_common(1)[0][1] > 0.6 * counts.total()
    )
    assert min(own.values()) >= 60
    assert len(own) == 10
