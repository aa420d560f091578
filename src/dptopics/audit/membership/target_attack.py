"""Shadows of an earlier audit against a model trained elsewhere, on documents old and new. NOT FOR RELEASE."""

import csv
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from dptopics.audit.membership.models import read_target as read_target
from dptopics.audit.membership.rates import document_statistics, present_words
from dptopics.audit.membership.scores import Moments, in_turn, presence, rate
from dptopics.audit.summary import Audited, Light, Summary
from dptopics.core import progress
from dptopics.core.errors import InputError
from dptopics.core.vocabulary import Vocabulary
from dptopics.data.corpus import Corpus
from dptopics.kernels.counts import distributions
from dptopics.release.topic_model import fingerprint

_ASSUMED = (
    "The p-values hold if the model was trained as the shadows were, on about as many documents: outsiders of the "
    "shadows represent outsiders of the model."
)
_RARE = 1e-3  # p-value at which a document counts as used


@dataclass(frozen=True, eq=False)
class SavedShadows:
    """Shadow models in a folder, with the documents of each (by a hash of their content)."""

    folder: Path
    words: Sequence[str]
    member: NDArray[np.bool_]  # shadows × documents
    doc_key: NDArray[np.uint64]

    def topics(self) -> Iterator[NDArray[np.float64]]:
        """The topic-word matrices one by one: together they may not fit into memory."""
        for shadow in range(self.member.shape[0]):
            with np.load(self.folder / f"shadow-{shadow:04d}.npz", allow_pickle=False) as saved:
                yield saved["topics"].astype(np.float64)

    def seen(self, doc_key: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which shadows had which of these documents, or a copy: shadows × documents."""
        keys, place = np.unique(doc_key, return_inverse=True)
        row = np.minimum(np.searchsorted(keys, self.doc_key), keys.size - 1)
        known = np.flatnonzero(keys[row] == self.doc_key)
        seen = np.zeros((keys.size, self.member.shape[0]), bool)
        np.logical_or.at(seen, row[known], self.member.T[known])
        return seen[place].T


def read_shadows(folder: Path) -> SavedShadows:
    """The shadows that an audit left in its folder."""
    folder = Path(folder)
    try:
        with np.load(folder / "corpus.npz", allow_pickle=False) as saved:
            member, doc_key, words = saved["member"], saved["doc_key"], saved["words"].tolist()
    except (OSError, KeyError, ValueError, EOFError, BadZipFile, zlib.error):
        raise InputError(
            f"the folder {str(folder)!r} contains no shadows. Run an audit with --out there first."
        ) from None
    missing = sum(not (folder / f"shadow-{shadow:04d}.npz").exists() for shadow in range(member.shape[0]))
    if missing:
        raise InputError(f"{missing} of {member.shape[0]} shadows are missing: run that audit again to complete them.")
    return SavedShadows(folder, words, member, doc_key)


@dataclass(frozen=True, eq=False)
class TargetAttack(Audited):
    """Scores of documents against one model. Its members are not known here, so there are no rates.

    ``chance`` is the p-value of "was not in the data": the share of outsiders of the shadows, each attacked in turn as
    if it were the target, that score as high as this document. It holds if the target was trained as the shadows were,
    on about as many documents.
    """

    title: ClassVar = "Audit of a model trained elsewhere"
    offline: NDArray[np.float64]  # −log of the chance of such a ζ under a normal; not calibrated
    online: NDArray[np.float64]  # log likelihood ratio; NaN for documents that no shadow had
    chance: NDArray[np.float64]
    n_shadows: int
    shared_words: int
    target: str = ""  # fingerprint of the model
    n_new: int = 0  # documents that no shadow had

    @property
    def known(self) -> NDArray[np.bool_]:
        """Documents that some shadow had, so the online attack is possible."""
        return np.isfinite(self.online)

    @property
    def accused(self) -> int:
        """Documents that appear used, by a test that accuses at most 1 in 1,000 outsiders."""
        return int(np.count_nonzero(self.chance <= _RARE))

    def verdict(self) -> str:
        """Two sentences for the owner."""
        n = self.offline.size
        return (
            f"{self.accused} of {n} documents appear to have been in the data, by a test that accuses 1 in 1,000 "
            f"outsiders: {_RARE * n:.3g} would be expected by chance. {self._compared()}"
        )

    def _compared(self) -> str:
        """Which documents both attacks apply to, and why not to others."""
        n, both = self.offline.size, int(self.known.sum())
        if both == n:
            return "Each was in some shadows and not in others, so both attacks are made."
        reasons = {
            "new to the shadows": self.n_new,
            "in nearly all shadows, as short texts and copies are, or in nearly none": n - both - self.n_new,
        }
        why_not = " and ".join(f"{number} were {why}" for why, number in reasons.items() if number)
        return f"Both attacks are made on {both} of them; {why_not}: only the offline attack applies to these."

    def rows(self) -> list[dict[str, Any]]:
        """Every document, the most exposed first."""
        return [
            {
                "row": int(d) + 1,
                "chance": float(self.chance[d]),
                "log_ratio": float(self.online[d]) if self.known[d] else None,
            }
            for d in np.lexsort((-self.offline, self.chance))
        ]

    def summary(self) -> Summary:
        """A light, the rows most likely used, and how to read them."""
        n, accused = self.chance.size, self.accused
        expected = _RARE * n
        if accused > max(10 * expected, 5):
            light, line = Light.RED, f"{accused} of {n} documents can be identified as used by this model"
        elif accused > 3 * expected + 3:
            light, line = Light.AMBER, f"{accused} of {n} documents appear used by this model"
        else:
            light, line = (Light.GREEN, f"{accused} of {n} documents appear used by this model, as many as by chance")
        heads = ("Row", "Chance if not in the data", "Log ratio")
        rows = tuple(
            (str(r["row"]), f"{r['chance']:.2g}", "-" if r["log_ratio"] is None else f"{r['log_ratio']:.1f}")
            for r in self.rows()[:10]
        )
        expected_line = f"{line} ({expected:.3g} expected by chance)."
        return Summary(light, expected_line, heads, rows, (self.verdict(), _ASSUMED))

    def to_dict(self) -> dict[str, Any]:
        return {
            "not_for_release": True,
            "summary": self.summary().to_dict(),
            "verdict": self.verdict(),
            "shadows": self.n_shadows,
            "shared_words": self.shared_words,
            "target": self.target,
            "most_exposed": self.rows()[:20],
        }

    def save(self, folder: Path) -> bool:
        """Write audit.json, its page, and every document's scores as documents.csv."""
        super().save(folder)
        with open(folder / "documents.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, ["row", "chance", "log_ratio"])
            writer.writeheader()
            writer.writerows(self.rows())
        return True


def attack_target(
    shadows: SavedShadows, topics: NDArray[np.float64], words: Sequence[str], corpus: Corpus
) -> TargetAttack:
    """ζ of every document of ``corpus`` under a model trained elsewhere, against the shadows: nothing is trained.

    Documents that the shadows had get the online and the offline attack, new ones the offline attack. Topics are
    distributions over the words that the model and the shadows share: otherwise another vocabulary alone would make a
    difference. Texts must be read as they were for the shadows.
    """
    topics = np.asarray(topics, np.float64)
    if topics.ndim != 2 or topics.shape[1] != len(words):
        raise InputError(f"the model must be topics × {len(words)} words, got shape {topics.shape}.")
    if not np.all(np.isfinite(topics)) or np.any(topics < 0):
        raise InputError("the entries of a topic matrix must be finite and not negative.")
    if len(set(words)) != len(words):
        raise InputError("the words of the model must be distinct.")
    shared = Vocabulary.of(set(words) & set(shadows.words))
    if not shared:
        raise InputError("the model shares no word with the shadows. Were texts read in the same way (--language)?")
    counts = corpus.counts(shared)
    observed = document_statistics(counts, _restricted(topics, words, shared))[:, :1]
    said = np.empty((shadows.member.shape[0], counts.n_documents, 1))
    known_words = Vocabulary.of(set(shadows.words))
    used = corpus.counts(known_words).matrix().astype(np.float64)
    there = np.empty(said.shape[:2])
    for number, shadow in enumerate(shadows.topics()):
        if shadow.any() and shadow.shape[0] != topics.shape[0]:
            raise InputError(
                f"the model has {topics.shape[0]} topics and the shadows have {shadow.shape[0]}. Train shadows of as "
                f"many: --topics {topics.shape[0]}."
            )
        said[number] = document_statistics(counts, _restricted(shadow, shadows.words, shared))[:, :1]
        there[number] = presence(used, _present(shadow, shadows.words, known_words))
        progress.report((number + 1) / said.shape[0])
    seen = shadows.seen(corpus.content_key)
    moments = Moments.of(said, seen)
    both = np.minimum(seen.sum(axis=0), (~seen).sum(axis=0)) >= 2
    online = np.where(both, rate(observed, moments, online=True), np.nan)
    offline = rate(observed, moments, online=False)
    words_there = presence(used, _present(topics, words, known_words))
    turns = in_turn(said, seen, moments, said.shape[0], online=False)
    # The better of two tests, each at half of the level.
    chance = np.minimum(calibrated(offline, turns, seen), calibrated(words_there, there, seen))
    return TargetAttack(
        offline, online, np.minimum(1.0, 2 * chance), said.shape[0], len(shared), fingerprint(topics, words),
        n_new=int(np.count_nonzero(~seen.any(axis=0))),
    )  # fmt: skip


def calibrated(
    score: NDArray[np.float64], shadow_scores: NDArray[np.float64], seen: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """p-values of "was not in the data", for any distribution of the scores (conformal; Vovk et al. 2005).

    (1 + outsiders of the shadows that score as high)/(1 + all of them). Documents that some shadow had are compared
    with such documents, new ones with new ones: their scores come from different numbers of shadows.
    """
    chance = np.ones(score.size)
    old = seen.any(axis=0)
    for group in (old, ~old):
        if group.any():
            outside = np.sort(shadow_scores[:, group][~seen[:, group]])
            as_high = outside.size - np.searchsorted(outside, score[group], side="left")
            chance[group] = (1 + as_high) / (1 + outside.size)
    return chance


def _present(topics: NDArray[np.float64], words: Sequence[str], of: Vocabulary) -> NDArray[np.bool_]:
    """Which of these words are above the model's floor."""
    there = {word for word, present in zip(words, present_words(topics), strict=True) if present}
    return np.array([word in there for word in of.words])


def _restricted(topics: NDArray[np.float64], words: Sequence[str], shared: Vocabulary) -> NDArray[np.float64]:
    """Topics as distributions over the shared words; a model without any of them stays empty."""
    column = {word: i for i, word in enumerate(words)}
    part = topics[:, [column[word] for word in shared.words]]
    return distributions(part) if part.any() else part
