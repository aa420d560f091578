"""The neighbour property: one unit moves no look by more than the guarantee prices, in whole numbers.

A run on one corpus is recorded. The same questions, with the same public state, are then asked of a neighbour.
"""

import os
from dataclasses import dataclass

import numpy as np
from gate_checks import price
from gate_corpora import neighbours
from gate_watching import everybody, run

from dptopics.audit.claim.transcript import Follower, Recorder

SEED = int(os.environ["DPTOPICS_TEST_SEED"])  # another one in every run: conftest.py


@dataclass
class Found:
    """Sums that were compared, how many exceeded their bound, and how near to it the nearest came."""

    sums: int = 0
    over: int = 0
    nearest: float = 0.0

    def add(self, one, other, allowed):
        moved = [step for step in (other.exact - one.exact).ravel().tolist() if step]
        if one.kind.norm == 2:
            much, limit = sum(step * step for step in moved), allowed * allowed
            ratio = float(much / limit) ** 0.5
        else:
            much, limit = sum(map(abs, moved)), allowed
            ratio = float(much / limit)
        self.sums += 1
        self.over += much > limit
        self.nearest = max(self.nearest, ratio)


def path(mechanism, first, second, seed):
    """A recorded run on the first corpus, and the same looks at the second: (recorder, whether it ended, looks)."""
    rng, again = np.random.default_rng(seed), np.random.default_rng(seed)
    recorder = Recorder(rng)
    with everybody():
        complete = run(mechanism, first, recorder, rng) is not None
        shadow = Follower(recorder.answers, seeded=again)
        run(mechanism, second, shadow, again)
    return recorder, complete, shadow.queries


def search(case, mechanism, pairs, seed=0, found=None):
    """Compare the looks of ``pairs`` neighbouring corpora."""
    rng = np.random.default_rng(seed)
    found = Found() if found is None else found
    for _ in range(pairs):
        first, second = neighbours(rng, case.unit, mechanism.guarantee.relation, public=case.public)
        recorder, complete, queries = path(mechanism, first, second, int(rng.integers(2**32)))
        allowed = price(mechanism, recorder.queries, complete=complete)
        for one, other, most in zip(recorder.queries, queries, allowed, strict=True):
            found.add(one, other, most)
    return found


def neighbour_property(case, mechanism, pairs=6, seed=SEED):
    """No look moves by more than is priced."""
    found = search(case, mechanism, pairs, seed)
    assert not found.over, f"{found.over} of {found.sums} sums moved by more than is priced ({found.nearest:.3f} of it)"
    return found
