"""The membership attack of Ramadan, Withers & Orr (section 5) on n-gram releases. NOT FOR RELEASE."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from dptopics.core import progress
from dptopics.core.errors import InputError
from dptopics.data.corpus import Corpus
from dptopics.mechanisms.mechanism import Mechanism
from dptopics.privacy.guarantee import Guarantee, Unit
from dptopics.release.ngrams import NgramTable


@dataclass(frozen=True)
class NgramAttack:
    """How often the release that includes the most contributing author is the closer one. NOT FOR RELEASE."""

    mechanism: str
    probability: float
    repeats: int
    limit: float | None  # what ε and δ allow for this pair of data sets; None: nothing is guaranteed

    def __str__(self) -> str:
        most = "nothing is guaranteed" if self.limit is None else f"the guarantee allows up to {self.limit:.1%}"
        return (
            f"NOT FOR RELEASE. {self.mechanism}: the attack is right in {self.probability:.1%} of {self.repeats} "
            f"pairs; chance is 50%, {most}."
        )

    def to_dict(self) -> dict[str, Any]:
        return {"not_for_release": True, **asdict(self)}

    def save(self, folder: Path, *, settings: Mapping[str, Any]) -> Path:
        """Write ngram_attack.json into ``folder``, with the settings that were attacked."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "ngram_attack.json"
        path.write_text(json.dumps({**self.to_dict(), "settings": settings}, ensure_ascii=False, indent=1), "utf-8")
        return path


def attack_most_contributing(
    mechanism: Mechanism[NgramTable], corpus: Corpus, *, repeats: int, rng: Generator, max_docs: int | None = None
) -> NgramAttack:
    """Run ``mechanism`` on the corpus with and without its most contributing unit, ``repeats`` times each.

    The attack is right where the unit's own distribution has the smaller KL divergence from the release that holds it;
    ties count one half. ``limit``: guessing which of two releases came from which data set is a test between P × Q and
    Q × P, two steps of (ε, δ) apart, and is right with probability at most (e^(2ε) + (1 + e^ε)·δ)/(1 + e^(2ε)).
    """
    if corpus.vocabulary is None:
        raise InputError("this attack needs a corpus over a public list of n-grams.")
    if repeats < 1:
        raise InputError(f"repeats must be at least 1, got {repeats}.")
    counts = corpus.counts(corpus.vocabulary)
    document = np.repeat(np.arange(counts.n_documents), np.diff(counts.doc_start))
    by_author = mechanism.unit is Unit.AUTHOR and corpus.author is not None
    unit_of = corpus.author if by_author and corpus.author is not None else np.arange(counts.n_documents)
    given = np.bincount(unit_of[document], weights=counts.count, minlength=int(unit_of.max()) + 1)
    target = int(np.argmax(given))
    kept = np.flatnonzero(unit_of != target)
    if kept.size == 0:
        raise InputError("the corpus has a single unit: there is nothing to compare with.")
    mine = unit_of[document] == target
    own = np.bincount(counts.word[mine], weights=counts.count[mine], minlength=counts.n_words)
    own = own / own.sum()
    there = own > 0
    pair = [c.bounded(unit=mechanism.unit, max_docs=max_docs) for c in (corpus, corpus.take(kept))]

    def distance(table: NgramTable) -> float:
        with np.errstate(divide="ignore"):
            return float(own[there] @ (np.log(own[there]) - np.log(table.probability[there])))

    right = 0.0
    for number in range(repeats):
        with progress.part(number / repeats, (number + 1) / repeats):
            within, without = (distance(mechanism(bounded, rng).value) for bounded in pair)
        right += 1.0 if within < without else (0.5 if within == without else 0.0)
    return NgramAttack(mechanism.name, right / repeats, repeats, _most_right(mechanism.guarantee.unrefuted))


def _most_right(claim: Guarantee | None) -> float | None:
    if claim is None:
        return None
    epsilon = min(claim.epsilon, 300.0)
    return min(1.0, (exp(2 * epsilon) + (1 + exp(epsilon)) * claim.delta) / (1 + exp(2 * epsilon)))
