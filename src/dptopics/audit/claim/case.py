"""One canary against one mechanism: the same questions asked of two neighbours, and how far their answers differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isclose
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.optimize import linear_sum_assignment

from dptopics.audit.claim.designs import Design
from dptopics.audit.claim.transcript import Follower, LeftThePath, Player, Question, Recorder, bytes_of, run
from dptopics.core.errors import DptopicsError
from dptopics.data.bounded import BoundedCorpus
from dptopics.mechanisms.mechanism import Mechanism
from dptopics.mechanisms.queries import Query
from dptopics.privacy.controls import given_noise
from dptopics.privacy.events import Event, Gaussian, Laplace, Noise, Relation, SampledGaussian
from dptopics.privacy.guarantee import Guarantee
from dptopics.privacy.rng import secure_rng

_SLACK = 1e-3  # by which a price may exceed the noise drawn: ℓ2-descent pays for rounding
_NEVER = 1e6
_TRIES = 4


@dataclass(frozen=True)
class Accounting:
    """How far one neighbour may move each query according to the guarantee; and what does not add up, in words."""

    allowed: tuple[float, ...]
    problem: str = ""
    priced: int = 0  # draws that the guarantee prices

    @property
    def in_sight(self) -> bool:
        return not self.problem and len(self.allowed) == self.priced > 0


def stated(events: Sequence[Event]) -> list[tuple[Noise, float]]:
    """(kind of noise, multiplier) of every draw that the events price one by one."""
    found = []
    for event in events:
        match event:
            case Gaussian(adaptive=True):
                continue
            case Gaussian(sigma, count) | SampledGaussian(sigma, _, count):
                found += [(Noise.GAUSSIAN, sigma)] * count
            case Laplace(scale, count):
                found += [(Noise.LAPLACE, scale)] * count
    return found


def compare(guarantee: Guarantee, queries: Sequence[Query]) -> Accounting:
    """Match queries with priced draws; under replace-one the noise may be up to twice that of add-or-remove."""
    priced = stated(guarantee.events)
    if not queries:
        return Accounting((), priced=len(priced))
    together = sum(1 / e.sigma**2 for e in guarantee.events if isinstance(e, Gaussian) and e.adaptive)
    if together:
        return _with_adaptive(priced, together, queries)
    widest = 2.0 if guarantee.relation is Relation.REPLACE else 1.0
    cost = np.full((len(queries), max(len(priced), len(queries))), _NEVER)
    for row, query in enumerate(queries):
        for column, (kind, multiplier) in enumerate(priced):
            over = query.scale / query.sensitivity / multiplier
            if kind is query.kind and 1 - 1e-9 <= over <= widest * (1 + _SLACK):
                cost[row, column] = min(abs(over - 1), abs(over - widest))
    rows, columns = linear_sum_assignment(cost)
    if cost[rows, columns].max() >= _NEVER:
        return Accounting(
            tuple(query.sensitivity for query in queries),
            f"{len(queries)} queries of the data do not match the {len(priced)} draws of noise that are priced",
            len(priced),
        )
    allowed = []
    for query, column in zip(queries, columns, strict=True):
        over = query.scale / query.sensitivity / priced[column][1]
        allowed.append(query.sensitivity * (1.0 if isclose(over, 1, rel_tol=1e-9) else over))
    return Accounting(tuple(allowed), priced=len(priced))


def _with_adaptive(priced: list[tuple[Noise, float]], together: float, queries: Sequence[Query]) -> Accounting:
    """Queries that are not priced one by one must be Gaussian, and cost no more than was set aside for all of them."""
    rest = list(queries)
    for kind, multiplier in priced:
        over = ((query, query.scale / query.sensitivity / multiplier - 1) for query in rest if query.kind is kind)
        own = next((query for query, more in over if -1e-9 <= more < _SLACK), None)
        rest = [query for query in rest if query is not own]
    spent = sum((query.sensitivity / query.scale) ** 2 for query in rest)
    problem = ""
    if spent > together * (1 + _SLACK) or any(query.kind is not Noise.GAUSSIAN for query in rest):
        problem = f"{len(queries)} queries of the data cost more than the guarantee prices"
    missing = len(queries) - len(rest) < len(priced) or spent < together * (1 - _SLACK)
    return Accounting(tuple(query.sensitivity for query in queries), problem, len(queries) + missing)


@dataclass(frozen=True, eq=False)
class Case:
    """Neighbours (without and with the canary), and the questions of one run asked of both."""

    design: Design
    mechanism: Mechanism[Any]
    corpora: tuple[BoundedCorpus, BoundedCorpus]
    questions: tuple[tuple[Question, ...], tuple[Question, ...]]
    released: bool
    beside: tuple[str, ...] = ()

    @cached_property
    def queries(self) -> tuple[tuple[Query, ...], tuple[Query, ...]]:
        """All queries, without and with the canary."""
        without, within = (tuple(query for one in world for query in one.queries) for world in self.questions)
        return without, within

    @cached_property
    def accounting(self) -> Accounting:
        """What is priced, matched with what was queried."""
        return compare(self.mechanism.guarantee, self.queries[1])

    @cached_property
    def moved(self) -> tuple[Fraction, ...]:
        """How far the canary moves each query, as a share of what is priced, to the power of its norm. Exact."""
        pairs = zip(*self.queries, self.accounting.allowed, strict=True)
        return tuple(_moved(*pair) for pair in pairs)

    @cached_property
    def signal(self) -> float:
        """Distance of the two worlds in standard deviations of the noise: what an attack can use."""
        pairs = zip(*self.queries, strict=True)
        shifts = [(other.exact - one.exact).astype(np.float64) / one.scale for one, other in pairs]
        return float(np.sqrt(sum(float((shift**2).sum()) for shift in shifts)))

    @property
    def reach(self) -> float:
        """The signal as a share of the most that the guarantee prices."""
        pairs = zip(self.queries[1], self.accounting.allowed, strict=True)
        most = float(np.sqrt(sum((allowed / query.scale) ** 2 for query, allowed in pairs)))
        return self.signal / most if most else 0.0

    def log_ratio(self, questions: tuple[Question, ...]) -> float:
        """Log likelihood ratio of noisy sums, in over out, under the stated noise."""
        seen = (query for one in questions for query in one.queries)
        return sum(_log_ratio(*three) for three in zip(seen, *self.queries, strict=True))


def case_of(
    mechanism: Mechanism[Any], design: Design, corpora: tuple[BoundedCorpus, BoundedCorpus], **how: Any
) -> Case | None:
    """One run with the canary, its questions asked again of the data without it; None if the two runs diverge.

    ``how``: as for :class:`Recorder`.
    """
    recorder = Recorder(**how)
    released = run(mechanism, corpora[1], recorder, secure_rng()) is not None
    questions = tuple(recorder.questions)
    follower = Follower(recorder.answers, stop=True)
    try:
        if questions:
            run(mechanism, corpora[0], follower, secure_rng())
    except LeftThePath:
        return None
    if len(follower.questions) != len(questions) or not _alike(follower.queries, recorder.queries):
        return None
    beside = tuple(dict.fromkeys([*recorder.beside, *follower.beside]))
    return Case(design, mechanism, corpora, (tuple(follower.questions), questions), released, beside)


def outcome(mechanism: Mechanism[Any], corpus: BoundedCorpus, watcher: Recorder, rng: Generator) -> bytes:
    """All that anybody sees of a run: every byte of the release, or how it was refused; nothing where it failed."""
    try:
        return bytes_of(run(mechanism, corpus, watcher, rng))
    except LeftThePath:
        return b"other questions"
    except Exception as error:
        return b"" if not isinstance(error, DptopicsError) else f"{type(error).__name__}: {error}".encode()


@dataclass(frozen=True)
class Replay:
    """A run given the answers of another: whether it can be repeated, and where it ended differently."""

    repeatable: bool
    differs: tuple[str, ...]
    beside: tuple[str, ...]


def replay(
    mechanism: Mechanism[Any], corpus: BoundedCorpus, others: Mapping[str, BoundedCorpus], seed: int = 1, shift: int = 0
) -> Replay:
    """The answers of one run on ``corpus`` played to the same mechanism on other data: all must end alike."""
    rng = np.random.default_rng(seed)
    recorder = Recorder(rng, shift=shift)
    first = outcome(mechanism, corpus, recorder, rng)
    differs, beside = [], list(recorder.beside)
    for name, other in {"": corpus, **others}.items():
        for _ in range(_TRIES):  # a run that fails by chance is tried again; one that fails by its data fails again
            rng = np.random.default_rng(seed)
            player = Player(recorder.answers, rng)
            found = outcome(mechanism, other, player, rng)
            if found:
                break
        if found != first:
            differs.append(name)
            if not name:
                break
        beside += player.beside
    repeatable = bool(recorder.answers) and "" not in differs
    return Replay(repeatable, tuple(differs), tuple(dict.fromkeys(beside)))


def tells_more(case: Case, elsewhere: Sequence[BoundedCorpus]) -> bool:
    """Whether an answer depends on the data beyond sum plus noise, without the canary and elsewhere.

    Noise that offsets the difference between the sums must give the same answer.
    """
    worlds = [case.questions[0]]
    for corpus in elsewhere:
        follower = Follower([one.told for one in case.questions[1]], stop=True)
        try:
            run(case.mechanism, corpus, follower, secure_rng())
        except LeftThePath:
            continue  # the words depend on the data there: replay detects that
        if _alike(follower.queries, list(case.queries[1])):
            worlds.append(tuple(follower.questions))
    return any(
        _answers_differ(asked, other) for world in worlds for asked, other in zip(case.questions[1], world, strict=True)
    )


def _answers_differ(asked: Question, other: Question) -> bool:
    pairs = zip(asked.queries, other.queries, strict=True)
    with given_noise([one.exact + one.drawn - two.exact for one, two in pairs]):
        return bytes_of(other.again().answer) != bytes_of(asked.answer)


def _alike(first: list[Query], second: list[Query]) -> bool:
    pairs = zip(first, second, strict=False)
    return len(first) == len(second) and all(
        (one.exact.shape, one.kind, one.scale) == (other.exact.shape, other.kind, other.scale) for one, other in pairs
    )


def _moved(one: Query, other: Query, allowed: float) -> Fraction:
    shift = (other.exact - one.exact).ravel()
    steps = shift[shift != 0].tolist()
    return Fraction(sum(abs(step) ** one.kind.norm for step in steps)) / Fraction(allowed) ** one.kind.norm


def _log_ratio(seen: Query, without: Query, within: Query) -> float:
    cells = np.flatnonzero(within.exact.ravel() != without.exact.ravel())
    noisy = (seen.exact.ravel()[cells] + seen.drawn.ravel()[cells]).astype(np.float64)
    near, far = noisy - within.exact.ravel()[cells], noisy - without.exact.ravel()[cells]
    if seen.kind is Noise.GAUSSIAN:
        return float((far**2 - near**2).sum()) / (2 * seen.scale**2)
    return float((np.abs(far) - np.abs(near)).sum()) / seen.scale
