"""Planted documents: can an attacker who adds some extract a secret from another person's? NOT FOR RELEASE.

A target document contains a secret word, drawn uniformly from m candidates. The attacker knows its other words, plants
documents near it (as Cliopatra 2026 does against clusters named by language models), sees the topics, and guesses.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dptopics.audit.membership.rates import binomial_interval
from dptopics.audit.summary import Audited, Light, Summary
from dptopics.core import progress
from dptopics.core.errors import InputError, NothingReleased
from dptopics.data.bounded import string_keys
from dptopics.data.corpus import Corpus
from dptopics.plan import Plan
from dptopics.privacy.events import Relation
from dptopics.privacy.guarantee import Guarantee
from dptopics.release.topic_model import TopicModel

Floats = NDArray[np.float64]

_TOP = 10  # words of each cluster that a plain pipeline shows
_CLUSTERS = 20
_SMALLEST_TOPIC = 10  # documents of a topic, as in BERTopic
_DIMENSIONS = 50


class Shown(NamedTuple):
    """What an attacker sees: topics × words (0 for words that are not shown), and released weights of the words."""

    words: Sequence[str]
    topics: Floats
    weights: Floats | None = None


class Plant(NamedTuple):
    """Documents that an attacker plants: ``copies`` with this many of the target's ``words``, ``lift`` with every
    candidate for the secret, which lifts them over the threshold of a vocabulary, and ``alone`` with each candidate and
    nothing else: the target then says nothing else either, so that all that it may contribute goes to the secret."""

    copies: int
    words: int
    lift: int = 0
    alone: int = 0


class Victim(NamedTuple):
    """A way to make topics, what it claims, and what an attacker would plant."""

    name: str
    train: Callable[[Corpus, int], Shown]
    plants: tuple[Plant, ...]
    claim: Guarantee | None = None


def _clusters_and_words(corpus: Corpus, seed: int) -> Shown:
    """k-means on TF-IDF, and the most frequent words of each cluster."""
    from sklearn.cluster import KMeans
    from sklearn.feature_extraction.text import TfidfTransformer

    matrix = _matrix(corpus)
    clusters = min(_CLUSTERS, max(2, matrix.shape[0] // 5))
    label = KMeans(clusters, n_init=1, random_state=seed).fit_predict(TfidfTransformer().fit_transform(matrix))
    return Shown(corpus.words, _top(_by_cluster(matrix, label)))


def _like_bertopic(corpus: Corpus, seed: int) -> Shown:
    """Low-dimensional embeddings, HDBSCAN, class-based TF-IDF: BERTopic's steps, with scikit-learn."""
    from sklearn.cluster import HDBSCAN
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.preprocessing import normalize

    matrix = _matrix(corpus)
    size = min(_DIMENSIONS, min(matrix.shape) - 1)
    place = TruncatedSVD(size, random_state=seed).fit_transform(TfidfTransformer().fit_transform(matrix))
    label = HDBSCAN(min_cluster_size=_SMALLEST_TOPIC, copy=True).fit_predict(normalize(place))
    if label.max() < 0:
        return Shown(corpus.words, np.zeros((1, matrix.shape[1])))
    counts = _by_cluster(matrix[label >= 0], label[label >= 0])
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    average = counts.sum() / len(counts)
    return Shown(corpus.words, _top(share * np.log1p(average / np.maximum(counts.sum(axis=0), 1e-300))))


PLAIN = (
    Victim("clusters and words (k-means, frequent words)", _clusters_and_words,
           tuple(Plant(copies, words) for copies in (3, 10, 30) for words in (4, 8))),
    Victim("BERTopic-like (HDBSCAN, c-TF-IDF)", _like_bertopic,
           tuple(Plant(copies, words) for copies in (3, 10, 30) for words in (4, 8))),
)  # fmt: skip


def of_plan(plan: Plan) -> Victim:
    """What a plan would release on planted data. The noise is seeded: nothing of it is published."""
    mechanism = plan.build()

    def train(corpus: Corpus, seed: int) -> Shown:
        bounded = corpus.bounded(unit=mechanism.unit, max_docs=plan.max_docs)
        try:
            value = mechanism(bounded, np.random.default_rng(seed)).value
        except NothingReleased:
            return Shown((), np.zeros((1, 0)), np.zeros(0))
        if not isinstance(value, TopicModel):
            raise InputError("planted documents attack topics. Give a plan of topics.")
        scale = value.topic_share if value.noise_std is None else 1 / np.maximum(value.noise_std, 1e-300)
        weights = value.vocabulary.weights
        counts = np.asarray(value.topic_word * scale[:, None])
        return Shown(value.vocabulary.words, counts, None if weights is None else np.asarray(weights, np.float64))

    lifted = (Plant(0, 0, lift=150), Plant(0, 0, lift=400), Plant(30, 8, lift=400))
    plants = (Plant(0, 0), Plant(30, 8), *lifted, Plant(0, 0, alone=60), Plant(0, 0, alone=200))
    guarantee = mechanism.guarantee
    name = f"{plan.mechanism} of dptopics, ε = {guarantee.epsilon:.3g} for each {guarantee.unit}"
    return Victim(name, train, plants, guarantee)


