"""The invented sentences of seven languages: written before they were measured, and few of their words are listed."""

import pytest

from dptopics.public.atlas import shipped
from languages import WRITTEN, listed, sentences


@pytest.mark.parametrize("language", WRITTEN)
def test_sentences_are_not_made_of_the_words_of_their_themes(language):
    """At most one word a sentence, on average, is listed by the theme that it is about."""
    written = sentences(language)
    assert [len(block) for block in written.values()] == [40] * 10
    assert len({one for block in written.values() for one in block}) == 400
    own, every = listed(language)
    assert 0 < own <= 1
    assert own < every


def test_the_same_subjects_in_all_languages():
    """A theme has one number in all languages."""
    numbers = {tuple(sentences(language)) for language in WRITTEN}
    assert len(numbers) == 1
    keys = {tuple(theme.key for theme in shipped(language).themes) for language in WRITTEN}
    assert len(keys) == 1
