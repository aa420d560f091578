"""Texts in a dozen languages, written for these tests: words are found, none is lost, and wrong languages are told."""

import json
import pickle
import sys

import cloudpickle
import numpy as np
import owners_tokenizer
import pytest

from dptopics import Collection, Corpus, PrivateTopics, TopicModel, Vocabulary, release_ngrams
from dptopics.core import text as languages
from dptopics.core import tokenizers
from dptopics.core.errors import InputError, PrivacyWarning
from dptopics.core.text import TextSettings, stop_words
from dptopics.core.tokenizers import Tokenizer
from dptopics.data.corpus import warn_if_other_language
from dptopics.local.randomizer import BitFlips
from dptopics.plan import Plan
from dptopics.public.embeddings import common_words

# Each: messages to a practice, and words that must come out of them.
MESSAGES = {
    "english": (
        ["My knee hurts since I went running.", "I need a new prescription for my glasses.", "The rash is itching."],
        {"knee", "hurts", "running", "prescription", "glasses", "rash", "itching"},
    ),
    "german": (
        ["Die Krankenversicherung übernimmt die Behandlung nicht.", "Mein Knie schmerzt nach dem Laufen.",
         "Der Krankenversicherungsbeitrag ist zu hoch, und ich brauche eine Überweisung."],
        {"krankenversicherung", "krankenversicherungsbeitrag", "knie", "schmerzt", "überweisung", "behandlung"},
    ),
    "french": (
        ["J'ai mal au genou depuis la course à pied.", "Il me faut une ordonnance pour mes lunettes.",
         "L'éruption sur ma peau me démange encore."],
        {"genou", "course", "ordonnance", "lunettes", "éruption", "peau", "démange"},
    ),
    "spanish": (
        ["Me duele la rodilla después de correr.", "Necesito una receta nueva para mis gafas.",
         "El sarpullido en la piel todavía me pica."],
        {"duele", "rodilla", "correr", "receta", "gafas", "sarpullido", "piel"},
    ),
    "russian": (
        ["После пробежки у меня болит колено.", "Мне нужен новый рецепт на очки.",
         "Сыпь на коже всё ещё чешется, запишите меня к врачу."],
        {"колено", "болит", "рецепт", "очки", "сыпь", "коже", "врачу"},
    ),
    "arabic": (
        ["ركبتي تؤلمني بعد الجري في الحديقة.", "أحتاج إلى وصفة جديدة للنظارات.", "الطفح الجلدي ما زال يسبب الحكة."],
        {"ركبتي", "تؤلمني", "الجري", "وصفة", "للنظارات", "الطفح", "الجلدي"},
    ),
    "chinese": (
        ["跑步以后我的膝盖很疼。", "我需要预约医生，换一副新眼镜。", "皮肤上的湿疹还是很痒，请开处方。"],
        {"跑步", "膝盖", "预约", "医生", "眼镜", "皮肤", "湿疹", "处方"},
    ),
    "japanese": (
        ["走った後に膝が痛みます。来週の診察を予約したいです。", "新しい眼鏡の処方が必要です。",
         "皮膚の湿疹がまだ治りません。"],
        {"来週", "診察", "予約", "眼鏡", "処方", "皮膚", "湿疹"},
    ),
    "thai": (
        ["ฉันปวดเข่าหลังจากวิ่ง", "ต้องการนัดหมอตาเพื่อตัดแว่นตาใหม่", "ผื่นที่ผิวหนังยังคันอยู่"],
        {"ปวด", "เข่า", "วิ่ง", "แว่นตา", "ผื่น", "ผิวหนัง"},
    ),
    "korean": (
        ["달리기를 하고 나서 무릎 통증이 심합니다.", "새 안경 처방이 필요합니다.", "피부 발진이 아직 가렵습니다."],
        {"무릎", "통증이", "안경", "처방이", "피부", "발진이"},
    ),
    "turkish": (
        ["Koştuktan sonra dizim ağrıyor.", "Gözlüğüm için yeni bir reçete gerekiyor.", "Cildimdeki döküntü kaşınıyor."],
        {"dizim", "ağrıyor", "reçete", "döküntü", "kaşınıyor"},
    ),
    "finnish": (
        ["Polveni on kipeä juoksemisen jälkeen.", "Tarvitsen uuden reseptin silmälaseja varten.",
         "Terveydenhuoltojärjestelmä ei korvaa hoitoa."],
        {"polveni", "kipeä", "reseptin", "silmälaseja", "terveydenhuoltojärjestelmä"},
    ),
}  # fmt: skip
CUT = ("chinese", "japanese", "thai")


