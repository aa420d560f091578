"""The atlas in other languages: the same themes, words that the reader gives, and texts placed by these words alone."""

import numpy as np
import pytest

from dptopics import Corpus, Plan, TextSettings
from dptopics.core.errors import InputError
from dptopics.mechanisms.topics.atlas import Chart
from dptopics.privacy.guarantee import Unit
from dptopics.public.atlas import SHIPPED, has_atlas, shipped, without_accents
from dptopics.public.atlas_words import AtlasWords
from dptopics.public.embeddings import common_words, embedding, weighted_vectors, word_weights
from dptopics.release.labels import label, theme_names
from dptopics.release.topic_model import SURE

OTHERS = [name for name in SHIPPED if name != "english"]
others = pytest.mark.parametrize("language", OTHERS)


@others
def test_themes_are_those_of_the_english_atlas(language):
    """The same in all languages, so that releases compare."""
    keys = [theme.key for theme in shipped(language).themes]
    assert len(keys) == len(set(keys)) >= 300
    assert set(keys) <= set(shipped("english").names)
    assert sorted(keys) == sorted(theme.key for theme in shipped(OTHERS[0]).themes)


@others
def test_every_theme_has_words_that_the_reader_gives(language):
    text = TextSettings(language=language)
    few = {}
    for theme in shipped(language).themes:
        read = {word for entry in theme.words for word in text.words(entry)}
        if len(read) < 20:
            few[theme.name] = len(read)
    assert few == {}
    assert all(len(theme.words) >= 25 for theme in shipped(language).themes)


@others
def test_a_theme_is_nearest_to_its_own_words(language):
    model, atlas, text = AtlasWords(language), shipped(language), TextSettings(language=language)
    right = 0
    for number, theme in enumerate(atlas.themes):
        said = model.together([word for entry in theme.words for word in text.words(entry)]).sum(axis=0)
        right += int(np.argmax(said[: len(atlas.themes)])) == number
    assert right >= 0.98 * len(atlas.themes)


def test_words_find_their_themes_by_stem_and_part():
    model, names = AtlasWords("german"), shipped("german").names
    tennis, cut, joined, nothing = model(["tennis", "Apothekerinnen", "tennishalle", "beim"])
    assert names[int(np.argmax(tennis[: len(names)]))] == "Tennis"
    assert "Rezepte" in names[int(np.argmax(cut[: len(names)]))]
    assert names[int(np.argmax(joined[: len(names)]))] == "Tennis"
    assert np.linalg.norm(tennis) > np.linalg.norm(joined) > 0
    assert not nothing.any()
    alone = model(["apotheke"])
    assert np.array_equal(alone, model(["tennis", "apotheke"])[1:])  # a row knows nothing of the others
    assert np.array_equal(model(["tennis apotheke"])[0], tennis + alone[0])


def test_forms_of_a_word_share_a_theme():
    """Past and present, cases and clitics; in Chinese a listed part, and words of one character."""
    for language, forms in (
        ("polish", ("czekałam", "czekają", "czekaniem")),
        ("polish", ("alarm", "alarmu", "alarmów")),  # an ending of one form may belong to the stem of another
        ("spanish", ("reservaste", "reservándolo", "reservas")),
        ("portuguese", ("reclamou", "reclamações", "reclamaram")),
        ("italian", ("prenotavo", "prenotando", "prenotazione")),
        ("chinese", ("候诊室", "候诊厅", "候诊")),
    ):
        n = len(shipped(language).themes)
        places = AtlasWords(language)(list(forms))[:, :n]
        assert (places > 0).all(axis=0).any(), language  # a theme that all of them speak for
    text = TextSettings(language="chinese")
    assert text.words("房间很吵") == ["房间", "吵"]
    assert AtlasWords("chinese")(["吵"]).any()


def test_words_typed_without_accents_have_the_same_place():
    """On a phone, or on a keyboard of another country."""
    for language, word, typed in (
        ("german", "müllabfuhr", "muellabfuhr"),
        ("french", "médecin", "medecin"),
        ("spanish", "devolución", "devolucion"),
        ("polish", "łóżko", "lozko"),
    ):
        model, plan = AtlasWords(language), TextSettings(language=language)
        assert typed in shipped(language).listed_words(plan)
        right, plain = model([word, typed])
        n = len(shipped(language).themes)
        assert plain[:n].any()
        assert np.argmax(right[:n]) == np.argmax(plain[:n])
    assert without_accents("café", "english") == "café"
    assert without_accents("が", "japanese") == "が"


def test_texts_in_traditional_characters_have_the_same_place():
    """They are cut at the same places, and keep their characters."""
    text, model = TextSettings(language="chinese"), AtlasWords("chinese")
    for simple, said in (
        ("快递员把包裹放在门口", "快遞員把包裹放在門口"),
        ("候诊室里等了两个小时", "候診室裡等了兩個小時"),
    ):
        one, other = text.words(simple), text.words(said)
        assert [len(word) for word in one] == [len(word) for word in other]
        assert all(word in said for word in other)
        assert np.array_equal(model(one), model(other))
        assert np.allclose(word_weights(one, "chinese"), word_weights(other, "chinese"))
    assert {"快遞", "頭髮"} <= set(shipped("chinese").listed_words(text))
    assert model(["頭髮"]).any()


