"""Documents that are cut together give the same words, in the same order, as each of them alone."""

import multiprocessing
import os
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dptopics import Vocabulary
from dptopics.core.names import clean_name
from dptopics.core.text import TextSettings
from dptopics.data import builder
from dptopics.data.builder import NumberedWords
from dptopics.data.corpus import Corpus

# Letters with and without case, marks, digits of several scripts, signs that NFKC takes apart, and lone surrogates.
SIGNS = "abcXYZ019 .,'’-_\n\t\0éßÉ\u0301ΣσςİıﬁⅣ…ﷺ٣\u200b\ud800膝の痛กข한글\u1100\u1161\U0001d400\x1c"
SETTINGS = {
    "all": TextSettings(language="none", min_length=1),
    "english": TextSettings(),
    "lemmas": TextSettings(lemmas=True),
    "german": TextSettings(language="german"),
    "links": TextSettings(links=True),
    "stop words": TextSettings(stop_words=("knee", "hurting", "σας")),
    "stop words and lemmas": TextSettings(stop_words=("knee", "hurt"), lemmas=True),
}


def both(texts, settings, vocabulary=None):
    together, alone = (NumberedWords(settings, vocabulary) for _ in range(2))
    tokens, lengths = together.begun(texts)()
    kept = np.split(tokens >= 0, np.cumsum(lengths)[:-1]) if lengths.size else []
    counted = np.array([one.sum() for one in kept], np.int64)
    return (tokens[tokens >= 0], counted, together.words), (*alone._one_by_one(texts), alone.words)


def equal(first, second):
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])
    assert list(first[2].items()) == list(second[2].items())  # in the order of first use as well
    assert (first[0].dtype, first[1].dtype) == (second[0].dtype, second[1].dtype)


PARTS = ["http://", "www.", "@", "knee", ".", " ", "\n", "\x1c", "a.b", "|", "é"]


@given(st.lists(st.lists(st.sampled_from(PARTS), max_size=12).map("".join), max_size=6))
def test_links(texts):
    for name in ("all", "links"):
        equal(*both(texts, SETTINGS[name]))


@given(st.lists(st.text(SIGNS, max_size=40) | st.text(max_size=20), max_size=6))
def test_signs_of_all_kinds(texts):
    equal(*both(texts, SETTINGS["all"]))


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(name):
    texts = ["The knees were hurting; Krankenversicherung!", "", "ΟΔΟΣ ΣΑΣ", "…", "knees and knee", "und die Knie"] * 3
    texts += ["at www.knee.org", "knee@b.cc", "http://", "knee"]
    equal(*both(texts, SETTINGS[name]))
    equal(*both(texts, SETTINGS[name], Vocabulary.of(["knee", "knees", "knie"])))


def test_a_word_is_its_own_documents_alone():
    """Lower case of sigma and accents look at their neighbours: never at those of another document."""
    for first, second in (("ΟΔΟΣ", "ΑΒΓ"), ("cafe", "\u0301 knee"), ("\u1100", "\u1161"), ("ab", "cd")):
        together = NumberedWords(SETTINGS["all"], None)
        together.begun([first, second])()
        assert list(together.words) == [*SETTINGS["all"].words(first), *SETTINGS["all"].words(second)]


def test_long_documents_and_the_separator_itself(monkeypatch):
    texts = ["knee pain", "new\x1cglasses", "knee"]
    equal(*both(texts, SETTINGS["english"]))
    monkeypatch.setattr(builder, "_MOST_SIGNS", 5)
    equal(*both(["knee pain", "glasses"], SETTINGS["english"]))


def test_compiled_words_are_used(monkeypatch):
    """The control: the fast way is the one that is taken."""
    monkeypatch.setattr(NumberedWords, "_one_by_one", None)
    assert Corpus.from_texts(["knee pain", "knee"]).words == ["knee", "pain"]


@dataclass(frozen=True, kw_only=True)
class LaterSettings(TextSettings):
    """A setting that this module knows nothing of."""

    pairs: bool = False

    def words(self, text):
        found = super().words(text)
        return [*found, *map("+".join, pairwise(found))] if self.pairs else found


@pytest.mark.parametrize(
    "settings", [TextSettings.for_ngrams(2), TextSettings(tokenizer="chinese"), LaterSettings(pairs=True)]
)
def test_settings_that_look_at_several_words(settings):
    texts = ["my knee hurts. Reading glasses", "膝盖很疼", "new glasses"]
    equal(*both(texts, settings))
    assert not NumberedWords(settings, None)._together


def test_every_code_point_is_what_the_expression_says():
    kinds = builder._kinds(17)
    settings = TextSettings(language="none", min_length=1)
    for code in [*range(0x3000), *range(0xA000, 0x10000, 7), *range(0x10000, 0x110000, 997)]:
        found = builder.LETTERS.match(chr(code)) is not None
        assert (kinds[code] == builder.LETTER) == found
        assert bool(settings.could_give(f"a{chr(code)}")) <= (kinds[code] != 0)


@given(st.text(SIGNS + " \u3000\u2000\u0344", max_size=12))
def test_a_clean_name_is_its_own(name):
    """Why an author who was met needs no second look."""
    assert clean_name(clean_name(name)) == clean_name(name)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # from Python 3.12 on: threads and a fork
def test_a_forked_process_has_threads_of_its_own():
    words = NumberedWords(TextSettings(), Vocabulary.of(["knee", "pain"]))

    def told():
        assert [int(count.sum()) for count in words.of_each(["knee pain"], lambda start, word, count: count)] == [2]

    told()
    child = multiprocessing.get_context("fork").Process(target=told)
    child.start()
    child.join(30)
    child.kill()
    child.join()
    assert child.exitcode == 0
