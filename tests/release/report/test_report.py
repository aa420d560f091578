"""The page of a release: what is in it, that nothing gets out of its place, and what it refuses."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from typer.testing import CliRunner

from dptopics import (
    Guarantee,
    InputError,
    Ledger,
    NgramTable,
    Plan,
    Release,
    Strength,
    TopicModel,
    Unit,
    Vocabulary,
)
from dptopics.cli import app
from dptopics.privacy import events as ev
from dptopics.release import bundle
from dptopics.release import report as page
from dptopics.release.release import Record
from dptopics.release.report.content import STEPS, layout, topics
from dptopics.release.topic_model import fingerprint

EVIL = ["</script><script>alert(1)</script>", "<!--<script>", "<img src=x onerror=alert(1)>", "\"'&amp;", "\u2028x"]


def guarantee(strength=Strength.PROVED, sigma=3.0, note="Words were public & <b>few</b>."):
    return Guarantee(events=(ev.Gaussian(sigma),), delta=1e-6, unit=Unit.AUTHOR, strength=strength, assumptions=(note,))


def topic_model(words, n_topics, seed=0, noise_std=True):
    rng = np.random.default_rng(seed)
    matrix = rng.gamma(0.2, size=(n_topics, len(words))) + 1e-9
    return TopicModel(
        topic_word=matrix / matrix.sum(axis=1, keepdims=True),
        vocabulary=Vocabulary.of(words),
        topic_share=rng.dirichlet(np.ones(n_topics)),
        alpha=0.1,
        noise_std=np.full(n_topics, 0.01) if noise_std else None,
    )


PLAN = Plan.topics(mechanism="variational", n_topics=6, epsilon=1.0, delta=1e-6, unit="author").to_dict()


def release(value=None, **kind):
    value = topic_model([f"word{i:03}" for i in range(120)], 6) if value is None else value
    settings = {"mechanism": "vocabulary-then-topics", "topics": {"mechanism": "variational", "n_topics": 6}}
    return Release(value=value, guarantee=guarantee(**kind), settings=settings, record=Record(plan=PLAN))


def audit_data(**plan):
    rates = [0.0001, 0.001, 0.01, 0.1, 1.0]
    return {
        "not_for_release": True,
        "verdict": "The best attack finds <few> members.",
        "shadows": 8,
        "settings": {"plan": PLAN | plan},
        "attacks": [
            {"attack": "LiRA <b>", "auc": 0.51, "tpr_at_0.1%_fpr": 0.001, "tpr_at_1%_fpr": 0.011, "roc": rates}
        ],
        "roc_false_positive_rates": rates,
        "roc_allowed": [min(1, 8 * rate) for rate in rates],
        "most_exposed": [{"row": 7, "shift": 1.25, "words": 9, "rare_words": 1}],
        "claim": guarantee().to_dict(),
    }


class Reader(HTMLParser):
    """Elements, their attributes and text, as a browser would split them."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.text, self.data, self.open = [], [], "", []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.open.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, text):
        inside = self.open[-1] if self.open else ("", {})
        if inside[1].get("id") == "data":
            self.data += text
        elif inside[0] not in ("script", "style"):
            self.text.append(text)

    def of(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


@pytest.fixture
def whole():
    return Reader(page.render(release(), audit=audit_data()))


def test_the_page_holds_what_it_should(whole):
    ids = [attributes["id"] for _, attributes in whole.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {"overview", "words", "guarantee", "audit", "tree", "relevance", "search", "data"} <= set(ids)
    assert "PROVED: a theorem" in whole.words
    assert "Words were public & <b>few</b>." in whole.words  # the assumption, as text
    assert "What an attacker can learn" in whole.words
    assert "the maximum that the claimed ε allows" in whole.words


def test_the_page_loads_nothing(whole):
    for name, attributes in whole.elements:
        assert name not in ("link", "img", "iframe", "object", "embed", "base", "form")
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")
        assert not [a for a in attributes if a.startswith("on") or a == "style"]
    assert whole.of("meta")[1]["content"].startswith("default-src 'none'")
    assert "url(" not in page.render(release())
    assert "@import" not in page.render(release())


def test_everything_has_a_name_for_those_who_cannot_see_it(whole):
    labelled = {attributes["for"] for attributes in whole.of("label")}
    for name in ("input", "select"):
        assert {attributes["id"] for attributes in whole.of(name)} <= labelled
    for attributes in whole.of("section"):
        assert attributes["aria-labelledby"]
    for attributes in whole.of("svg"):
        named = attributes.keys() & {"aria-label", "aria-labelledby", "aria-hidden"}
        assert named, attributes
    assert len(whole.of("table")) == len(whole.of("caption"))
    assert all(attributes["scope"] for attributes in whole.of("th"))
    assert whole.of("html")[0]["lang"] == "en"


@pytest.mark.parametrize("word", EVIL)
def test_no_word_gets_out_of_its_place(word):
    words = [word, *(f"word{i}" for i in range(5))]
    values = [
        topic_model(words, 3),
        Vocabulary(tuple(sorted(words)), tuple(map(float, range(6)))),
        NgramTable(vocabulary=Vocabulary.of(words), probability=np.full(6, 1 / 6)),
    ]
    for value in values:
        text = page.render(release(value, note=word))
        read = Reader(text)
        assert word in json.loads(read.data)["words"]
        assert len(read.of("script")) == 2
        assert not read.of("img")
        assert text.count("<script") == 2
        assert text.count("</script>") == 2
        assert "<!--" not in text
        assert "\u2028" not in read.data


def test_names_of_mechanism_ledger_and_attacks_are_escaped(tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=3, delta=1e-4, name="<img src=x>")
    ledger.charge(guarantee(), "<script>")
    mine = release()
    mine.settings["mechanism"] = "<i>"
    read = Reader(page.render(mine, ledger=ledger.to_dict()))
    assert not read.of("img")
    assert not read.of("i")
    assert len(read.of("script")) == 2
    assert "<img src=x>" in read.words
    assert "This release is charge 1." in read.words


def test_the_slider_shows_the_words_of_top_words():
    model = replace(topic_model([f"w{i:04}" for i in range(800)], 90), noise_std=np.full(90, 0.001))
    data = topics(model, 30)
    assert sum(len(topic["words"]) for topic in data["topics"]) < np.count_nonzero(model.above_noise())
    for step in (0, 3, STEPS // 2, STEPS):
        expected = model.top_words(30, relevance=step / STEPS)
        for k, topic in enumerate(data["topics"]):
            weight, mean = np.array(topic["weight"]), np.array(data["mean"])[topic["words"]]
            order = np.argsort(-(np.log(weight) - (1 - step / STEPS) * np.log(mean)), kind="stable")[:30]
            assert {data["words"][topic["words"][i]] for i in order} == set(expected[k])


def test_classical_scaling_finds_the_plane():
    # Three disjoint topics are equally far from each other; copies of a topic share its place.
    weight = np.kron(np.eye(3), np.full((1, 4), 0.25))
    points, shown = layout(np.concatenate([weight, weight[:1]]), weight.mean(axis=0))
    assert shown == pytest.approx(1.0)  # a triangle lies in the plane
    np.testing.assert_allclose(points[0], points[3], atol=1e-7)
    plane, _ = layout(weight, weight.mean(axis=0))
    apart = np.linalg.norm(plane[:, None] - plane, axis=2)
    np.testing.assert_allclose(apart[np.triu_indices(3, 1)], apart[0, 1], rtol=1e-6)
    assert layout(weight[:1], weight[0])[0].tolist() == [[0.0, 0.0]]
    assert layout(weight[:2], weight[:2].mean(axis=0))[0][:, 1].tolist() == [0.0, 0.0]
    assert layout(np.eye(40), np.full(40, 1 / 40))[1] < 0.1  # forty topics, each as far from every other


def test_many_words_are_lumped_without_lengthening_distances(monkeypatch):
    model = topic_model([f"w{i:04}" for i in range(1500)], 12)
    mean = model.topic_share @ model.topic_word
    monkeypatch.setattr("dptopics.release.report.content._MOST_LOGARITHMS", 1.0)
    assert layout(model.topic_word, mean)[0].shape == (12, 2)


def test_a_huge_model_stays_small():
    words = [f"слово-{i:05}-длинное" for i in range(10_000)]
    rng = np.random.default_rng(0)
    matrix = rng.gamma(0.5, size=(500, 10_000))
    matrix /= matrix.sum(axis=1, keepdims=True)
    model = TopicModel(
        topic_word=matrix, vocabulary=Vocabulary(tuple(words)), topic_share=np.full(500, 0.002), alpha=0.1
    )
    text = page.render(release(model))
    assert len(text.encode()) < page.LARGEST_PAGE
    assert len(json.loads(Reader(text).data)["topics"]) == 500


def test_a_huge_vocabulary_stays_small():
    words = tuple(f"{i:06}" + "x" * 100 for i in range(60_000))
    text = page.render(release(Vocabulary(words, tuple(np.linspace(0, 1, 60_000)))))
    data = json.loads(Reader(text).data)
    assert len(text.encode()) < page.LARGEST_PAGE
    assert data["total"] == 60_000
    assert data["words"][0].startswith("059999x")
    assert data["words"][0].endswith("…")


def test_optional_parts_may_be_missing():
    model = topic_model(["a", "b", "c"], 2, noise_std=False)
    assert {t["noise_std"] for t in json.loads(Reader(page.render(release(model))).data)["topics"]} == {None}
    lost = topic_model(["a", "b", "c"], 2)
    lost.noise_std[1] = np.inf  # a topic that nobody's text is about
    lost.topic_share[:] = [1.0, -0.1]
    data = json.loads(Reader(page.render(release(lost))).data)
    assert [t["noise_std"] for t in data["topics"]] == [0.01, None]
    assert [t["share"] for t in data["topics"]] == [1.0, 0.0]
    words = json.loads(Reader(page.render(release(Vocabulary.of("ab")))).data)
    assert words["weight"] is None
    table = NgramTable(vocabulary=Vocabulary.of(["a b", "b c"]), probability=np.array([0.25, 0.75]))
    data = json.loads(Reader(page.render(release(table))).data)
    assert data["words"] == ["b c", "a b"]
    assert data["noise_std"] is None


def test_words_of_any_script_are_kept_and_told_apart_by_direction():
    words = ["שלום", "مرحبا", "語彙", "naïve", "half\ud800"]
    text = page.render(release(topic_model(words, 2)))
    text.encode()  # half a character is replaced
    data = json.loads(Reader(text).data)
    assert {"שלום", "مرحبا", "語彙", "naïve", "half?"} == set(data["words"])
    assert "<bdi>שלום</bdi>" in text


def test_words_that_a_topic_does_not_have_are_not_shown():
    model = TopicModel(
        topic_word=np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]), topic_share=np.array([0.5, 0.5]),
        vocabulary=Vocabulary.of("abc"), alpha=0.1,
    )  # fmt: skip
    data = json.loads(Reader(page.render(release(model))).data)
    assert [t["words"] for t in data["topics"]] == [[0], [1, 2]]


def test_belief_is_bounded_by_epsilon():
    g = guarantee()
    assert g.belief(0.5) == pytest.approx(1 / (1 + np.exp(-g.epsilon)))
    odds = g.belief(0.01) / (1 - g.belief(0.01))
    assert odds == pytest.approx(np.exp(g.epsilon) * 0.01 / 0.99)
    assert guarantee(strength=Strength.NONE).belief(0.1) == 1.0


@pytest.mark.parametrize(
    "marked, given", [(False, {}), (True, {"audit": audit_data()}), (True, {"strength": Strength.NONE})]
)
def test_what_is_not_for_release_says_so(marked, given):
    audit = given.pop("audit", None)
    read = Reader(page.render(release(**given), audit=audit))
    assert ("NOT FOR RELEASE" in read.words) is marked
    assert (("p", {"class": "banner", "role": "alert"}) in read.elements) is marked


@pytest.mark.parametrize(
    "kind, colour", [({}, "proved"), ({"sigma": 0.5}, "doubtful"), ({"strength": Strength.CLAIMED}, "claimed")]
)
def test_no_green_for_figures_that_mean_little(kind, colour):
    text = page.render(release(**kind))
    read = Reader(text)
    assert ("a", {"class": f"badge {colour}", "href": "#guarantee"}) in read.elements
    assert ("div", {"class": f"card {colour}"}) in read.elements
    assert ("is above 8" in text) is ("read the warning" in text) is (colour == "doubtful")


def test_no_green_for_a_large_delta():
    made = release()
    text = page.render(replace(made, guarantee=replace(made.guarantee, delta=0.5)))
    assert ("a", {"class": "badge doubtful", "href": "#guarantee"}) in Reader(text).elements
    assert "δ = 0.5 is above 0.001" in text
    assert "read the warning" in text


def test_limits_stand_beside_assumptions():
    made = release()
    text = page.render(replace(made, guarantee=replace(made.guarantee, limits=("Few & far.",))))
    assert "<h3>Limits</h3><ul><li>Few &amp; far.</li></ul>" in text


def test_an_audit_of_another_model_is_refused():
    mine = release()
    page.render(mine, audit=audit_data())
    plain = audit_data() | {"claim": None, "settings": {"learner": "GibbsLda"}}
    for audit, reason in [
        (audit_data(mechanism="zhao"), 'mechanism is "zhao"'),
        (audit_data(n_topics=7), "n_topics is 7"),
        (audit_data(epsilon=2.0), "epsilon is 2.0"),
        (audit_data() | {"settings": {}}, "without a plan"),
        (plain, "plain topic model"),
        (
            {"verdict": "", "target": fingerprint(mine.value.topic_word + 1e-9, mine.value.vocabulary.words)},
            "other words",
        ),
    ]:
        with pytest.raises(InputError, match=reason):
            page.render(mine, audit=audit)
    with pytest.raises(InputError, match="has none"):
        page.render(release(Vocabulary.of("ab")), audit=audit_data())


def test_topics_that_were_dropped_or_merged_do_not_make_another_model():
    fewer = topic_model(["a", "b", "c"], 2)  # six were asked for
    assert "What an attacker can learn" in page.render(release(fewer), audit=audit_data())


def test_topics_from_elsewhere_and_the_audit_of_a_plain_model():
    model = topic_model(["a", "b", "c"], 2)
    plain = audit_data() | {"claim": None, "settings": {"learner": "GibbsLda"}, "roc_allowed": None}
    words = Reader(page.render(model, audit=plain)).words
    assert "NOT FOR RELEASE" in words
    assert "learned elsewhere" in words
    assert "claimed ε allows" not in words


def test_scores_against_one_model_have_no_curves():
    mine = release()
    target = fingerprint(mine.value.topic_word, mine.value.vocabulary.words)
    scores = {"verdict": "3 of 9 documents.", "shadows": 4, "shared_words": 9, "target": target, "most_exposed": []}
    read = Reader(page.render(mine, audit=scores))
    assert "3 of 9 documents." in read.words


def test_the_ledger_is_shown_with_what_is_left(tmp_path):
    for composition in ("sum", "zcdp"):
        ledger = Ledger.create(tmp_path / f"{composition}.ledger", epsilon=9, delta=1e-4, composition=composition)
        ledger.charge(guarantee(sigma=5.0), "first")
        text = page.render(release(), ledger=ledger.to_dict())
        assert "No charge in this ledger" in text
        ledger.charge(guarantee(), "second")
        text = page.render(release(), ledger=ledger.to_dict())
        bars = [float(w) for w in re.findall(r'<rect class="(?:part|ours|left)[^>]* width="([\d.]+)"', text)]
        assert sum(bars) == pytest.approx(600, abs=0.1)
        assert len(bars) == 3
        assert "This release is charge 2." in text


def test_the_command(tmp_path):
    bundle.save(release(), tmp_path / "release")
    (tmp_path / "audit").mkdir()
    (tmp_path / "audit" / "audit.json").write_text(json.dumps(audit_data()))
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=9, delta=1e-4)
    ledger.charge(guarantee(), "topics")
    run = CliRunner().invoke
    command = ["report", str(tmp_path / "release"), "--out", str(tmp_path / "r.html")]
    assert run(app, command).exit_code == 0
    assert "NOT FOR RELEASE" not in (tmp_path / "r.html").read_text("utf-8")
    again = run(app, command)
    assert isinstance(again.exception, InputError)
    assert "exists already" in str(again.exception)
    command[-1] = str(tmp_path / "whole.html")
    assert run(app, [*command, "--audit", str(tmp_path / "audit"), "--ledger", str(ledger.path)]).exit_code == 0
    text = (tmp_path / "whole.html").read_text("utf-8")
    assert "NOT FOR RELEASE" in text
    assert "This release is charge 1." in text