def _matrix(corpus: Corpus) -> Any:
    from scipy import sparse

    counts = corpus.counts()
    shape = (counts.n_documents, counts.n_words)
    # scikit-learn's k-means takes 32-bit indices only.
    return sparse.csr_array((counts.count.astype(np.float64), counts.word, counts.doc_start.astype(np.int32)), shape)


def _by_cluster(matrix: Any, label: NDArray[np.int64]) -> Floats:
    """Clusters × words: how often each word was written there."""
    from scipy import sparse

    rows = sparse.csr_array((np.ones(label.size), (label, np.arange(label.size))))
    return np.asarray((rows @ matrix).toarray(), np.float64)


def _top(weights: Floats) -> Floats:
    """Only the heaviest words of each row are shown."""
    if weights.shape[1] <= _TOP:
        return weights
    least = np.partition(weights, -_TOP, axis=1)[:, -_TOP][:, None]
    return np.where(weights >= np.maximum(least, 1e-300), weights, 0.0)


_LEVEL = 0.95
_USERS = 5  # documents that use a candidate: rare, but not unique, as a diagnosis is
_SHORTEST = 4  # words of a target
_FEW = 8  # runs: fewer do not tell how candidates usually score
Rules = dict[str, NDArray[np.float64]]  # scores of the candidates, by the rule that gave them


@dataclass(frozen=True)
class Poisoned:
    """How often the secret was guessed, by the plants and rule that did best in rehearsals."""

    victim: str
    right: int
    runs: int
    candidates: int
    plant: Plant
    rule: str
    allowed: float | None  # by the claim; None: nothing is claimed

    @property
    def success(self) -> float:
        """Share of runs in which the secret was guessed."""
        return self.right / self.runs

    @property
    def interval(self) -> tuple[float, float]:
        """Exact 95 % interval; runs are independent."""
        return binomial_interval(self.right, self.runs, level=_LEVEL)

    def to_dict(self) -> dict[str, Any]:
        return {
            "victim": self.victim, "right": self.right, "runs": self.runs, "success": self.success,
            "interval": list(self.interval), "level": _LEVEL, "guessing": 1 / self.candidates,
            "allowed": self.allowed, "plant": self.plant._asdict(), "rule": self.rule,
        }  # fmt: skip


@dataclass(frozen=True)
class PoisonAudit(Audited):
    """All victims; the last is the subject of the audit."""

    title: ClassVar = "Audit by planted documents"
    found: tuple[Poisoned, ...]

    def summary(self) -> Summary:
        """A light, a table, and how to read it."""
        last = self.found[-1]
        (low, high), guessing = last.interval, 1 / last.candidates
        how = f"guessed in {last.success:.0%} of {last.runs} runs, {guessing:.0%} by chance"
        if last.allowed is not None and low > last.allowed:
            light, line = Light.RED, f"planted documents extract more than the claim allows: the secret was {how}."
        elif low > 2 * guessing:
            light, line = Light.RED, f"planted documents extract secrets from other people's texts: {how}."
        elif low > guessing:
            light, line = Light.AMBER, f"planted documents extract a little from other people's texts: {how}."
        elif high > 3 * guessing:
            light, line = (
                Light.AMBER,
                f"too few runs to rule out that a secret is extracted in {high:.0%} of cases: {how}.",
            )
        else:
            light, line = Light.GREEN, f"planted documents did not extract a secret: {how} (at most {high:.0%})."
        heads = ("Topics by", "Secret guessed", "95 % interval", "By chance", "Allowed by the claim")
        rows = tuple(
            (one.victim, f"{one.success:.0%}", f"{one.interval[0]:.0%} to {one.interval[1]:.0%}",
             f"{1 / one.candidates:.0%}", "nothing claimed" if one.allowed is None else f"{one.allowed:.0%}")
            for one in self.found
        )  # fmt: skip
        reasons = (
            f"A target contains one of {last.candidates} secret words. The attacker knows its other words, plants "
            "documents near it, and guesses the secret from the topics. Plants and rule were chosen in rehearsals "
            "that are not counted.",
        )
        return Summary(light, line, heads, rows, reasons)

    def to_dict(self) -> dict[str, Any]:
        return {
            "not_for_release": True,
            "summary": self.summary().to_dict(),
            "poison": [one.to_dict() for one in self.found],
        }