def corpus(language, said=None):
    return Corpus.from_texts(MESSAGES[language][0] * 8, settings=TextSettings(language=said or language))


@pytest.mark.parametrize("language", MESSAGES)
def test_the_words_of_a_language_are_found(language):
    settings = TextSettings(language=language)
    found = [word for text in MESSAGES[language][0] for word in settings.words(text)]
    assert MESSAGES[language][1] <= set(found)
    assert not set(found) & stop_words(language)
    assert TextSettings.from_dict(settings.to_dict()) == settings


@pytest.mark.parametrize("language", MESSAGES)
def test_a_release_in_every_language(language, tmp_path):
    words = Vocabulary.public(sorted(MESSAGES[language][1]))
    model = PrivateTopics(
        n_topics=2, epsilon=50.0, mechanism="mixture", vocabulary=words, settings={"steps": 2}, text=language
    )
    model.fit(MESSAGES[language][0] * 40, authors=range(120))
    loaded = TopicModel.load(model.save(tmp_path / "release"))
    assert loaded.text == TextSettings(language=language)
    shares = loaded.transform(MESSAGES[language][0])
    assert (abs(shares - 0.5) > 1e-6).any()  # words of these texts are known


@pytest.mark.parametrize("language", MESSAGES)
def test_texts_in_the_language_that_was_said_are_not_warned_of(language, recwarn):
    made = corpus(language)
    warn_if_other_language(made, made.text)
    assert not recwarn.list


@pytest.mark.parametrize("language", sorted(MESSAGES.keys() - {"english", *CUT}))
def test_texts_in_another_language_are_told_and_named(language):
    made = corpus(language, said="english")
    with pytest.warns(PrivacyWarning, match=rf"the language that was said \(english\): they look like '{language}'"):
        warn_if_other_language(made, made.text)
    made = corpus("english", said=language)
    with pytest.warns(PrivacyWarning, match=rf"\({language}\): they look like 'english'"):
        warn_if_other_language(made, made.text)


@pytest.mark.parametrize("said", ["english", "none"])
@pytest.mark.parametrize("language", CUT)
def test_sentences_that_count_as_words_are_told(language, said):
    text = TextSettings(language=said, max_length=99)
    made = Corpus.from_texts(MESSAGES[language][0], settings=text)
    with pytest.warns(PrivacyWarning, match="a script without blanks between words"):
        warn_if_other_language(made, text)


def test_without_the_extra_common_words_decide(monkeypatch):
    monkeypatch.setattr(languages, "find_spec", lambda name: None)
    made = corpus("german", said="english")
    with pytest.warns(PrivacyWarning, match=r"\(english\)\. If they are in another"):
        warn_if_other_language(made, made.text)


def test_lengths_by_language():
    limits = {language: TextSettings(language=language).lengths for language in ("english", "german", "de", "korean")}
    assert limits == {"english": (3, 15), "german": (3, 30), "de": (3, 30), "korean": (2, 22)}
    assert TextSettings(language="german", max_length=15).words("Krankenversicherung Knie") == ["knie"]


