"""Themes of a public atlas: bounds of each query, one budget on every path, and what comes out."""

from dataclasses import replace

import numpy as np
import pytest

from dptopics import Corpus, Vocabulary
from dptopics.core.errors import InputError, PrivacyError
from dptopics.core.text import TextSettings
from dptopics.data.bounded import Placed
from dptopics.kernels.embedded import in_steps
from dptopics.mechanisms.budget import Budget
from dptopics.mechanisms.queries import watched_by
from dptopics.mechanisms.topics.atlas import (
    FEWEST_THEMES,
    NEAR,
    Along,
    Nearby,
    Places,
    Units,
    public_chart,
    soft_places,
    theme_axes,
)
from dptopics.mechanisms.topics.embedded import Split
from dptopics.mechanisms.topics.embedded_space import Sums
from dptopics.plan import Plan
from dptopics.privacy.events import Gaussian, to_replace_one
from dptopics.privacy.pricing import epsilon_of
from dptopics.public.atlas import shipped
from dptopics.public.embeddings import unit
from dptopics.release import bundle, report
from dptopics.release.labels import theme_names
from dptopics.release.themes import MARK, REST, Themes

TEXT = TextSettings()
ATLAS = shipped("english")
SUBJECTS = ("Diabetes", "Prescription refills", "Medical bills", "Back and neck pain")


def planned(**more):
    given = {"n_topics": 4, "epsilon": 1.0, "delta": 1e-5, "unit": "document", "text": TEXT, "vocabulary": "common"}
    return Plan.topics(**(given | more))


def texts(n, seed=0):
    """What people might write about four subjects: sentences of the atlas, two at a time."""
    draw = np.random.default_rng(seed)
    themes = [ATLAS.themes[ATLAS.names.index(name)] for name in SUBJECTS]
    label = draw.integers(len(themes), size=n)
    return [" ".join(draw.choice(themes[k].sentences, 2)) for k in label], label


@pytest.fixture(scope="module")
def few():
    said, label = texts(500)
    corpus = Corpus.from_texts(said, settings=TEXT).bounded(unit="document")
    return said, label, corpus, planned().build()


@pytest.fixture(scope="module")
def released(few):
    _, _, corpus, mechanism = few
    return mechanism(corpus, np.random.default_rng(1))


class Recorder:
    def __init__(self):
        self.queries = []

    def query(self, query):
        self.queries.append(query)

    def private_query(self, draw):
        return draw()


def spent(mechanism, corpus):
    """Σ 1/multiplier² of all queries of one run."""
    recorder = Recorder()
    with watched_by(recorder):
        mechanism(corpus, np.random.default_rng(0))
    return sum((q.sensitivity / q.scale) ** 2 for q in recorder.queries), len(recorder.queries)


def test_a_budget_is_never_overdrawn():
    budget = Budget(2.0, signed=0.4)
    assert budget.pay(budget.of(0.5)) == pytest.approx(2 / 0.5**0.5)
    budget.pay(budget.of(0.3), signed=True)
    for wrong in (
        (budget.of(0.15), True),
        (budget.of(0.21), False),
        (0.0, False),
        (-1.0, False),
        (float("nan"), False),
    ):
        with pytest.raises(PrivacyError):
            budget.pay(wrong[0], signed=wrong[1])
    assert budget.left == pytest.approx(0.2)
    budget.pay(budget.of(budget.left))
    with pytest.raises(PrivacyError):
        budget.pay(1e3)


def test_a_budget_costs_one_gaussian():
    events = Budget(2.0, signed=0.4).events
    assert epsilon_of(events, 1e-6) == pytest.approx(epsilon_of((Gaussian(2.0),), 1e-6), rel=1e-6)
    replaced = to_replace_one(events)
    # 0.4 of it moves by twice the bound, the rest by √2 times.
    assert sum(1 / e.sigma**2 for e in replaced) == pytest.approx((0.4 * 4 + 0.6 * 2) / 4)


@pytest.mark.parametrize("size", [1, 600, 700, 1000, 1499, 1500, 3999])
def test_every_path_stays_within_the_shares(size):
    split = Split.of(size)
    mechanism = planned().build().topics
    first = (mechanism.sigma / mechanism.count_sigma) ** 2
    assert first + sum(split) < 0.97  # something is left to count sizes with
    assert split.rounds <= mechanism.budget.signed
    assert first + sum(Split.of(size, 0.04)) + 0.04 < 0.97