def audit_by_poison(
    victims: Sequence[Victim],
    corpus: Corpus,
    *,
    candidates: int = 10,
    runs: int = 100,
    rehearsals: int = 10,
    background: int = 1000,
    key: int = 0,
) -> PoisonAudit:
    """Attack each victim ``runs`` times, by what did best in ``rehearsals`` of each way to plant.

    Each run draws a new target, secret and ``background`` of other documents.
    """
    if candidates < 2 or runs < 1 or rehearsals < 1:
        raise InputError(f"at least 2 candidates and 1 run are needed, got {candidates}, {runs} and {rehearsals}.")
    case = _case(corpus, candidates, background)
    found = []
    for number, victim in enumerate(victims):
        with progress.part(number / len(victims), (number + 1) / len(victims)):
            found.append(_attacked(victim, case, runs, rehearsals, np.random.default_rng([key, number])))
    return PoisonAudit(tuple(found))


def _attacked(victim: Victim, case: "_Case", runs: int, rehearsals: int, rng: Generator) -> Poisoned:
    """Rehearse every plant and rule, then count new runs of the best."""
    total, done = runs + rehearsals * len(victim.plants), 0

    def several(plant: Plant, n: int) -> list[_Guessed]:
        nonlocal done
        found = []
        for _ in range(n):
            found.append(_run(victim, plant, case, rng))
            done += 1
            progress.report(done / total)
        return found

    best, plant, rule = -1.0, victim.plants[0], ""
    for one in victim.plants:
        for name, chances in _right(several(one, rehearsals)).items():
            if sum(chances) > best:
                best, plant, rule = sum(chances), one, name
    chances = _right(several(plant, runs)).get(rule, [1 / len(case.candidates)] * runs)
    hits = sum(int(rng.random() < chance) for chance in chances)
    claim = None if victim.claim is None else victim.claim.unrefuted
    allowed = None if claim is None else most_guessed(claim, len(case.candidates))
    return Poisoned(victim.name, hits, runs, len(case.candidates), plant, rule, allowed)


class _Guessed(NamedTuple):
    """The number of the secret, and the scores of the candidates by each rule."""

    secret: int
    rules: "Rules"


def _right(runs: Sequence[_Guessed]) -> dict[str, list[float]]:
    """For each rule the probability that its guess is right, run by run (ties at random).

    Each also relative to how candidates usually score: the mean and spread over the other runs in which they were not
    the secret, which an attacker knows who rehearses.
    """
    secret = np.array([one.secret for one in runs])
    found: dict[str, list[float]] = {}
    for name in dict.fromkeys(name for one in runs for name in one.rules):
        nothing = np.zeros(next(one.rules[name] for one in runs if name in one.rules).size)
        score = np.array([one.rules.get(name, nothing) for one in runs])
        found[name] = _hits(score, secret)
        others = (np.arange(score.shape[1]) != secret[:, None]).astype(float)
        n = others.sum(axis=0) - others
        if len(runs) > _FEW and n.min() > 1:
            total, squares = ((score**power * others).sum(axis=0) - score**power * others for power in (1, 2))
            spread = np.sqrt(np.maximum(squares / n - (total / n) ** 2, 0.0))
            found[f"{name}, beyond the usual"] = _hits((score - total / n) / (spread + 1e-9), secret)
    return found


def _hits(score: Floats, secret: NDArray[np.int64]) -> list[float]:
    best = score == score.max(axis=1, keepdims=True)
    return [float(row[right] / row.sum()) for row, right in zip(best, secret, strict=True)]


def most_guessed(claim: Guarantee, m: int) -> float:
    """The largest probability of guessing one of m equally likely secrets of one unit, under an (ε, δ) claim.

    Let P_i be the law of the release when the secret is i, Q without the unit, and G_i the event that i is guessed.
    Add-or-remove: P_i(G_i) ≤ e^ε Q(G_i) + δ and 1 − P_i(G_i) ≥ e^(−ε)(1 − Q(G_i) − δ). Both right sides are straight
    lines in q_i = Q(G_i), their minimum is concave, and Σ q_i ≤ 1, so by Jensen the mean of P_i(G_i) is at most
    min{e^ε/m + δ, 1 − e^(−ε)(1 − 1/m − δ)}. Replace-one: (m − 1) P_i(G_i) ≤ Σ_{j≠i} (e^ε P_j(G_i) + δ); the mean p over
    i obeys (m − 1) p ≤ e^ε (1 − p) + (m − 1) δ, so p ≤ (e^ε + (m − 1) δ)/(m − 1 + e^ε).
    Planted documents are part of both neighbours, so the bounds hold with them.
    """
    epsilon, delta = min(claim.epsilon, 300.0), claim.delta
    if claim.relation is Relation.ADD_OR_REMOVE:
        return min(1.0, exp(epsilon) / m + delta, 1 - exp(-epsilon) * (1 - 1 / m - delta))
    return min(1.0, (exp(epsilon) + (m - 1) * delta) / (m - 1 + exp(epsilon)))


