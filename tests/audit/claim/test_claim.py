"""Audits of claims: planted holes are found, honest mechanisms are not accused, and it is said what could be seen."""

from dataclasses import replace

import numpy as np
import pytest

import planted_holes
from dptopics.audit.claim.designs import Design, Person, background, invented, over_fewer_words, planted
from dptopics.audit.claim.examiner import ERROR, Effort, audit_claim
from dptopics.audit.claim.finding import NOT_ENOUGH, NOTHING_FOUND, Check, ClaimAudit, Finding
from dptopics.audit.summary import Light
from dptopics.core.errors import PrivacyError
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.cells import invented_cells
from dptopics.data.corpus import Corpus
from dptopics.data.public_inputs import PublicNgrams
from dptopics.mechanisms.topics import gaussian, variational
from dptopics.mechanisms.topics.mixture import MixtureTopics
from dptopics.plan import Plan
from dptopics.privacy.controls import share_of_noise, under_noised
from dptopics.privacy.events import Relation
from dptopics.privacy.guarantee import Strength
from dptopics.privacy.rng import secure_rng

QUICK = Effort(trials=300, runs=40, units=20, strangers=2, seconds=10)
LIST = Vocabulary.public(sorted(f"word{a}{b}" for a in "abcdef" for b in "ghijkl"))
COMMON = {"epsilon": 1.0, "delta": 1e-6, "unit": "author"}


def data(n=60, vocabulary=None):
    texts = [f"word{'abcdef'[i % 6]}{'ghijkl'[i % 5]} word{'abcdef'[i % 4]}g and more of it" for i in range(n)]
    return Corpus.from_texts(texts, [f"author {i // 2}" for i in range(n)], vocabulary=vocabulary)


def topics(name, **more):
    return Plan.topics(mechanism=name, n_topics=3, vocabulary=LIST, **COMMON, **more).build()


def words(name="weighted", **more):
    return Plan.words(mechanism=name, **COMMON, **more).build()


@pytest.mark.parametrize("name", ["variational", "mixture"])
def test_honest_topics_are_not_accused_and_everything_is_tried(name):
    found = audit_claim(topics(name), data())
    assert found.verdict == NOTHING_FOUND
    assert found.light is Light.GREEN
    assert found.reach > 0.95
    checked = {one.name: one for one in found.checks}
    assert checked.keys() == {"sums", "answers", "price", "replay", "beside", "noise", "distinguishing"}
    assert "noise left out in one run of 100" in checked["noise"].could_see
    assert all(one.enough for one in found.checks)


def test_a_small_effort_is_not_enough():
    found = audit_claim(topics("mixture"), data(), effort=QUICK)
    assert (found.verdict, found.light) == (NOT_ENOUGH, Light.AMBER)
    assert {one.name for one in found.checks if not one.enough} == {"sums", "noise", "distinguishing"}
    assert "300 trials" in [one.tried for one in found.checks]


def test_a_canary_that_does_not_fill_what_is_priced_is_not_enough():
    found = audit_claim(topics("spectral"), data(), effort=replace(QUICK, strangers=12))
    assert found.reach < 0.9
    assert not next(one for one in found.checks if one.name == "sums").enough
    assert found.light is Light.AMBER


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_honest_words_are_not_accused_and_their_threshold_is_tested(noise):
    found = audit_claim(words(noise=noise), data())
    assert found.verdict == NOTHING_FOUND
    assert "lone words" in {one.name for one in found.checks}


def test_few_false_alarms():
    """40 short audits: one in 10,000 would be called violated by chance."""
    mechanism, corpus = words(), data()
    short = replace(QUICK, trials=64)
    assert not any(audit_claim(mechanism, corpus, effort=short).violated for _ in range(40))


# How likely it is that a short audit meets a run without noise: 40 runs are too few for one in a hundred.
RARE = "no noise in one run of a hundred"
ANYWHERE = ("", "topics", "columns", "queries", "clipped", "checks", "unlike")
OF_TOPICS = [name for name, (_, needs) in planted_holes.HOLES.items() if needs in ANYWHERE]


