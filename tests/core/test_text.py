"""One document becomes words: the same words however its letters were encoded."""

import json
import sys
import time
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dptopics.core import text as text_module
from dptopics.core.errors import InputError
from dptopics.core.text import TextSettings, stop_words

EVERY_WORD = TextSettings(language="none")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Café CAFÉ cafe\u0301", ["café", "café", "café"]),
        ("q\u0307a\u0323b x\u0302yz", ["q\u0307ạb", "x\u0302yz"]),  # marks with no composed form stay inside the word
        ("हिन्दी में लिखा", ["हिन्दी", "में", "लिखा"]),  # vowel signs and virama are marks, not gaps
        ("ＦＵＬＬ ｗｉｄｔｈ ﬁnance", ["full", "width", "finance"]),
        ("كتاب ١٢٣", ["كتاب"]),
        ("J45.901, covid19; 3rd 2b3abc 2024", ["j45", "covid19", "b3abc"]),  # a word starts with a letter
        ("don't o'clock rock'n'roll", ["don", "clock", "rock", "roll"]),
        ("Zoë’s l’école", ["zoë", "école"]),
        ("snake_case e-mail a/b/cde", ["snake", "case", "mail", "cde"]),
        ("Straße ſharp", ["straße", "sharp"]),
        ("tab\tline\nfeed\x00nul\u2028sep", ["tab", "line", "feed", "nul", "sep"]),
        ("knee knee Knee", ["knee", "knee", "knee"]),
        ("\ud800knee\udfff", ["knee"]),  # a lone surrogate, as broken JSON gives
        ("", []),
        ("12 !? … 🙂", []),
    ],
)
def test_words(text, words):
    assert EVERY_WORD.words(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("see https://t.co/aBcD3f?x=1#top, knee pain", ["see", "knee", "pain"]),
        ("HTTP://EXAMPLE.ORG/Knee\tpain", ["pain"]),
        ("painhttp://t.co/knee", ["pain"]),  # tweets are often glued together
        ("(www.example.org/knee) awww.pain WWW.KNEE.ORG", ["awww", "pain"]),
        ("ask ann.lee+knee@mail.example.org or bob@example.com.", ["ask"]),
        ("ann@b.cc,ben@d.ee;knee@home pain@ @user", ["knee", "home", "pain", "user"]),  # no address, or a mention
        ('<a href="http://t.co/x">knee</a>', ["href", "knee"]),
        ("膝http://t.co/knee痛み", ["膝", "痛み"]),  # no blank follows a link there
        ("ｈｔｔｐ：／／ｔ．ｃｏ knee", ["knee"]),
        ("http:// www. @ knee", ["http", "www", "knee"]),
    ],
)
def test_links_are_no_words(text, words):
    assert [w for w in TextSettings(language="none", min_length=1).words(text) if len(w) > 2 or w in words] == words


def by_blanks(text):
    return text.split()


def test_links_count_if_asked_for():
    text = "knee pain: http://t.co/knee ann@example.org"
    assert TextSettings(links=True).words(text) == ["knee", "pain", "http", "knee", "ann", "example", "org"]
    assert TextSettings.for_ngrams(2).words("at http://t.co") == ["<s> at", "at http", "http t", "t co", "co </s>"]
    assert TextSettings(phrases=2).words("knee http://t.co pain") == ["knee", "pain"]  # no phrase across a link
    assert TextSettings(tokenizer=by_blanks).words("knee http://t.co") == ["knee", "http://t.co"]  # your own function


def test_stop_words_of_ones_own():
    settings = TextSettings(stop_words=["USAirways", "knee-pain", "\uff47\uff41\uff54\uff45", "usairways", "3"])
    assert settings.stop_words == ("gate", "knee", "pain", "usairways")  # as texts are written and split
    assert settings.words("The @usairways gate: knee surgery, knees, pains") == ["surgery", "knees", "pains"]
    assert TextSettings(stop_words=("knee",), phrases=2).words("new knee surgery today") == ["new", "surgery", "today",
        "surgery today"]  # fmt: skip
    assert TextSettings(stop_words=("knee",), lemmas=True).words("knees and glasses") == ["glass"]  # its forms too
    own = TextSettings(stop_words=("m17.1",), tokenizer=by_blanks, min_length=1)
    assert own.words("M17.1 knee") == ["knee"]
    assert TextSettings(language="none", stop_words=("don't",), ngrams=2).words("I don't know") == [
        "<s> know",
        "know </s>",
    ]