class _Case(NamedTuple):
    """The data that runs sample from: candidates (word numbers), possible targets, size of a background."""

    corpus: Corpus
    candidates: NDArray[np.int64]
    targets: NDArray[np.int64]
    background: int


def _case(corpus: Corpus, m: int, background: int) -> _Case:
    users = np.bincount(corpus.word, minlength=len(corpus.words))
    order = np.argsort(np.where(users > 1, np.abs(users - _USERS), users.max(initial=0) + _USERS), kind="stable")
    chosen = order[users[order] > 1][:m]
    targets = np.flatnonzero(np.diff(corpus.doc_start) >= _SHORTEST)
    if chosen.size < m or targets.size < 20:
        raise InputError(
            f"planted documents need {m} words that several documents use and 20 documents of at least {_SHORTEST} "
            "different words: the corpus is too small for any statement."
        )
    if corpus.vectors is not None:
        raise InputError("planted documents consist of words, so mechanisms that embed texts cannot be attacked.")
    return _Case(corpus, chosen.astype(np.int64), targets, background)


def _run(victim: Victim, plant: Plant, case: _Case, rng: Generator) -> _Guessed:
    """One release on planted data."""
    corpus = case.corpus
    target = int(rng.choice(case.targets))
    others = np.delete(np.arange(corpus.n_documents), target)
    others = np.sort(rng.choice(others, min(case.background, others.size), replace=False))
    secret = int(rng.integers(case.candidates.size))
    known = np.setdiff1d(corpus.word[corpus.doc_start[target] : corpus.doc_start[target + 1]], case.candidates)
    if plant.alone:
        known = known[:0]
    near = rng.permutation(known)[: plant.words]
    documents = [np.append(known, case.candidates[secret]), *[near] * plant.copies, *[case.candidates] * plant.lift]
    documents += [case.candidates[i : i + 1] for i in range(case.candidates.size) for _ in range(plant.alone)]
    data = corpus.take(others)
    shown = victim.train(with_documents(data, documents), int(rng.integers(2**31)))
    rules = _scores(shown, corpus.words, near, case.candidates)
    if shown.weights is not None:
        rules["weights beyond those of the others"] = rules["weights of the words"] - _weights(data, case.candidates)
    return _Guessed(secret, rules)


def _scores(shown: Shown, words: Sequence[str], near: NDArray[np.int64], candidates: NDArray[np.int64]) -> Rules:
    """The scores of the candidates by each rule, higher for a likelier secret."""
    column = {word: i for i, word in enumerate(shown.words)}

    def of(numbers: NDArray[np.int64], row: NDArray[np.float64]) -> NDArray[np.float64]:
        places = [column.get(words[n], -1) for n in numbers.tolist()]
        return np.array([row[place] if place >= 0 else 0.0 for place in places])

    closeness = [of(near, row).sum() for row in shown.topics]
    rules = {
        "topic nearest to the plants": of(candidates, shown.topics[int(np.argmax(closeness))]),
        "any topic": of(candidates, shown.topics.max(axis=0)),
        "all topics": of(candidates, shown.topics.sum(axis=0)),
    }
    if shown.weights is not None:
        rules["weights of the words"] = of(candidates, shown.weights)
    return rules


def _weights(others: Corpus, candidates: NDArray[np.int64]) -> NDArray[np.float64]:
    """The weight of each candidate in the other documents, which the attacker may know: 1/√length of each."""
    size = np.diff(others.doc_start)
    given = np.repeat(1 / np.sqrt(np.maximum(size, 1)), size)
    total = np.bincount(others.word, weights=given, minlength=len(others.words))
    return np.asarray(total, np.float64)[candidates]


def with_documents(corpus: Corpus, documents: Sequence[NDArray[np.int64]]) -> Corpus:
    """The corpus with more documents, each by a new author and with each of its words once."""
    sizes = np.array([document.size for document in documents], np.int64)
    more: dict[str, Any] = {}
    if corpus.author is not None and corpus.author_key is not None:
        first = corpus.author_key.size
        names = [f"planted {number}" for number in range(len(documents))]
        more["author"] = np.concatenate([corpus.author, np.arange(first, first + sizes.size, dtype=np.int32)])
        more["author_key"] = np.concatenate([corpus.author_key, string_keys(names)])
    return replace(
        corpus,
        doc_start=np.concatenate([corpus.doc_start, corpus.doc_start[-1] + np.cumsum(sizes)]),
        word=np.concatenate([corpus.word, *[np.sort(document).astype(np.int32) for document in documents]]),
        count=np.concatenate([corpus.count, np.ones(int(sizes.sum()), np.int32)]),
        **more,
    )
