"""Overview, trends, maps and tree: what they show, what they refuse, and nothing that gets out of its place."""

import json
from dataclasses import replace

import numpy as np
import pytest
from test_report import EVIL, guarantee, release, topic_model

from dptopics import CountTable, InputError, Ledger, Release, Strength, Unit
from dptopics.privacy import events as ev
from dptopics.privacy.card import show
from dptopics.privacy.guarantee import composed
from dptopics.release import report as page
from dptopics.release.margins import cube
from dptopics.release.release import Record
from dptopics.release.report.charts import time_axis
from dptopics.release.report.promise import together
from dptopics.release.topic_model import fingerprint
from dptopics.release.topic_sizes import TopicSizes

MONTHS = ("2026-01", "2026-02", "2026-03", "other")


@pytest.fixture
def topics():
    return release()


def labels_of(model, names):
    labels = [{"topic": k, "label": name, "words": []} for k, name in enumerate(names)]
    return {
        "labels": labels,
        "model": "somebody",
        "prompt": "",
        "topics": fingerprint(model.topic_word, model.vocabulary.words),
    }


def counts_of(model, groups=("north", "south", "other"), strength=Strength.PROVED):
    rng = np.random.default_rng(0)
    cells = rng.integers(50, 90, (model.n_topics + 1, len(groups), len(MONTHS))).astype(float)
    table = CountTable(
        axes=("topic", "ward", "month"),
        values=((*map(str, range(model.n_topics)), "none"), groups, MONTHS),
        cube=cube(cells),
        noise=3.0,
        model=fingerprint(model.topic_word, model.vocabulary.words),
    )
    return Release(value=table, guarantee=guarantee(strength=strength), settings={"mechanism": "counts"})


def test_the_overview_comes_first(topics):
    text = page.render(topics)
    assert text.index('id="overview"') < text.index('id="topics"') < text.index('id="guarantee"')
    assert text.count("data-topic=") == topics.value.n_topics
    assert "95 % interval" not in text.split('id="topics"')[0]


def test_sizes_have_intervals_where_the_noise_on_them_is_known(topics):
    sizes = TopicSizes(noisy=np.array([500.0, 90, 80, 70, 3, -4, 2]), noise=np.full(7, 10.0), unit="author")
    text = page.render(replace(topics, value=replace(topics.value, sizes=sizes)))
    assert "Authors (95 % interval)" in text
    for shown in ("500 (480 to 520)", "3 (0 to 23)", "0 (0 to 16)", "About 741 (689 to 793) authors in total"):
        assert shown in text


def test_one_kind_of_size_on_a_page(topics):
    sizes = TopicSizes(noisy=np.array([500.0, 90, 80, 70, 3, -4, 2]), noise=np.full(7, 10.0), unit="author")
    text = page.render(replace(topics, value=replace(topics.value, sizes=sizes)), counts=counts_of(topics.value))
    assert "500 (480 to 520)" not in text
    assert "of the text" not in text
    assert "Share" not in text.split('id="guarantee"')[0]


def test_names_stand_in_overview_tree_and_data(topics):
    names = [EVIL[0], "knees", "skin", "sleep", "bills", ""]
    text = page.render(topics, labels=labels_of(topics.value, names))
    assert EVIL[0] not in text
    assert "1: knees" in text.split('id="tree"')[1]
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])
    assert data["topics"][1]["label"] == "knees"
    assert data["topics"][0]["label"] == EVIL[0]


def test_counts_give_sizes_trends_and_maps(topics):
    counts = counts_of(topics.value)
    text = page.render(topics, counts=counts)
    first = counts.value.count(topic="0")
    assert f"{round(first.value):,} (" in text.split('id="topics"')[0]
    assert text.count('<polygon class="band"') == topics.value.n_topics
    assert "These counts are a separate release, and cost ε = " in text
    assert "Topic by ward" in text
    assert "NOT FOR RELEASE" not in text


def test_counts_that_promise_nothing_mark_the_page(topics):
    text = page.render(topics, counts=counts_of(topics.value, strength=Strength.NONE))
    assert "NOT FOR RELEASE" in text
    assert "guarantee nothing" in text


def test_a_page_of_counts_has_trends_too(topics):
    text = page.render(counts_of(topics.value))
    assert text.count('<polygon class="band"') == topics.value.n_topics + 1
    assert 'id="overview"' not in text


def test_a_suppressed_period_leaves_a_gap(topics):
    counts = counts_of(topics.value)
    holes = counts.value.cube.copy()
    holes[0, -1, 1] = np.nan
    text = page.render(topics, counts=replace(counts, value=replace(counts.value, cube=holes)))
    assert text.count('<polygon class="band"') == topics.value.n_topics + 1


def test_time_is_told_by_its_values(topics):
    table = counts_of(topics.value).value
    assert time_axis(table) == 2
    weeks = replace(table, values=(*table.values[:2], ("2026-W01", "2026-W02", "2026-W03", "other")))
    assert time_axis(weeks) == 2
    assert time_axis(replace(table, values=(*table.values[:2], ("a", "b", "c", "other")))) is None


def test_what_belongs_to_other_topics_is_refused(topics):
    other = topic_model([f"word{i:03}" for i in range(120)], 6, seed=5)
    with pytest.raises(InputError, match="labels are of other topics"):
        page.render(topics, labels=labels_of(other, ["a"] * 6))
    with pytest.raises(InputError, match="not of this release's topics"):
        page.render(topics, counts=counts_of(other))
    with pytest.raises(InputError, match="these are not labels"):
        page.render(topics, labels={"labels": [{}], "topics": ""})
    with pytest.raises(InputError, match="belong to topics"):
        page.render(counts_of(topics.value), labels=labels_of(topics.value, ["a"] * 6))