def test_the_command_shows_folders_without_optional_parts(tmp_path):
    values = [
        topic_model(["מילה", "<b>", "naïve"], 2, noise_std=False),
        Vocabulary.of(["a", "b"]),
        NgramTable(vocabulary=Vocabulary.of(["a b", "b c"]), probability=np.array([0.25, 0.75])),
    ]
    for number, value in enumerate(values):
        bare = Release(value=value, guarantee=guarantee(), settings={"mechanism": "other"})
        folder, file = bundle.save(bare, tmp_path / f"r{number}"), tmp_path / f"{number}.html"
        assert CliRunner().invoke(app, ["report", str(folder), "--out", str(file)]).exit_code == 0
        shown = Reader(file.read_text("utf-8"))
        assert set(json.loads(shown.data)["words"]) == set(value.words if number == 1 else value.vocabulary.words)


def test_what_is_no_audit_is_refused(tmp_path):
    with pytest.raises(InputError, match="no audit"):
        page.read_audit(tmp_path)
    for content, reason in [("{", "cannot be read"), ("[]", "cannot be read"), ("{}", "not an audit")]:
        (tmp_path / "audit.json").write_text(content)
        with pytest.raises(InputError, match=reason):
            page.read_audit(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        page.write(release(), tmp_path / "nowhere" / "r.html")


def test_the_picture_in_the_readme_is_of_this_page():
    """After a change of the page: python benchmarks/screenshots.py."""
    import screenshots

    assert screenshots.TAKEN_OF.read_text().strip() == screenshots.page_code()
    assert "docs/images/page.png" in (screenshots.ROOT / "README.md").read_text("utf-8")