def test_names_and_codes_are_one_language():
    for name, code in (("chinese", "zh"), ("japanese", "ja"), ("thai", "th")):
        one, other = TextSettings(language=name), TextSettings(language=code)
        assert one.cutter == other.cutter == Tokenizer.of(name)
        assert one.lengths == other.lengths


@pytest.mark.parametrize(
    ("language", "package"), [("chinese", "rjieba"), ("japanese", "fugashi"), ("thai", "pythainlp.tokenize")]
)
def test_a_package_that_is_missing(monkeypatch, language, package):
    monkeypatch.setitem(sys.modules, package, None)
    tokenizers._segmenter.cache_clear()
    with pytest.raises(InputError, match=rf"{language.title()} is written without spaces .*dptopics\[languages\]"):
        TextSettings(language=language)
    own = TextSettings(language=language, tokenizer=owners_tokenizer.pairs)  # needs no package
    assert own.words("膝 頭 目") == ["膝+頭", "頭+目"]


def test_sentences_without_blanks():
    settings = TextSettings.for_ngrams(2, tokenizer="chinese")
    assert settings.words("膝盖疼。想预约医生！") == [
        "<s> 膝盖", "膝盖 疼", "疼 </s>", "<s> 想", "想 预约", "预约 医生", "医生 </s>",
    ]  # fmt: skip
    texts = ["膝盖疼。想预约医生！"] * 300
    release = release_ngrams(texts, n=2, tokenizer="chinese", authors=range(300), epsilon=8.0, delta=1e-6)
    assert "预约 医生" in dict(release.value.top(7))


# --- a tokenizer of the owner's ---

OWN = "owners_tokenizer:pairs"


@pytest.fixture(autouse=True)
def _nobody_named_anything(monkeypatch):
    monkeypatch.setattr(tokenizers, "_named", {})


def test_a_function_is_called_with_one_text():
    by_name, itself = TextSettings(tokenizer=OWN), TextSettings(tokenizer=owners_tokenizer.pairs)
    assert by_name == itself
    assert by_name.words("Knee hurts much") == ["knee+hurts", "hurts+much"]
    assert by_name.cutter.version.startswith("sha256 ")
    assert hash(by_name) == hash(itself)


@pytest.mark.parametrize("carry", [pickle, cloudpickle], ids=["pickle", "cloudpickle"])
def test_it_travels_to_other_processes(carry, monkeypatch):
    sent = carry.dumps(TextSettings(tokenizer=OWN))
    monkeypatch.setattr(tokenizers, "_named", {})  # as in a new process
    assert carry.loads(sent).words("Knee hurts much") == ["knee+hurts", "hurts+much"]
    assert carry.loads(carry.dumps(TextSettings(language="chinese"))).words("膝盖很疼") == ["膝盖", "疼"]


def release(tmp_path):
    words = Vocabulary.public(["knee+hurts", "hurts+much", "reading+glasses"])
    model = PrivateTopics(
        n_topics=2,
        epsilon=50.0,
        mechanism="mixture",
        settings={"steps": 1},
        vocabulary=words,
        text=TextSettings(tokenizer=OWN),
    )
    model.fit(["Knee hurts much", "Reading glasses"] * 50, authors=range(100))
    return model.save(tmp_path / "release")


def test_its_name_and_version_are_saved_and_it_runs_only_if_it_is_named(tmp_path, monkeypatch):
    folder = release(tmp_path)
    kept = json.loads((folder / "bundle.json").read_text())["record"]["plan"]["text"]["tokenizer"]
    assert kept == TextSettings(tokenizer=OWN).cutter.to_dict()
    monkeypatch.setattr(tokenizers, "_named", {})
    loaded = TopicModel.load(folder)
    assert loaded.top_words(1)  # what is published can be looked at
    with pytest.raises(InputError, match="split by its owner's function 'owners_tokenizer:pairs', which is not run"):
        loaded.transform(["Knee hurts much"])
    TextSettings(tokenizer=OWN)
    assert TopicModel.load(folder).transform(["Knee hurts much"]).shape == (1, 2)