@pytest.mark.parametrize("name", OF_TOPICS)
def test_holes_in_topics_are_found(name):
    corpus, mechanism = data(), topics("mixture")
    effort = replace(QUICK, runs=700) if name == RARE else QUICK
    with planted_holes.HOLES[name][0]():
        assert audit_claim(mechanism, corpus, effort=effort).verdict == "violated"


OF_WORDS = [name for name, (_, needs) in planted_holes.HOLES.items() if needs in ("", "words", "checks", "unlike")]


@pytest.mark.parametrize("name", [name for name in OF_WORDS if name != RARE])
def test_holes_in_words_are_found(name):
    corpus, mechanism = data(), words()
    with planted_holes.HOLES[name][0]():
        found = audit_claim(mechanism, corpus, effort=QUICK)
    assert found.verdict == "violated"
    assert found.light is Light.RED


OF_COUNTS = [name for name, (_, needs) in planted_holes.HOLES.items() if needs in ("cells", "tables", "numbers")]


@pytest.mark.parametrize("name", OF_COUNTS)
def test_holes_in_counts_are_found(name):
    table = {"axes": ("topic", "ward"), "values": (tuple("0123456789"), ("a", "b", "c"))}
    mechanism = Plan.counts(number="stars", number_range=(1.0, 5.0), **table, **COMMON).build()
    corpus = invented_cells(mechanism.entries.n_cells, with_authors=True, with_numbers=True)
    with planted_holes.HOLES[name][0]():
        assert audit_claim(mechanism, corpus, effort=QUICK).verdict == "violated"


@pytest.mark.parametrize("name", ["noise/8", "noise/8 in one part", "documents as units", "last cell without noise"])
def test_holes_in_a_pipeline_are_found(name):
    mechanism = Plan.topics(mechanism="mixture", n_topics=2, vocabulary="weighted", **COMMON).build()
    with planted_holes.HOLES[name][0]():
        assert audit_claim(mechanism, data(), effort=QUICK).verdict == "violated"


@pytest.mark.parametrize("name", ["no noise", "noise/8", "clipping off", "one draw for all cells"])
def test_holes_in_ngrams_are_found(name):
    prior = PublicNgrams.of({word: 3.0 for word in LIST.words})
    mechanism = Plan.ngrams(mechanism="bayes", prior=prior, max_words=5, **COMMON).build()
    corpus = data(vocabulary=prior.vocabulary)
    assert not audit_claim(mechanism, corpus, effort=QUICK).violated
    with planted_holes.HOLES[name][0]():
        assert audit_claim(mechanism, corpus, effort=QUICK).verdict == "violated"


def test_noise_that_spares_empty_cells_is_found():
    with planted_holes.noise_where_there_is_something():
        found = audit_claim(topics("mixture"), data(), effort=QUICK)
    assert found.violated
    assert found.findings[0].check == "answers"


def test_a_leak_past_the_noisy_sums_is_found(monkeypatch):
    """The mechanism adds the exact number of units to what it releases."""
    honest = variational.VariationalTopics.__call__

    def leaking(self, corpus, rng):
        release = honest(self, corpus, rng)
        n = int(corpus.fold(lambda seen, block: seen + block.unit_start.size - 1, 0))
        return replace(release, value=replace(release.value, alpha=0.1 + n * 1e-6))

    monkeypatch.setattr(variational.VariationalTopics, "__call__", leaking)
    found = audit_claim(topics("variational"), data(), effort=QUICK)
    assert [one.what for one in found.findings] == ["a fold over units is taken outside its queries."]


def test_a_price_for_less_noise_than_is_drawn_is_found(monkeypatch):
    honest = variational.VariationalTopics.guarantee.fget
    monkeypatch.setattr(
        variational.VariationalTopics, "guarantee", property(lambda self: honest(replace(self, sigma=2 * self.sigma)))
    )
    found = audit_claim(topics("variational"), data(), effort=QUICK)
    assert found.findings[0].check == "price"