@pytest.mark.parametrize(
    "n, more", [(60, {}), (300, {"few": 0}), (900, {}), (1700, {}), (300, {"examples_from": 0}), (2800, {})]
)
def test_every_path_costs_at_most_what_is_priced(n, more):
    corpus = Corpus.from_texts(texts(n)[0], settings=TEXT).bounded(unit="document")
    built = planned(**more).build()
    cost, queries = spent(built, corpus)
    assert queries >= 4
    assert cost <= sum(e.count / e.sigma**2 for e in built.guarantee.events) * (1 + 1e-6)


def test_places_have_norm_one_and_are_not_negative(few):
    _, _, corpus, mechanism = few
    chart = chart_of(mechanism)
    statistic = Placed(Places(chart.centres), chart.documents)
    start, rows, values = statistic(block_of(corpus))
    assert values.min() >= 0
    for u in range(start.size - 1):
        own = np.zeros(statistic.height)
        np.add.at(own, rows[start[u] : start[u + 1]], values[start[u] : start[u + 1], 0])
        assert np.linalg.norm(own) <= 1 + 1e-9


def chart_of(mechanism):
    topics, words = mechanism.topics, mechanism.vocabulary.vocabulary
    return public_chart(ATLAS, Vocabulary(words.words), topics.embedding, TEXT, 128, 1.0)


def block_of(corpus):
    found = []
    words = planned().build().vocabulary.vocabulary
    corpus.limited(vocabulary=words).fold(lambda state, block: found.append(block) or state, 0)
    return found[0]


def test_soft_places_do_not_depend_on_neighbours():
    draw = np.random.default_rng(0)
    documents, themes = (unit(draw.normal(size=(n, 6))) for n in (9, 40))
    documents = in_steps(documents)
    documents[4] = 0
    found, values = soft_places(documents, themes)
    assert found.shape == (9, NEAR)
    assert not values[4].any()
    for d in range(9):
        alone = soft_places(documents[d : d + 1], themes)
        assert np.array_equal(alone[0][0], found[d])
        assert np.array_equal(alone[1][0], values[d])
    slow = np.argsort(-(documents.astype(int) @ in_steps(themes).astype(int).T), axis=1, kind="stable")[:, :NEAR]
    assert np.array_equal(np.delete(found, 4, 0), np.delete(slow, 4, 0))


def test_what_noise_makes_of_nothing_is_not_taken_for_sure(few):
    mechanism = few[3]
    chart, draw = chart_of(mechanism), np.random.default_rng(0)
    found = [len(chart.shown(draw.normal(0, 5, len(chart.centres)), 5.0)) for _ in range(5)]
    assert found == [FEWEST_THEMES] * 5
    exact = chart.looks[:, :12].sum(axis=1) * 60
    assert set(range(12)) <= set(chart.shown(exact + draw.normal(0, 5, exact.size), 5.0).tolist())


def test_units_count_once_and_rounds_have_norm_one(few):
    _, _, corpus, mechanism = few
    block, chart = block_of(corpus), chart_of(mechanism)
    start, _, values = Units()(block)
    assert np.array_equal(start, np.arange(block.unit_start.size))
    assert np.array_equal(values, np.ones((start.size - 1, 1)))
    along = Along(chart.documents, theme_axes(chart.centres, np.ones(len(chart.centres)), 24))
    rows = Placed(Sums(np.eye(along.axes.shape[1])[:3], 0.0), along)(block).values
    assert np.linalg.norm(rows, axis=1).max() <= 1 + 1e-4  # but for steps, which the sum's own bound covers
    assert not rows[:, -1].any()


def test_what_all_themes_share_is_taken_off():
    draw = np.random.default_rng(0)
    apart = draw.normal(size=(40, 6))
    alike = apart + 9.0 * np.eye(6)[0]
    apart /= np.linalg.norm(apart, axis=1, keepdims=True)
    alike /= np.linalg.norm(alike, axis=1, keepdims=True)
    middle = alike.mean(axis=0) / np.linalg.norm(alike.mean(axis=0))
    assert np.linalg.norm(middle @ theme_axes(alike, np.ones(40), 24)) < 0.1
    assert np.allclose(np.linalg.svd(theme_axes(apart, np.ones(40), 24))[1], 1)  # all of it stays