def test_stop_words_of_ones_own_are_saved():
    settings = TextSettings(stop_words=("knee", "gate"))
    assert settings.to_dict()["stop_words"] == ["gate", "knee"]
    assert TextSettings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings
    assert hash(settings) != hash(TextSettings())
    assert "stop_words" not in TextSettings().to_dict()  # as releases said before there were any
    assert TextSettings.from_dict(TextSettings().to_dict()).stop_words == ()


@pytest.mark.parametrize("wrong", ["knee", 3, [3], None, {"knee": 1}])
def test_stop_words_are_a_list(wrong):
    with pytest.raises(InputError, match="stop_words must be a list of words"):
        TextSettings(stop_words=wrong)


def test_settings_saved_before_links_were_left_out_keep_them():
    old = TextSettings().to_dict()
    del old["links"]
    assert TextSettings.from_dict(old) == TextSettings(links=True)
    assert TextSettings.from_dict(TextSettings().to_dict()) == TextSettings()


def test_long_runs_do_not_take_long():
    """Every search begins where a run of signs begins, once."""
    start = time.perf_counter()
    for part in ("a", "a.", "a@", "www.", "http://", "a@b."):
        TextSettings().plain(part * 10**6 + "@")
    assert time.perf_counter() - start < 10


@given(st.text())
def test_encoding_form_of_letters_does_not_matter(text):
    composed, decomposed = (EVERY_WORD.words(normalize(form, text)) for form in ("NFC", "NFD"))
    assert composed == decomposed


@given(st.text())
def test_a_word_is_one_line_of_the_right_length(text):
    low, high = EVERY_WORD.lengths
    for word in EVERY_WORD.words(text):
        assert low <= len(word) <= high
        assert word.splitlines() == [word]
        assert word == word.strip()


def test_lengths_are_inclusive():
    text = " ".join("abcdefghijklmnopqrst"[:n] for n in range(1, 21))
    assert [len(w) for w in TextSettings().words(text)] == list(range(3, 16))
    assert [len(w) for w in TextSettings(language="none", min_length=1, max_length=2).words(text)] == [1, 2]


@pytest.mark.parametrize(("low", "high"), [(0, 3), (4, 3), (-1, 5)])
def test_impossible_lengths_are_refused(low, high):
    with pytest.raises(InputError, match=f"got {low} and {high}"):
        TextSettings(min_length=low, max_length=high)


def test_english_stop_words_are_the_default():
    assert TextSettings().words("The knee and the back were on fire") == ["knee", "back", "fire"]


@pytest.mark.parametrize(("name", "code"), [("english", "en"), ("french", "fr"), ("german", "de"), ("hindi", "hi")])
def test_a_language_has_a_name_and_a_code(name, code):
    assert stop_words(name) == stop_words(code)
    assert len(stop_words(name)) > 50


def test_stop_words_are_split_as_texts_are():
    french = TextSettings(language="fr")
    assert french.words("Les maisons avec une école, c’était ÉTÉ") == ["maisons", "école"]
    assert TextSettings().words("I didn't, you shouldn’t") == []


def test_none_keeps_every_word():
    assert stop_words("none") == frozenset()
    assert EVERY_WORD.words("the and with") == ["the", "and", "with"]


@pytest.mark.parametrize("language", ["klingon", "", "xx"])
def test_unknown_language_lists_the_known_ones(language):
    with pytest.raises(InputError, match=r"Use one of: .*german.*'none'") as caught:
        TextSettings(language=language)
    assert repr(language) in str(caught.value)


def test_lemmas():
    pytest.importorskip("simplemma")
    text = "the knees and the mice; children running"
    assert TextSettings(lemmas=True).words(text) == ["knee", "mouse", "child", "run"]
    assert TextSettings(language="en", lemmas=True).words("knees") == ["knee"]
    assert TextSettings(language="french", lemmas=True).words("chevaux blancs") == ["cheval", "blanc"]
    assert TextSettings(language="fr", lemmas=True).words("chevaux") == ["cheval"]


@pytest.mark.parametrize("language", ["none", "vietnamese"])
def test_a_language_without_lemmas_is_refused(language):
    pytest.importorskip("simplemma")
    with pytest.raises(InputError, match=f"no lemmas for language '{language}'"):
        TextSettings(language=language, lemmas=True)


def test_lemmas_without_their_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "simplemma", None)
    text_module._lemmatizer.cache_clear()
    with pytest.raises(InputError, match=r"pip install 'dptopics\[lemmas\]'"):
        TextSettings(lemmas=True)
