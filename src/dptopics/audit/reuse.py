"""Shadows of an earlier audit against a model trained elsewhere, on documents old and new. NOT FOR RELEASE."""

import csv
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from dptopics import progress
from dptopics.audit.lira import rate
from dptopics.audit.statistics import document_statistics
from dptopics.data.corpus import Corpus
from dptopics.errors import BundleError, InputError
from dptopics.kernels.distributions import distributions
from dptopics.release.bundle import load
from dptopics.release.topic_model import TopicModel, fingerprint
from dptopics.release.vocabulary import Vocabulary

_RARE = 1e-3  # chance of a document that was not in the data to look as much as if it had been


@dataclass(frozen=True, eq=False)
class SavedShadows:
    """Shadow models in a folder, with the documents that each of them had (by a hash of their content)."""

    folder: Path
    words: Sequence[str]
    member: NDArray[np.bool_]  # shadows × documents
    doc_key: NDArray[np.uint64]

    def topics(self) -> Iterator[NDArray[np.float64]]:
        """The topic-word matrices, one after another: they need not fit into memory together."""
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
        raise InputError(f"the folder {str(folder)!r} holds no shadows. Run an audit with --out there first.") from None
    missing = sum(not (folder / f"shadow-{shadow:04d}.npz").exists() for shadow in range(member.shape[0]))
    if missing:
        raise InputError(f"{missing} of {member.shape[0]} shadows are missing: run that audit again, it goes on.")
    return SavedShadows(folder, words, member, doc_key)


def read_target(path: Path) -> tuple[NDArray[np.float64], list[str]]:
    """Topics × words and the words: of a release folder, or of an .npz file with ``topic_word`` and ``words``."""
    path = Path(path)
    if path.is_dir():
        value = load(path).value
        if not isinstance(value, TopicModel):
            raise BundleError(f"{str(path)!r} holds a {type(value).__name__.lower()}, not topics.")
        return value.topic_word, list(value.vocabulary.words)
    try:
        with np.load(path, allow_pickle=False) as saved:
            return np.asarray(saved["topic_word"], np.float64), [str(word) for word in saved["words"]]
    except (OSError, KeyError, TypeError, ValueError, EOFError, BadZipFile, zlib.error):
        raise InputError(
            f"{str(path)!r} is no topic model. Give a release folder, or an .npz file with the arrays topic_word "
            "(topics × words) and words (strings)."
        ) from None


@dataclass(frozen=True, eq=False)
class TargetAttack:
    """Scores of documents against one model. Who was in its data is not known here, so there are no rates."""

    offline: NDArray[np.float64]  # −log of the chance of such a ζ, had the document not been in the data
    online: NDArray[np.float64]  # log likelihood ratio; NaN for documents that no shadow had
    n_shadows: int
    shared_words: int
    target: str = ""  # fingerprint of the model

    @property
    def known(self) -> NDArray[np.bool_]:
        """Documents that some shadow had, so that the online attack can be run."""
        return np.isfinite(self.online)

    def verdict(self) -> str:
        """Two sentences for the owner."""
        many, n = int(np.count_nonzero(self.offline > -np.log(_RARE))), self.offline.size
        return (
            f"{many} of {n} documents look as if they had been in the data, by a test that accuses 1 in 1,000 "
            f"outsiders: {_RARE * n:.3g} would be expected by chance. {int(self.known.sum())} of them were known to "
            "the shadows; new ones get the offline attack only."
        )

    def rows(self) -> list[dict[str, Any]]:
        """Every document, the most exposed first."""
        return [
            {
                "row": int(d),
                "chance": exp(-float(self.offline[d])),
                "log_ratio": float(self.online[d]) if self.known[d] else None,
            }
            for d in np.argsort(-self.offline, kind="stable")
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "not_for_release": True,
            "verdict": self.verdict(),
            "shadows": self.n_shadows,
            "shared_words": self.shared_words,
            "target": self.target,
            "most_exposed": self.rows()[:20],
        }

    def save(self, folder: Path) -> None:
        """Write audit.json, and every document's scores as documents.csv."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / "audit.json").write_text(json.dumps(self.to_dict(), indent=2) + "\n", "utf-8")
        with open(folder / "documents.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, ["row", "chance", "log_ratio"])
            writer.writeheader()
            writer.writerows(self.rows())


def attack_target(
    shadows: SavedShadows, topics: NDArray[np.float64], words: Sequence[str], corpus: Corpus
) -> TargetAttack:
    """ζ of every document of ``corpus`` under a model trained elsewhere, against the shadows: nothing is trained.

    Documents that the shadows had get the online and the offline attack, new ones the offline attack. Only words that
    both the model and the shadows know are counted, and topics are taken as distributions over those: else a model of
    another vocabulary would differ from the shadows for that alone. Texts must be read as they were for the shadows.
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
    for number, shadow in enumerate(shadows.topics()):
        if shadow.any() and shadow.shape[0] != topics.shape[0]:
            raise InputError(
                f"the model has {topics.shape[0]} topics and the shadows have {shadow.shape[0]}. Train shadows of as "
                f"many: --topics {topics.shape[0]}."
            )
        said[number] = document_statistics(counts, _restricted(shadow, shadows.words, shared))[:, :1]
        progress.report((number + 1) / said.shape[0])
    seen = shadows.seen(corpus.content_key)
    both = np.minimum(seen.sum(axis=0), (~seen).sum(axis=0)) >= 2
    online = np.where(both, rate(observed, said, seen, online=True), np.nan)
    offline = rate(observed, said, seen, online=False)
    return TargetAttack(offline, online, said.shape[0], len(shared), fingerprint(topics, words))


def _restricted(topics: NDArray[np.float64], words: Sequence[str], shared: Vocabulary) -> NDArray[np.float64]:
    """Topics as distributions over the shared words; a model that knows none of them stays empty."""
    column = {word: i for i, word in enumerate(words)}
    part = topics[:, [column[word] for word in shared.words]]
    return distributions(part) if part.any() else part