def test_planted_subjects_are_shown_and_named(few, released):
    said, label, _, _ = few
    model = released.value
    shown = [row.name for row in model.themes.rows()]
    assert sum(name in shown for name in SUBJECTS) >= 3
    names = theme_names(model)
    assert len(set(names)) == len(names) == model.n_topics
    agree = np.mean([np.bincount(label[model.assign(said) == k], minlength=4).max() for k in range(4)]) * 4 / 500
    assert agree > 0.7
    assert model.top_words() == [[]] * model.n_topics  # nobody voted for a word


def test_sizes_add_up_and_their_intervals_hold(few):
    _, _, corpus, mechanism = few
    covered = []
    for seed in range(6):
        themes = mechanism(corpus, np.random.default_rng(seed)).value.themes
        true = exact(themes, corpus)
        assert true.sum() == pytest.approx(500)
        rows = themes.rows()
        covered += [row.size.low <= value <= row.size.high for row, value in zip(rows, true, strict=True)]
        domains = themes.domains()
        n = len(themes.shown)
        for d, row in enumerate(domains):
            whole = true[n + d] + true[:n][themes.domain_of[themes.shown] == d].sum()
            covered.append(row.size.low <= whole <= row.size.high)
    # Of 600 rows: fewer than 90 % would have a chance below 1e-6.
    assert np.mean(covered) > 0.9


def exact(themes, corpus):
    """Sizes without noise, by the rule that the release states."""
    from dptopics.mechanisms.topics.atlas import Belonging

    mechanism = planned().build()
    chart = chart_of(mechanism)
    limited = corpus.limited(vocabulary=mechanism.vocabulary.vocabulary)
    belonging = Placed(Belonging(themes), chart.documents)
    return limited.bounded_sum(belonging, bound=1.0, grid=2.0**-20)[:, 0] * 2.0**-20