def test_what_is_assumed_of_an_owners_function():
    (line,) = TextSettings(tokenizer=OWN).assumptions
    assert line.startswith("The owner's tokenizer, owners_tokenizer:pairs, splits each text by that text alone")
    corpus = Corpus.from_texts(["knee hurts"], ["a"], settings=TextSettings(tokenizer=OWN))
    assert corpus.bounded().assumptions == corpus.bounded().limited(max_words=1).assumptions == (line,)
    assert TextSettings().assumptions == TextSettings(language="thai", tokenizer="thai").assumptions == ()


@pytest.mark.parametrize("named", ["os:system", {"name": "os:system", "version": "1"}])
def test_a_plan_cannot_make_us_import_anything(monkeypatch, named):
    ran = []
    monkeypatch.setattr("os.system", ran.append)
    made = Plan.words(epsilon=1.0, delta=1e-6, unit="author", text=TextSettings()).to_dict()
    made["text"]["tokenizer"] = named
    plan = Plan.from_dict(made)
    with pytest.raises(InputError, match="'os:system', which is not run unless you name it"):
        Corpus.from_texts(["knee"], settings=plan.text)
    assert ran == []


@pytest.mark.parametrize("text", [3, "english", {"tokenizer": 3}, {"tokenizer": {"name": "x"}}, {"colour": "red"}])
def test_plans_whose_text_is_damaged(text):
    made = Plan.words(epsilon=1.0, delta=1e-6, unit="author").to_dict()
    with pytest.raises(InputError, match="this plan is incomplete or damaged"):
        Plan.from_dict(made | {"text": text})


def test_one_that_has_changed_is_told(tmp_path):
    stored = {"name": OWN, "version": "sha256 0000000000000000"}
    TextSettings(tokenizer=OWN)
    with pytest.warns(PrivacyWarning, match="has changed since the release was made"):
        TextSettings.from_dict({"tokenizer": stored})
    assert TextSettings.from_dict({"links": False, "tokenizer": OWN}) == TextSettings(tokenizer=OWN)  # written by hand


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ("owners_tokenizer:counted", "gave two results for one text"),
        ("owners_tokenizer:remembering", "gave two results for one text"),
        ("owners_tokenizer:numbers", "did not return strings"),
        ("owners_tokenizer:failing", r"failed \(KeyError\)"),
        ("owners_tokenizer:WORDS", "is not a function"),
        ("owners_tokenizer:nothing", r"there is no tokenizer .* \(AttributeError\)"),
        ("no_such_module:split", r"there is no tokenizer .* \(ModuleNotFoundError\)"),
        ("klingon", "a tokenizer is one of chinese, japanese, thai, or module:function"),
        (":", "a tokenizer is one of"),
        (lambda text: text.split(), "must have a name"),
        (3, "a tokenizer is one of"),
    ],
)
def test_what_is_no_tokenizer(wrong, rule):
    with pytest.raises(InputError, match=rule):
        TextSettings(tokenizer=wrong)


def test_its_words_may_be_a_public_list():
    settings = TextSettings(tokenizer=OWN)
    assert settings.could_give("knee+hurts")
    assert not settings.could_give("knee hurts")
    assert not settings.could_give("x" * 16)


def test_clients_cannot_cut():
    flips = BitFlips(vocabulary=Vocabulary.public(["knee"]), f=0.5, max_words=1)
    for text in (TextSettings(language="thai"), TextSettings(tokenizer=OWN)):
        with pytest.raises(InputError, match="cannot be collected"):
            Collection(name="survey", randomizer=flips, text=text)


