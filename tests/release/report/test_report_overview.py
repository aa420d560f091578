"""Overview, trends, maps and tree: what they show, what they refuse, and nothing that gets out of its place."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from test_report import EVIL, Reader, guarantee, release, topic_model

from cubes import cube
from dptopics import CountTable, InputError, Ledger, Release, Strength, Unit
from dptopics.privacy import events as ev
from dptopics.privacy.card import show
from dptopics.privacy.guarantee import composed
from dptopics.release import report as page
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


def test_the_page_opens_with_its_sentence_then_sizes_words_and_the_guarantee(topics):
    text = page.render(topics)
    places = [text.index(f'id="{part}"') for part in ("words", "tree", "guarantee", "origin", "data")]
    assert places == sorted(places)
    assert "<h1>What people wrote about: six subjects</h1>" in text
    assert "95 % interval" not in text.split('id="words"')[0]
    assert "The sizes of topics were not counted." in text
    assert "Seeing this page improves the odds of guessing whether one author is in the data or not at most" in text


def sized(topics, noisy=(500.0, 90, 180, 70, 3, -4, 2)):
    sizes = TopicSizes(noisy=np.array(noisy), noise=np.full(len(noisy), 10.0), unit="author")
    return replace(topics, value=replace(topics.value, sizes=sizes))


def test_sizes_are_sorted_and_printed_with_their_intervals(topics):
    text = page.render(sized(topics))
    words = Reader(text).words
    assert "Authors (95 % interval)" in words
    for shown in ("500 (480 to 520)", "3 (0 to 23)", "0 (0 to 16)", "About 841 (789 to 893) authors in total"):
        assert shown in words
    first = words.split("The words of each topic")[0]
    assert [first.index(f"topic {k} ") for k in (0, 2, 1, 3, 4, 5)] == sorted(
        first.index(f"topic {k} ") for k in range(6)
    )


def test_the_sentence_counts_what_the_noise_leaves_no_doubt_about(topics):
    text = page.render(sized(topics))
    assert "<h1>What about 841 people wrote about: four subjects</h1>" in text
    folded = text.split("<details>")[1].split("</details>")[0]
    assert "2 more whose interval reaches 0" in folded
    assert folded.count("<li>") == 2
    documents = replace(sized(topics), guarantee=replace(guarantee(), unit=Unit.DOCUMENT))
    sizes = replace(documents.value.sizes, unit="document")
    text = page.render(replace(documents, value=replace(documents.value, sizes=sizes)))
    assert "<h1>What about 841 texts are about: four subjects</h1>" in text


def test_title_day_and_source_stand_above(topics):
    record = Record(version="1", day="2026-03-01", title="Notes <2026>", description="Notes of one clinic.")
    text = page.render(replace(topics, record=record))
    assert "<title>Notes &lt;2026&gt;</title>" in text
    header = text.split("<header>")[1].split("</header>")[0]
    assert header.startswith('<h1>Notes &lt;2026&gt;</h1><p class="lead">What people wrote about: six subjects.</p>')
    assert "<p>Released on 1 March 2026. Notes of one clinic.</p>" in header


@pytest.mark.parametrize("n", [0, 1, 2, 200])
def test_any_number_of_topics(n):
    made = release(topic_model([f"word{i:03}" for i in range(120)], max(n, 1)))
    if n == 0:
        none = replace(made.value, topic_word=np.empty((0, 120)), topic_share=np.empty(0), noise_std=np.empty(0))
        made = replace(made, value=none)
    text = page.render(made)
    many = {0: "no subjects", 1: "one subject", 2: "two subjects", 200: "200 subjects"}[n]
    assert f"<h1>What people wrote about: {many}</h1>" in text
    assert text.count("<figure>") == sum(map(bool, made.value.top_words(1)))


def test_twenty_topics_fit_in_400_kilobytes():
    made = release(topic_model([f"word{i:04}" for i in range(5000)], 20))
    assert len(page.render(made, counts=counts_of(made.value)).encode()) <= 400_000


def test_names_of_any_length_and_direction(topics):
    names = ["long " * 60, "שלום", "🎉👩‍👩‍👧", "مرحبا", "a", "b"]
    text = page.render(topics, labels=labels_of(topics.value, names))
    text.encode()
    assert f"<bdi>{('long ' * 60)[:79]}…</bdi>" in text
    for name in names[1:4]:
        assert f"<bdi>{name}</bdi>" in text


def test_a_map_only_where_the_plane_shows_most_of_the_distances(topics):
    assert 'id="map"' not in page.render(topics)
    rng = np.random.default_rng(0)
    of_three = rng.dirichlet(np.full(3, 0.5), 8) @ rng.dirichlet(np.full(60, 0.1), 3)
    flat = replace(topic_model([f"w{i:02}" for i in range(60)], 8), topic_word=of_three)
    text = page.render(release(flat))
    assert 'id="map"' in text
    assert "of what tells them apart" in text


def test_one_kind_of_size_on_a_page(topics):
    words = Reader(page.render(sized(topics), counts=counts_of(topics.value))).words
    assert "500 (480 to 520)" not in words
    assert "841" not in words


def test_names_stand_in_overview_tree_and_data(topics):
    names = [EVIL[0], "knees", "skin", "sleep", "bills", ""]
    text = page.render(topics, labels=labels_of(topics.value, names))
    assert EVIL[0] not in text
    assert ">knees</text>" in text.split('id="tree"')[1]
    assert "<bdi>knees</bdi>" in text.split('id="words"')[1]
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])
    assert data["topics"][1]["label"] == "knees"
    assert data["topics"][0]["label"] == EVIL[0]


def test_counts_give_sizes_trends_and_groups(topics):
    counts = counts_of(topics.value)
    text = page.render(topics, counts=counts)
    first = counts.value.count(topic="0")
    assert f"<b>{round(first.value):,}</b> <span>(" in text.split('id="words"')[0]
    assert text.count('<polygon class="band"') == topics.value.n_topics + 1
    assert "These counts are a separate release, and cost ε = " in text
    assert 'id="by-1"' in text
    assert "NOT FOR RELEASE" not in text


def test_shares_within_groups_have_their_intervals_printed(topics):
    counts = counts_of(topics.value)
    share = counts.value.share({"topic": "0", "ward": "south"}, of={"ward": "south"})
    words = Reader(page.render(topics, counts=counts)).words
    low, high = np.floor(1000 * share.low) / 10, np.ceil(1000 * share.high) / 10
    assert f"south {100 * share.value:.1f} % ({low:.1f} to {high:.1f})" in words
    north = counts.value.share({"topic": "0", "ward": "north"}, of={"ward": "north"})
    times = counts.value.ratio(share, north)
    assert counts.value.shares_by("ward", "0", "south") == (share, times)
    assert (
        f"{times.value:.2f} times ({times.low:.2f} to {times.high:.2f})"
        in words.split("Shares beside that in north")[-1]
    )
    south = counts.value.count(topic="0", ward="south")
    assert f"{round(south.value)} ({np.floor(south.low):.0f} to {np.ceil(south.high):.0f})" in words  # in the table


def test_a_group_of_almost_nobody_gets_no_shares(topics):
    counts = counts_of(topics.value)
    cells = counts.value.cube[:-1, :-1, :-1].copy()
    cells[:, 1] = 0.1
    text = page.render(topics, counts=replace(counts, value=replace(counts.value, cube=cube(cells))))
    assert text.count("too few to say") == topics.value.n_topics + 1


def test_what_rose_and_fell_since_an_earlier_release(topics):
    counts = counts_of(topics.value)
    cells = counts.value.cube[:-1, :-1, :-1].copy()
    cells[0, 0, 0] += 400
    cells[1, 1, 1] -= 300
    later = replace(counts, value=replace(counts.value, cube=cube(cells)))
    text = page.render(later, before=counts)
    part = text.split('id="changes"')[1].split("</section>")[0]
    words = Reader(part).words
    assert re.search(r"topic 0, ward north, month 2026-01 rose \+400 \(\+\d+ to \+4\d\d\)", words)
    assert re.search(r"topic 1, ward south, month 2026-02 fell -300", words)
    assert "where noise may be all there is" in words
    values = [int(one.replace(",", "")) for one in re.findall(r"<b>([+-][\d,]+)</b>", part.split("<details>")[0])]
    assert values == sorted(values, reverse=True)
    # Bars to the left and to the right of the same zero.
    drawn = [[float(end) for end in one] for one in re.findall(r'class="size" d="M([\d.]+) 1.5H([\d.]+)V', part)]
    zero = max(min(one) for one in drawn if one)
    assert all(abs(one[0] - zero) < 0.1 or abs(one[1] - zero) < 0.1 for one in drawn)
    both = composed(counts.guarantee, counts.guarantee, delta=1e-6)
    assert f"ε = {show(both.epsilon)}, proved" in text  # of both
    assert "This page shows 2 releases" in text
    with_topics = page.render(topics, counts=later, before=counts)
    assert 'id="changes"' in with_topics
    assert "This page shows 3 releases" in with_topics
    with pytest.raises(InputError, match="compare two releases of"):
        page.render(topics, before=topics)


def test_counts_that_promise_nothing_mark_the_page(topics):
    text = page.render(topics, counts=counts_of(topics.value, strength=Strength.NONE))
    assert "NOT FOR RELEASE" in text
    assert "guarantee nothing" in text


def test_a_page_of_counts_has_trends_too(topics):
    text = page.render(counts_of(topics.value))
    assert text.count('<polygon class="band"') == topics.value.n_topics + 1
    assert "<h1>How many people, by topic, ward and month</h1>" in text


def test_a_suppressed_period_leaves_a_gap(topics):
    counts = counts_of(topics.value)
    holes = counts.value.cube.copy()
    holes[0, -1, 1] = np.nan
    text = page.render(topics, counts=replace(counts, value=replace(counts.value, cube=holes)))
    assert text.count('<polygon class="band"') == topics.value.n_topics + 2


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
    with pytest.raises(InputError, match="there is no file of labels at"):
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
    """Of one release there is one order, by relevance, on the page and on the terminal."""
    figures = page.render(topics).split('id="words"')[1].split("</section>")[0].split("<figure>")[1:]
    rows = [words for words in topics.value.top_words(10) if words]
    shown = [re.findall(r'class="name"><bdi>(.*?)</bdi>', figure) for figure in figures]
    assert sorted(shown) == sorted(rows)


def test_the_page_names_the_mechanism(topics):
    plan = {"mechanism": "embedded", "job": "topics", "vocabulary": "common", "prior": None, "text": None}
    plan |= {"max_docs": None, "max_words": None, "unit": "author"}
    record = Record(version="1", day="2026-01-01", plan=plan)
    text = page.render(replace(topics, record=record))
    assert "mechanism embedded" in text
    assert "vocabulary-then-topics" not in text
    older = page.render(replace(topics, record=Record()))
    assert "<dt>Mechanism</dt><dd>vocabulary-then-topics</dd>" in older


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


@pytest.mark.parametrize("n, said", [(0, "no subjects"), (1, "one subject"), (200, "200 subjects")])
def test_no_topic_one_and_many(n, said):
    model = topic_model([f"word{i}" for i in range(20)], max(n, 1))
    few = {
        "topic_word": model.topic_word[:n],
        "topic_share": model.topic_share[:n],
        "noise_std": model.noise_std[:n] / 1e4,
    }
    shown = replace(model, **few)
    text = page.render(release(shown))
    assert f"<h1>What people wrote about: {said}</h1>" in text
    assert text.count("<figcaption>") == n


@pytest.mark.parametrize(
    "name",
    ["n" * 300, "a name " * 40, "آلام الركبة", "\U0001f9b5\u200d\U0001f468 legs", "\u202elive", "tab\tand\nline"],
)
def test_names_of_any_kind_stay_in_their_place(topics, name):
    labels = labels_of(topics.value, [name] * topics.value.n_topics)
    labels["labels"][0]["sentence"] = name * 3
    text = page.render(topics, labels=labels)
    captions = re.findall(r"<figcaption><bdi>(.*?)</bdi>", text, re.DOTALL)
    assert captions
    assert all(len(one) <= 81 for one in captions)
    assert f'<p dir="auto">{(name * 3)[:300]}</p>' in text