@pytest.fixture(scope="module")
def voted(few):
    """Themes with the votes for their sentences: little noise, and people who write one document or two."""
    said = few[0]
    corpus = Corpus.from_texts(said, [max(0, i - 40) // 2 for i in range(500)], settings=TEXT)
    mechanism = planned(unit="author", epsilon=60.0, examples_from=0).build()
    return corpus, mechanism, mechanism(corpus.bounded(unit="author"), np.random.default_rng(0))


def votes_of(themes, corpus):
    """Votes without noise for each sentence of the shown themes, and these sentences with their themes."""
    chart, words = chart_of(planned().build()), planned().build().vocabulary.vocabulary
    kept = np.flatnonzero(np.isin(chart.said_of, themes.shown))
    nearby = Placed(Nearby(themes, chart.sentences[kept], chart.said_of[kept]), chart.documents)
    limited = corpus.bounded(unit="author").limited(vocabulary=words)
    sums = limited.bounded_sum(nearby, bound=1.0, grid=2.0**-20)[:, 0] * 2.0**-20
    said = [sentence for theme in ATLAS.themes for sentence in theme.sentences]
    return sums, [said[k] for k in kept], chart.said_of[kept]


def test_a_person_has_one_vote_for_sentences(voted):
    corpus, _, release = voted
    themes = release.value.themes
    before, said, theme = votes_of(themes, corpus)
    rows = np.arange(corpus.n_documents)
    for gone in (0, 3, 100, 200):  # the first wrote some forty documents
        less, again, _ = votes_of(themes, corpus.take(rows[corpus.author != gone]))
        assert again == said
        assert np.abs(before - less).sum() <= 1 + 1e-6
    belong = np.array([before[theme == j].sum() for j in themes.shown])
    assert np.all(belong <= themes.noisy[: len(belong)] + 5 * themes.noise_std)


def test_examples_are_what_most_people_voted_for(voted):
    corpus, _, release = voted
    themes = release.value.themes
    votes, said, theme = votes_of(themes, corpus)
    shown = {row.name: row.examples for row in themes.rows() if row.examples}
    assert set(SUBJECTS) <= shown.keys()
    for name, examples in shown.items():
        own = sorted(votes[theme == ATLAS.names.index(name)])
        assert len(examples) <= 2
        assert set(examples) <= set(ATLAS.themes[ATLAS.names.index(name)].sentences)
        # At ε = 60 the noise is below two votes: only near ties may be decided by it.
        assert all(votes[said.index(one)] >= own[-len(examples)] - 8 for one in examples)


def test_few_people_spend_nothing_on_examples(few):
    corpus, mechanism = few[2], few[3]
    assert mechanism(corpus, np.random.default_rng(0)).value.themes.examples == ()
    assert spent(planned(examples_from=0).build(), corpus)[1] == spent(mechanism, corpus)[1] + 1
    noisy = planned(examples_from=0, epsilon=0.2).build()(corpus, np.random.default_rng(0)).value.themes
    assert noisy.examples
    assert not any(noisy.examples)  # nothing stands above so much noise


def test_an_atlas_without_sentences_has_no_examples(few):
    own = replace(ATLAS, themes=tuple(replace(theme, sentences=()) for theme in ATLAS.themes[::9]))
    found = planned(atlas=own, examples_from=0).build()(few[2], np.random.default_rng(0)).value.themes
    assert found.examples == ()


def test_examples_are_marked_on_the_page_and_kept(voted, tmp_path):
    release = voted[2]
    bundle.save(release, tmp_path / "r")
    again = bundle.load(tmp_path / "r")
    assert again.value.themes.examples == release.value.themes.examples
    many = sum(len(row.examples) for row in again.value.themes.rows())
    page = report.write(again, tmp_path / "page.html").read_text("utf-8")
    assert page.count(MARK) == many >= 4
    assert 'id="tree"' not in page  # topics are there to count by
    fields = again.value.themes.fields()
    del fields["examples"]  # as before version 0.2.0
    older = Themes.restored(again.value.themes.arrays(), fields)
    assert not any(row.examples for row in older.rows())
    assert MARK not in report.write(
        replace(again, value=replace(again.value, themes=older)), tmp_path / "o.html"
    ).read_text("utf-8")


def test_a_release_of_themes_survives_its_bundle(few, released, tmp_path):
    said = few[0][:50]
    bundle.save(released, tmp_path / "r")
    again = bundle.load(tmp_path / "r").value
    assert again.themes.rows() == released.value.themes.rows()
    assert np.array_equal(again.transform(said), released.value.transform(said))
    assert REST in (tmp_path / "r" / "themes.csv").read_text()


def test_many_units_become_clusters(few):
    _, _, corpus, _ = few
    model = planned(few=100).build()(corpus, np.random.default_rng(0)).value
    assert model.themes is None


@pytest.mark.parametrize(
    "more",
    [{"mechanism": "mixture"}, {"text": None}, {"vocabulary": "weighted"}, {"seed_words": [["knee"]]}],
)
def test_what_leaves_the_atlas_out(more):
    assert "atlas" not in planned(**({"mechanism": "embedded"} | more)).settings
    with pytest.raises(InputError, match="an atlas needs"):
        planned(**({"mechanism": "embedded", "atlas": ATLAS} | more))


def test_an_atlas_that_changed_is_refused(tmp_path):
    own = tmp_path / "own.md"
    own.write_text("## One\nwords: knee pain\n## Two\nwords: pills refill\n", "utf-8")
    plan = planned(atlas=own)
    assert Plan.from_dict(plan.to_dict(), folder=tmp_path) == plan
    own.write_text("## One\nwords: knee pain\n## Two\nwords: pills refills\n", "utf-8")
    with pytest.raises(InputError, match="changed since the plan was made"):
        Plan.from_dict(plan.to_dict(), folder=tmp_path)
    other = replace(plan, settings=plan.settings | {"atlas": replace(plan.settings["atlas"], name="gone.md")})
    with pytest.raises(InputError, match="is missing"):
        Plan.from_dict(other.to_dict(), folder=tmp_path)


def test_the_mechanism_atlas_shows_themes_of_any_number(few):
    _, _, corpus, _ = few
    built = planned(mechanism="atlas").build()
    assert built(corpus, np.random.default_rng(0)).value.themes is not None
    with pytest.raises(InputError, match="has no setting steps"):
        planned(mechanism="atlas", steps=3).build()