def test_words_that_no_theme_lists_pull_no_text():
    """A text without a listed word has no place, and one such word more does not move another text."""
    text = TextSettings(language="fr")
    plan = Plan.topics(n_topics=5, epsilon=1.0, delta=1e-5, unit="document", text=text)
    words = plan.build().vocabulary.vocabulary
    assert plan.vocabulary == "common"  # words beside the public list have no place: no budget goes to them
    assert "livraisons" in words.index
    model = plan.settings["embedding"]
    _, weight = weighted_vectors(words.words, model, "french")
    assert not weight[~model.together(words.words).any(axis=1)].any()
    sure = dict(zip(words.words, weight / word_weights(words.words, "french"), strict=True))
    assert sure["livraison"] > sure["livraient"] > 0  # listed, or its stem only


def test_rarer_words_that_have_a_place_are_public_words_too():
    """Cases of Polish nouns are no part of the most frequent words, but their stems are listed."""
    common = set(common_words(TextSettings(language="polish")).words)
    plan = Plan.topics(n_topics=5, epsilon=1.0, delta=1e-5, unit="document", text=TextSettings(language="polish"))
    rarer = set(plan.build().vocabulary.vocabulary.words) - common
    assert "paczkomaty" in rarer
    assert AtlasWords("polish").placed(["paczkomaty", "qwertz"]) == ("paczkomaty",)


MIXED = {
    "Tennis": [
        "Meine Tochter spielt seit drei Jahren Tennis und hat gestern beim Turnier den ersten Satz verloren.",
        "She lost the first set of the tennis match because her serve went into the net again and again.",
        "Il a perdu le premier set de son match de tennis, son service et sa raquette ne valaient rien.",
    ],
    "Dogs and puppies": [
        "Unser Hund bellt beim Gassi gehen jeden Welpen an, in der Hundeschule zieht er an der Leine.",
        "Our puppy barks at every dog on the walk and pulls on the leash until my arm hurts.",
        "Notre chiot aboie pendant la promenade et tire sur la laisse, le chien du voisin aussi.",
    ],
    "Prescription refills": [
        "Die Apotheke hatte meine Tabletten nicht vorrätig, ich brauche ein neues Rezept vom Arzt.",
        "The pharmacy had no tablets left and I need a new prescription from my doctor this week.",
        "La pharmacie n'avait plus mes comprimés, il me faut une nouvelle ordonnance du médecin.",
    ],
    "Noisy neighbors": [
        "Die Nachbarn über uns hören jede Nacht laute Musik, der Lärm geht bis drei Uhr.",
        "The neighbors upstairs play loud music all night and the noise keeps us awake until three.",
        "Les voisins du dessus mettent la musique à fond toute la nuit, quel bruit, quel tapage.",
    ],
    "Solar and wind power": [
        "Wir haben eine Solaranlage auf dem Dach, und die neuen Windräder liefern Strom für das Dorf.",
        "We put solar panels on the roof, and the new wind turbines make power for the village.",
        "Nous avons des panneaux solaires sur le toit, et les nouvelles éoliennes produisent du courant.",
    ],
}  # fmt: skip


def test_texts_in_several_languages_share_themes():
    """German, English and French texts about a subject count for one theme, with one number and one name."""
    auto, atlas = TextSettings(language="auto"), shipped("auto")
    assert [theme.key for theme in atlas.themes] == [theme.key for theme in shipped("german").themes]
    assert atlas.names == tuple(theme.key for theme in atlas.themes)
    texts = [text for said in MIXED.values() for text in said for _ in range(30)]
    plan = Plan.topics(n_topics=5, epsilon=1.0, delta=1e-5, unit="document", text=auto)
    assert (plan.mechanism, plan.settings["embedding"].name) == ("embedded", "atlas-words:auto")
    assert Plan.from_dict(plan.to_dict()) == plan
    release = plan.build()(
        Corpus.from_texts(texts, settings=auto).bounded(unit=Unit.DOCUMENT), np.random.default_rng(2)
    )
    themes = release.value.themes
    assert {themes.names[number] for number in themes.shown} >= set(MIXED)
    for name, said in MIXED.items():
        assert set(release.value.assign_themes(said)) == {name}
    assert set(theme_names(release.value)) <= set(atlas.names)