def test_noise_out_of_sight_is_inconclusive_and_its_absence_is_found(monkeypatch):
    def own(share):
        def noisy_sum(corpus, statistic, *, bound, sigma, rng, sample=None):
            exact = corpus.bounded_sum(statistic, bound=bound, grid=2.0**-20, sample=sample) * 2.0**-20
            return exact + share * sigma * bound * np.random.default_rng().standard_normal(exact.shape)

        return noisy_sum

    for module in (variational, gaussian):
        monkeypatch.setattr(module, "noisy_sum", own(1.0))
    assert audit_claim(topics("variational"), data(), effort=QUICK).findings[0].check == "beside"  # it says `proved`
    honest = variational.VariationalTopics.guarantee.fget
    claimed = property(lambda self: honest(self).weakened(Strength.CLAIMED, "Not proved."))
    monkeypatch.setattr(variational.VariationalTopics, "guarantee", claimed)
    found = audit_claim(topics("variational"), data(), effort=QUICK)
    assert found.verdict == NOT_ENOUGH
    assert found.light is Light.AMBER
    assert any("cannot observe" in note for note in found.notes)
    for module in (variational, gaussian):
        monkeypatch.setattr(module, "noisy_sum", own(0.0))
    assert audit_claim(topics("variational"), data(), effort=QUICK).verdict == "violated"


@pytest.mark.parametrize(("name", "relation"), [("laplace", Relation.REPLACE), ("zhao", Relation.REPLACE_WORD)])
def test_other_relations_are_audited_under_their_own(name, relation):
    mechanism = topics(name)
    assert mechanism.guarantee.relation is relation
    found = audit_claim(mechanism, data(), effort=replace(QUICK, trials=64, seconds=3))
    assert found.claim.relation is relation
    assert not found.violated


def test_a_mechanism_that_claims_nothing_is_refused():
    mechanism = Plan.topics(mechanism="mixture", n_topics=3, vocabulary=LIST, **COMMON).build().vocabulary
    with pytest.raises(PrivacyError, match="claims no ε"):
        audit_claim(mechanism, data(), effort=QUICK)


# --- what goes wrong ---


def patched(monkeypatch, change):
    """Mixtures whose runs end as ``change(run, self, corpus, rng)`` does."""
    honest = MixtureTopics.__call__
    monkeypatch.setattr(MixtureTopics, "__call__", lambda self, *more: change(honest, self, *more))
    return topics("mixture")


def test_a_mechanism_that_fails_now_and_then_is_not_green(monkeypatch):
    count = iter(range(10**6))

    def failing(run, self, *more):
        if next(count) % 10 == 9:
            raise RuntimeError("a word of the data")
        return run(self, *more)

    found = audit_claim(patched(monkeypatch, failing), data(), effort=QUICK)
    assert (found.verdict, found.light) == (NOT_ENOUGH, Light.AMBER)
    assert any("runs failed (RuntimeError)" in note for note in found.notes)
    assert "a word of the data" not in str(found.to_dict())


def test_numbers_that_are_not_finite_follow_from_the_answers_too(monkeypatch):
    def empty(run, self, *more):
        release = run(self, *more)
        object.__setattr__(release.value, "topic_share", release.value.topic_share * np.nan)
        return release

    assert not audit_claim(patched(monkeypatch, empty), data(), effort=QUICK).violated


def test_an_interrupted_audit_ends_at_once(monkeypatch):
    def interrupted(run, self, *more):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit_claim(patched(monkeypatch, interrupted), data(), effort=QUICK)


# --- controls ---


def test_what_is_released_under_a_control_promises_nothing():
    bounded = data().bounded(unit="author")
    with under_noised(1 / 8):
        assert share_of_noise() == 1 / 8
        release = topics("mixture")(bounded, secure_rng())
    assert release.guarantee.strength is Strength.NONE
    assert share_of_noise() == 1.0
    assert topics("mixture")(bounded, secure_rng()).guarantee.strength is Strength.PROVED


