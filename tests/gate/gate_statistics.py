"""What runs show: the law of the noise, how well the best attack tells neighbours apart, and how often lone words show.

The attack sees every look of a run, knows both neighbours, and decides by the likelihood ratio, its threshold fixed
beforehand in the middle. Whatever it decides by, its two errors obey 1 − α − β ≤ δ₀, the δ of the guarantee's events at
ε = 0 (the total variation distance). Confidence limits (Clopper & Pearson 1934) of both errors refute a claim. A
check raises a false alarm with probability at most FALSE_ALARM; all of them, fewer than a hundred, below 1e-6.
"""

from dataclasses import dataclass, replace
from itertools import product
from math import sqrt
from unittest.mock import patch

import numpy as np
from gate_corpora import CORE, DIMENSIONS, WORDS, corpus_of, crowd, neighbours
from gate_search import path
from gate_watching import everybody, muted, run
from scipy.stats import beta, chi2, gamma, kstest

from dptopics.audit.claim.transcript import Follower, Recorder
from dptopics.privacy.events import Failure, Gaussian, Laplace, Noise, Relation, SampledGaussian
from dptopics.privacy.pricing import epsilon_of

FALSE_ALARM = 1e-8
CONTROLS = (0, 1 / 8, 1 / 2)  # of the noise
_DRAWS = 150  # at each look: half the noise is then far outside


def share_at_most(hits, runs, error):
    """Upper confidence limit of a probability (one-sided)."""
    return float(beta.isf(error, hits + 1, runs - hits)) if hits < runs else 1.0


def share_at_least(hits, runs, error):
    """Lower confidence limit of a probability (one-sided)."""
    return float(beta.ppf(error, hits, runs - hits + 1)) if hits else 0.0


# --- the law of the noise ---


def law_of_noise(case, mechanism):
    """Each look draws noise of its kind and scale, anew for every cell, look and run; less noise is caught."""
    _law(case, mechanism)
    for factor in CONTROLS:
        try:
            with muted(factor):
                _law(case, mechanism)
        except AssertionError:
            continue
        raise AssertionError(f"{factor} of the noise goes unnoticed")