def test_what_does_not_go_with_several_languages_is_refused_before_anything_is_charged():
    mixed = {"n_topics": 5, "epsilon": 1.0, "delta": 1e-5, "unit": "author", "text": TextSettings(language="auto")}
    with pytest.raises(InputError, match=r"knows English only, .* in 'auto'. Use mechanism mixture"):
        Plan.topics(**mixed, embedding="minilm-words")
    with pytest.raises(InputError, match="another language than 'auto'"):
        Plan.topics(**mixed, embedding="atlas-words:german")
    with pytest.raises(InputError, match="no public word list for language 'auto'"):
        Plan.topics(**mixed, mechanism="mixture", vocabulary="common").build()
    with pytest.raises(InputError, match="works with words only"):
        TextSettings(language="auto", lemmas=True)


def test_the_default_of_a_language_is_its_own_atlas():
    plan = Plan.topics(n_topics=5, epsilon=1.0, delta=1e-5, unit="author", text=TextSettings(language="de"))
    assert plan.mechanism == "embedded"
    assert plan.settings["embedding"].name == "atlas-words:german"
    assert plan.settings["atlas"].value.language == "german"
    again = Plan.from_dict(plan.to_dict())
    assert again == plan
    assert again.settings["embedding"] == embedding("atlas-words:de")
    other = Plan.topics(n_topics=5, epsilon=1.0, delta=1e-5, unit="author", text=TextSettings(language="finnish"))
    assert (other.mechanism, has_atlas("finnish")) == ("mixture", False)


def test_a_model_of_another_language_is_refused():
    english = TextSettings()
    with pytest.raises(InputError, match="another language"):
        Plan.topics(n_topics=5, epsilon=1.0, delta=1e-5, unit="author", text=english, embedding="atlas-words:german")
    with pytest.raises(InputError, match="no atlas for language 'finnish'"):
        embedding("atlas-words:finnish")


GERMAN = {
    "Fußball": "Der Stürmer schoss in der zweiten Halbzeit zwei Tore, der Trainer lobte die Mannschaft nach dem Sieg.",
    "Rezepte und Apotheke": "Die Apotheke hatte meine Tabletten nicht vorrätig, ich brauche ein neues Rezept vom Arzt.",
    "Bahn": "Der Zug hatte Verspätung, am Bahnhof wusste der Schaffner nichts von unserem Anschluss am Gleis nebenan.",
    "Hunde": "Unser Hund bellt beim Gassi gehen jeden Welpen an, in der Hundeschule zieht er an der Leine.",
    "Wohnungssuche und Miete": "Der Vermieter erhöht die Miete, unsere Wohnung hat vierzig Quadratmeter im Altbau.",
    "Schule": "Die Lehrerin gab der Klasse im Unterricht das Zeugnis, alle Schüler freuten sich auf die Schulferien.",
}  # fmt: skip


def test_german_texts_of_a_few_hundred_people_get_german_themes():
    texts = [text for text in GERMAN.values() for _ in range(60)]
    corpus = Corpus.from_texts(
        texts, [f"p{number}" for number in range(len(texts))], settings=TextSettings(language="de")
    )
    plan = Plan.topics(n_topics=6, epsilon=2.0, delta=1e-5, unit="author", text=corpus.text)
    topics = plan.build()(corpus.bounded(unit=Unit.AUTHOR), np.random.default_rng(3)).value
    assert topics.themes is not None
    # each theme keeps an axis of its own: none is left out because its words are rare
    assert topics.themes.centres.shape[1] == AtlasWords("german")(["tennis"]).shape[1]
    shown = {topics.themes.names[number] for number in topics.themes.shown}
    assert len(shown & set(GERMAN)) >= 5
    names, themes = theme_names(topics), topics.themes
    assert len(set(names)) == topics.n_topics
    for k in set(themes.topic.tolist()):  # each has the name of its largest theme
        own = np.flatnonzero(themes.topic == k)
        assert names[k] == themes.names[themes.shown[own[np.argmax(themes.noisy[own])]]]
    said = topics.assign_themes(texts)  # by the rule of the sizes
    true = np.array([said.count(title) for title in themes.cell_titles])
    assert set(said) <= set(themes.cell_titles)
    assert np.abs(themes.noisy - true).max() < 5 * themes.noise_std
    place = topics.assign(list(GERMAN.values()))
    assert len(set(place.tolist())) >= 5


def test_topics_of_themes_alone_have_labels(monkeypatch):
    """No word stands above the noise, but the themes have names. They are shown from three deviations on."""
    asked, shown = [], Chart.shown
    monkeypatch.setattr(Chart, "shown", lambda chart, *given: asked.append(given[2:]) or shown(chart, *given))
    texts = [text for text in GERMAN.values() for _ in range(40)]
    corpus = Corpus.from_texts(texts, settings=TextSettings(language="de"))
    plan = Plan.topics(n_topics=4, epsilon=1.0, delta=1e-5, unit="document", text=corpus.text)
    release = plan.build()(corpus.bounded(unit=Unit.DOCUMENT), np.random.default_rng(1))
    found = label(release).labels
    assert all(one.label in shipped("german").names for one in found)
    assert all(set(one.words) <= set(shipped("german").names) for one in found)
    assert asked == [(SURE,)]