# --- canaries ---


def test_planted_people_are_new_authors_with_their_documents():
    corpus = data(10)
    more = planted(corpus, [Person(({"new": 3}, {"new": 1, "more": 2})), Person(({"more": 1},))])
    assert (more.n_documents, more.n_authors) == (13, corpus.n_authors + 2)
    assert more.author[-3:].tolist() == [corpus.n_authors, corpus.n_authors, corpus.n_authors + 1]
    assert np.unique(more.author_key).size == more.author_key.size
    assert more.count[-4:].tolist() in ([3, 2, 1, 1], [3, 1, 2, 1])
    assert planted(corpus, []) is corpus


def test_invented_words_do_not_occur_in_the_data():
    corpus = Corpus.from_texts(["canarya canaryb wrote this"], ["x"])
    assert not set(invented(corpus, 5)) & set(corpus.words)
    ngrams = replace(corpus, text=replace(corpus.text, ngrams=2))
    assert all(len(word.split()) == 2 for word in invented(ngrams, 3))


def test_a_background_keeps_authors_whole():
    corpus = data(60)
    some = background(corpus, 7)
    assert np.unique(some.author).size == 7
    assert some.n_documents == 14
    assert background(replace(corpus, author=None, author_key=None), 5).n_documents == 5


def test_most_of_an_audit_takes_fewer_public_words():
    many = Vocabulary.public(
        sorted({f"w{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{chr(97 + i // 676)}" for i in range(3000)})
    )
    mechanism = Plan.topics(mechanism="mixture", n_topics=3, vocabulary=many, **COMMON).build()
    fewer = over_fewer_words(mechanism, data())
    assert len(fewer.vocabulary.public_words) < 1600 < len(mechanism.vocabulary.public_words)
    assert fewer.guarantee.epsilon == mechanism.guarantee.epsilon
    assert over_fewer_words(topics("mixture"), data()).vocabulary.public_words == LIST.words


# --- what is said ---


def result(**more):
    settings = {"mechanism": "m", "claim": words().guarantee, "findings": (), "checks": (), "notes": ()}
    settings |= {"canary": "one", "reach": 1.0, "error": ERROR, "seconds": 1.0, "distinguishing": None}
    return ClaimAudit(**(settings | more))


def test_a_verdict_never_says_more_than_was_seen():
    full, short = Check("noise", "460 runs", "half", True), Check("noise", "4 runs", "nothing", False)
    assert result().verdict == NOT_ENOUGH
    assert result(checks=(full, short)).verdict == NOT_ENOUGH
    assert result(checks=(full,), notes=("Not repeatable.",)).light is Light.AMBER
    assert result(checks=(full,)).light is Light.GREEN
    broken = result(checks=(full,), findings=(Finding("noise", "none", 1e-9),))
    assert (broken.verdict, broken.light) == ("violated", Light.RED)
    assert broken.summary().rows[0][1] == "VIOLATED"
    assert any("Not examined: " in line for line in result().summary().reasons)


def test_everything_that_is_written_is_marked(tmp_path):
    found = audit_claim(words(), data(), effort=replace(QUICK, trials=64))
    found.save(tmp_path)
    assert '"not_for_release": true' in (tmp_path / "audit.json").read_text()
    page = (tmp_path / "audit.html").read_text()
    assert "NOT FOR RELEASE" in page
    assert "Could have seen" in page


def test_a_design_has_neighbours():
    corpus = data(10)
    one, other = Person(({"a": 1},)), Person(({"b": 1},))
    without, within = Design("x", one, None, (other,)).pair(corpus)
    assert (without.n_documents, within.n_documents) == (11, 12)
    replaced = Design("x", one, other).pair(corpus)
    assert [each.n_documents for each in replaced] == [11, 11]