def test_a_region_and_capitals_do_not_matter():
    """As browsers and offices write it; what nobody ships is refused with a list of what there is."""
    for written, meant in (("EN", "en"), ("en-US", "en"), ("pt_BR", "pt"), (" German ", "german"), ("zh-Hant", "zh")):
        assert TextSettings(language=written) == TextSettings(language=meant)
    with pytest.raises(InputError, match=r"no stop words for language 'klingon'\. Use one of: .*german"):
        TextSettings(language="Klingon")


def test_scripts_that_are_written_in_two_ways():
    """Half-width signs are read as full ones; Traditional characters are cut, not dropped."""
    japanese, chinese = TextSettings(language="japanese"), TextSettings(language="chinese")
    assert japanese.words("ﾎﾃﾙのﾍﾞｯﾄﾞ") == japanese.words("ホテルのベッド") == ["ホテル", "ベッド"]
    assert "包裹" in chinese.words("快递员把包裹放在门口")
    assert "包裹" in chinese.words("快遞員把包裹放在門口")


def test_auto_reads_each_text_by_its_own_language():
    auto = TextSettings(language="auto")
    german, english, japanese = (
        "Das Knie schmerzt seit dem langen Lauf, und ich kann nicht schlafen.",
        "My knee has been hurting since the long run, and I cannot sleep.",
        "走った後から膝が痛くて眠れません。",
    )
    for text, language in ((german, "german"), (english, "english"), (japanese, "japanese")):
        assert auto.words(text) == TextSettings(language=language).words(text)
        # Alone, between others, in any order: the same words.
        corpus = Corpus.from_texts([english, text, german], settings=auto)
        first, last = corpus.doc_start[1:3]
        assert {corpus.words[w] for w in corpus.word[first:last]} == set(auto.words(text))
    assert auto.words("the knee") == ["the", "knee"]  # too short to tell: nothing is left out but by length
    again = TextSettings.from_dict(json.loads(json.dumps(auto.to_dict())))
    assert again == auto
    assert again.words(german) == auto.words(german)
    with pytest.raises(InputError, match="word lengths must satisfy"):  # now, not at the first English text
        TextSettings(language="auto", min_length=18)
    with pytest.raises(InputError, match="clients read texts in one language"):
        Collection(name="a", randomizer=BitFlips(vocabulary=Vocabulary.of(["knee"]), f=0.5, max_words=3), text=auto)
    for more in ({"lemmas": True}, {"ngrams": 2}, {"tokenizer": "thai"}):
        with pytest.raises(InputError, match="works with words only"):
            TextSettings(language="auto", **more)


def test_auto_topics_of_two_languages():
    texts = ["Das Knie schmerzt seit dem langen Lauf am Sonntag.", "The skin itches badly since the new cream."] * 300
    fitted = PrivateTopics(
        n_topics=2, epsilon=5.0, delta=1e-5, unit="document", text=TextSettings(language="auto"), mechanism="mixture"
    )
    words = set(fitted.fit(texts).vocabulary_)
    assert {"knie", "schmerzt", "skin", "cream"} <= words
    assert not {"das", "dem", "the", "since"} & words


def test_no_vulgar_word_is_common_unless_many_people_write_it():
    """Noise alone could show one of 28,000 words. A word of many people comes back by the private choice of words."""
    pytest.importorskip("wordfreq")
    assert not {"fuck", "shit", "ass"} & set(common_words(TextSettings()).words)
    assert "scheiße" not in common_words(TextSettings(language="german")).words
    assert {"sex", "breast", "cancer", "slut"} - set(common_words(TextSettings()).words) == {"slut"}
    assert "slut" in common_words(TextSettings(language="swedish")).words  # where it means the end
    corpus = Corpus.from_texts([f"shit number {i} knee" for i in range(3000)]).bounded(unit="document")
    plan = Plan.topics(
        mechanism="mixture", vocabulary="common+weighted", n_topics=2, epsilon=3.0, delta=1e-5, unit="document"
    )
    assert "shit" in plan.build()(corpus, np.random.default_rng(0)).value.vocabulary.words