def _law(case, mechanism):
    first = Recorder()
    corpus = case.crowd()
    run(mechanism, corpus, first)
    assert first.queries, "no look draws noise"
    fewest = min(query.drawn.size for query in first.queries)
    runs = [first.queries]
    for _ in range(-(-_DRAWS // fewest) - 1):
        recorder = Follower(first.answers, stop=True)
        run(mechanism, corpus, recorder)
        runs.append(recorder.queries)
    error = FALSE_ALARM / (2 * len(first.queries))
    for queries in zip(*runs, strict=True):
        drawn = np.concatenate([(query.drawn / query.scale).ravel() for query in queries])
        kind = queries[0].kind
        if kind is Noise.GAUSSIAN:
            total, total_law, cell_law = (drawn**2).sum(), chi2(drawn.size), "norm"
        else:
            total, total_law, cell_law = np.abs(drawn).sum(), gamma(drawn.size), "laplace"
        assert total_law.cdf(total) > error, "less noise was drawn than is stated"
        assert total_law.sf(total) > error, "more noise was drawn than is stated"
        assert kstest(drawn, cell_law).pvalue > error, f"the noise is not {kind}"
    _never_twice([query for queries in runs for query in queries])


def _never_twice(queries):
    """Cells of a look differ, and so do looks: noise that is used twice cancels out."""
    for query in queries:
        cells = query.drawn.ravel()
        assert cells.size == 1 or np.unique(cells).size > cells.size / 2, "one draw was used for many cells"
    arrays = [(query.drawn / query.scale).ravel() for query in queries]
    for k in sorted({array.size for array in arrays if array.size > 2}):
        first = np.array([array[:3] for array in arrays if array.size >= k])
        gaps = np.abs(first[:, None] - first[None]).max(axis=2) + np.eye(len(first))
        assert gaps.min() > 1e-6, "one draw was used in two looks"


# --- how well neighbours can be told apart ---


def total_variation(events):
    """δ₀: the smallest δ at which the events cost no ε (here: less than 1e-3, and then 1e-3 more to be safe)."""
    low, high = 0.0, 1 - 1e-9
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if epsilon_of(events, middle) <= 1e-3 else (middle, high)
    return high + 1e-3


def unsampled(events):
    """The same draws of noise on everybody: that the sample is one is tested elsewhere (tests/privacy)."""
    return tuple(Gaussian(e.sigma, e.count, e.relation) if isinstance(e, SampledGaussian) else e for e in events)


def at_telling_noise(mechanism):
    """The same mechanism with so little noise that few runs tell: μ = 2 if all of it is Gaussian, ε = 3 if Laplace."""
    events = unsampled(mechanism.guarantee.events)
    mu = sqrt(sum(event.count / event.sigma**2 for event in events if isinstance(event, Gaussian)))
    pure = sum(event.count / event.scale for event in events if isinstance(event, Laplace))
    return mechanism.rescaled(mu / 2 + pure / 3)


@dataclass(frozen=True)
class Path:
    """One run on a corpus, and the same looks at a neighbour of it."""

    corpora: tuple
    answers: list
    queries: list
    others: list

    @property
    def loss(self):
        """Squared shift of all looks, in units of their noise: what the attack can use."""
        pairs = zip(self.queries, self.others, strict=True)
        return sum(float((((other.exact - one.exact) / one.scale) ** 2).sum()) for one, other in pairs)

    @property
    def in_one_cell(self):
        """Whether what each look of Laplace noise may move by goes into one cell: spread over many it tells less."""
        pairs = [pair for pair in zip(self.queries, self.others, strict=True) if pair[0].kind is Noise.LAPLACE]
        return all(np.abs(other.exact - one.exact).max() > 0.9 * one.sensitivity for one, other in pairs)


def worst_path(case, mechanism, tries=12, seed=1):
    """Of many neighbours those that can be told apart best; of equally good ones the first, which are the smallest."""
    rng = np.random.default_rng(seed)
    relation = mechanism.guarantee.relation
    pairs = concentrated(case, relation)
    pairs += [neighbours(rng, case.unit, relation, public=case.public) for _ in range(tries)]
    best = None
    for pair in pairs:
        recorder, complete, queries = path(mechanism, *pair, int(rng.integers(2**32)))
        found = Path(tuple(pair), recorder.answers, recorder.queries, queries)
        if complete and (best is None or found.loss > 1.02 * best.loss):
            best = found
    assert best is not None, "nothing was released"
    return best


def concentrated(case, relation):
    """Neighbours who put all that they have in one place: every document is of one word."""

    def documents(*words):
        made = [(5000 * (np.array(WORDS) == word), np.eye(DIMENSIONS)[0]) for word in words]
        return made if case.unit == "author" else made[:1]

    found = []
    for others, own in product((crowd(1), crowd(3), crowd(30)), (["doctor"], ["doctor", "engine"])):
        instead = [("new", documents("knee", "pain"))] if relation is Relation.REPLACE else []
        units = [[*others, ("new", documents(*own))], [*others, *instead]]
        found.append([corpus_of(each, case.unit, public=case.public) for each in units])
    return found


def errors(mechanism, found, runs, factor):
    """Upper limits of the attack's errors, from runs on either corpus along the same path, under less noise."""
    wrong = [0, 0]
    with muted(factor), everybody():
        for world, corpus in enumerate(found.corpora):
            for _ in range(runs):
                shadow = Follower(found.answers, stop=True)
                run(mechanism, corpus, shadow)
                ratio = sum(
                    _log_ratio(*three) for three in zip(shadow.queries, found.queries, found.others, strict=True)
                )
                wrong[world] += ratio >= 0 if world == 0 else ratio <= 0
    return [share_at_most(hits, runs, FALSE_ALARM / 2) for hits in wrong]


def _log_ratio(seen, one, other):
    """Log likelihood ratio of a noisy look: that it is the other corpus, over that it is the one."""
    noisy = (seen.exact + seen.drawn).astype(float)
    near, far = noisy - other.exact, noisy - one.exact
    if seen.kind is Noise.GAUSSIAN:
        return float((far**2 - near**2).sum()) / (2 * seen.scale**2)
    return float((np.abs(far) - np.abs(near)).sum()) / seen.scale


def statistical_bound(case, mechanism):
    """The best attack does not refute what is promised; the same attack on less noise does.

    Half the noise is told from the noise that is promised only by neighbours who reach the bound in one cell. Where
    none do (the topics of any learner), only the law of the noise tells.
    """
    telling = at_telling_noise(mechanism)
    found = worst_path(case, telling)
    events = unsampled(telling.guarantee.events)
    runs = 500 if any(isinstance(event, Laplace) for event in events) else 260
    most = total_variation(events)
    advantage = 1 - sum(errors(telling, found, runs, 1))
    assert advantage <= most, f"neighbours were told apart: {advantage:.3f}, promised at most {most:.3f}"
    for factor in CONTROLS if found.in_one_cell else CONTROLS[:2]:
        advantage = 1 - sum(errors(telling, found, runs if factor == CONTROLS[-1] else runs // 2, factor))
        assert advantage > most, f"{factor} of the noise goes unnoticed: {advantage:.3f}, promised {most:.3f}"


# --- lone words ---


def lone_words(case):
    """Words of one unit alone show no more often than the failures that are priced, and a lower threshold is caught."""
    likely = replace(case, delta=0.2)  # so that runs show it
    mechanism = likely.build()
    failing = sum(event.probability for event in mechanism.guarantee.events if isinstance(event, Failure))
    shown = _shown(likely, mechanism)
    assert shown <= failing, f"lone words show with probability {shown:.3f} at least, priced {failing:.3f}"
    kind = type(mechanism)
    lowered = mechanism.threshold / 2
    with patch.object(kind, "threshold", property(lambda self: lowered)):
        assert _shown(likely, mechanism) > failing, "half the threshold goes unnoticed"


def _shown(case, mechanism, runs=300):
    """How likely it is at least that words of their only author come out, for one, two and as many as allowed."""
    limits = []
    for n in (1, 2, len(CORE)):
        words = [CORE] * 20 + [[word for word in WORDS if word not in CORE][:n]]
        people = [(f"person {i}", [(np.isin(WORDS, own) * 1, np.zeros(DIMENSIONS))]) for i, own in enumerate(words)]
        corpus = corpus_of(people, case.unit)
        hits = sum(not set(run(mechanism, corpus, Recorder()).value.words) <= set(CORE) for _ in range(runs))
        limits.append(share_at_least(hits, runs, FALSE_ALARM))
    return max(limits)