@pytest.mark.parametrize("written", ["{", "[]"])
def test_a_file_that_holds_no_labels(tmp_path, written):
    (tmp_path / "labels.json").write_text(written)
    with pytest.raises(InputError, match="labels"):
        page.read_labels(tmp_path / "labels.json")
    with pytest.raises(InputError, match="cannot be read as labels"):
        page.read_labels(tmp_path / "nowhere.json")


def test_the_page_states_the_price_of_topics_and_counts_together(topics):
    """Whoever reads the page has seen both releases."""
    counts = counts_of(topics.value)
    both = composed(topics.guarantee, counts.guarantee, delta=1e-6)
    assert both.epsilon > 1.2 * topics.guarantee.epsilon
    text = page.render(topics, counts=counts, labels=labels_of(topics.value, ["a", "", "", "", "", ""]))
    badge = text.split('class="badge')[1].split("</a>")[0]
    assert f"ε = {show(both.epsilon)}, proved" in badge
    assert f"{float(show(100 * both.belief(0.5))):.3g} %" in text.split("<caption>Belief before and after")[1]
    assert f"{float(show(100 * topics.guarantee.belief(0.5))):.3g} %" not in text
    assert f"topics alone cost ε = {show(topics.guarantee.epsilon)}" in text
    assert "the release, counts of its topics and names given to its topics alone" in text


def test_the_worst_part_colours_the_page(topics):
    """Counts that mean little, or the sum of two prices that do, are not green."""
    little = replace(counts_of(topics.value), guarantee=guarantee(sigma=0.5))
    half = guarantee(sigma=0.9)
    assert half.sound
    for one, other in ((topics, little), (replace(topics, guarantee=half), replace(little, guarantee=half))):
        text = page.render(one, counts=other)
        assert 'class="badge doubtful"' in text
        assert 'class="card doubtful"' in text
        assert "is above 8" in text
        assert 'class="card proved"' not in text


def test_promises_that_do_not_add_up_are_both_stated(topics):
    counts = counts_of(topics.value)
    documents = replace(counts, guarantee=replace(guarantee(sigma=0.5), unit=Unit.DOCUMENT))
    text = page.render(topics, counts=documents)
    badge = text.split('class="badge')[1].split("</a>")[0]
    assert f"topics: ε = {show(topics.guarantee.epsilon)}, proved; counts: ε = " in badge
    assert "doubtful" in badge
    assert 'class="card proved"' in text
    assert 'class="card doubtful"' in text
    assert "cannot be composed" in text
    assert text.count("<caption>Belief before and after") == 2


def test_a_ledger_that_holds_both_marks_both(topics, tmp_path):
    counts = replace(counts_of(topics.value), guarantee=guarantee(sigma=4.0))
    ledger = Ledger.create(tmp_path / "both.ledger", epsilon=9, delta=1e-3)
    ledger.charge(topics.guarantee, "topics")
    ledger.charge(counts.guarantee, "counts")
    text = page.render(topics, counts=counts, ledger=ledger.to_dict())
    assert "This release is charge 1. The release of counts is charge 2." in text
    assert "On this page?" in text


def test_words_stand_in_the_order_of_the_terminal(topics):
    """Of one release there is one order, by relevance, in the overview, in the table and on the terminal."""
    text = page.render(topics)
    for k, words in enumerate(topics.value.top_words(10)):
        listed = ", ".join(f"<bdi>{word}</bdi>" for word in words)
        assert f">{listed}</td>" in text.split('id="all-topics"')[1]
        first = ", ".join(f"<bdi>{word}</bdi>" for word in words[:6])
        assert first in text.split('id="overview"')[1].split(f'data-topic="{k}"')[1].split("</tr>")[0]


def test_the_page_names_the_mechanism_as_its_record_does(topics):
    plan = {"mechanism": "embedded", "job": "topics", "vocabulary": "common", "prior": None, "text": None}
    plan |= {"max_docs": None, "max_words": None, "unit": "author"}
    record = Record(version="1", day="2026-01-01", plan=plan)
    text = page.render(replace(topics, record=record))
    assert "mechanism <q>embedded</q>" in text
    assert "vocabulary-then-topics" not in text


@pytest.mark.parametrize("deltas", [(1e-6, 1e-6), (1e-4, 1e-8)])
@pytest.mark.parametrize("sigmas", [(4.0, 0.7), (1.0, 1.0), (0.7, 20.0)])
def test_the_whole_costs_no_less_than_a_part_and_no_more_than_their_sum(sigmas, deltas):
    parts = [replace(guarantee(sigma=sigma), delta=delta) for sigma, delta in zip(sigmas, deltas, strict=True)]
    whole = together(parts)
    assert whole.epsilon <= sum(part.epsilon for part in parts) * (1 + 1e-6)
    if deltas[0] == deltas[1]:
        assert whole.epsilon >= max(part.epsilon for part in parts)
        assert whole.delta == deltas[0]


def test_failures_that_use_up_a_delta_are_stated_at_the_sum():
    part = replace(guarantee(), events=(ev.Gaussian(3.0), ev.Failure(0.6e-6)))
    whole = together([part, part])
    assert whole.delta == 2e-6
    assert part.epsilon < whole.epsilon <= 2 * part.epsilon
