"""Shadow models: the same learner on random halves of the data, in parallel, resumed from a folder. NOT FOR RELEASE."""

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from dptopics import progress
from dptopics.audit.floors import decoded_counts, present_words
from dptopics.audit.statistics import document_statistics
from dptopics.data.counts import Counts
from dptopics.errors import InputError

Trainer = Callable[[NDArray[np.int64], int], NDArray[np.float64]]  # documents, seed → topics × words


@dataclass(frozen=True, eq=False)
class Shadows:
    """Models trained on halves, and what they say of every document. Shadow 2i + 1 has the complement of shadow 2i."""

    member: NDArray[np.bool_]  # shadows × documents
    statistics: NDArray[np.float64]  # shadows × documents × statistics
    present: NDArray[np.bool_] = field(default_factory=lambda: np.ones((0, 0), bool))  # shadows × words above the floor
    totals: NDArray[np.float64] = field(default_factory=lambda: np.ones((0, 0)))  # counts decoded; NaN: not to be had

    @property
    def n_shadows(self) -> int:
        """Number of models."""
        return int(self.member.shape[0])


def halves(n_units: int, n_shadows: int, key: int) -> NDArray[np.bool_]:
    """Members of each shadow: n/2 random halves and their complements, so every unit is in exactly n/2."""
    if n_shadows < 4 or n_shadows % 2:
        raise InputError(f"the number of shadows must be even and at least 4, got {n_shadows}. The paper uses 128.")
    if n_units < 4:
        raise InputError(f"an attack needs at least 4 documents or authors to split, got {n_units}.")
    rng = np.random.Generator(np.random.PCG64(key))
    member = np.zeros((n_shadows, n_units), bool)
    for pair in range(n_shadows // 2):
        member[2 * pair, rng.permutation(n_units)[: n_units // 2]] = True
        member[2 * pair + 1] = ~member[2 * pair]
    return member


def train_shadows(
    train: Trainer,
    counts: Counts,
    *,
    n_shadows: int = 128,
    key: int = 0,
    author: NDArray[np.int32] | None = None,
    folder: Path | None = None,
    settings: dict[str, Any] | None = None,
    words: Sequence[str] | None = None,
) -> Shadows:
    """Train all shadows (those already in ``folder`` are read back) and compute every document's statistics.

    ``train`` maps documents of ``counts`` and a seed to topics; see :mod:`dptopics.audit.targets`. With ``author`` (a
    number for each document) whole authors are in or out. ``settings`` describe the learner; a folder made with others,
    or with other data, is refused. With ``words`` (what the columns stand for) the folder also serves to attack models
    trained elsewhere: :func:`dptopics.audit.reuse.read_shadows`.
    """
    units = np.arange(counts.n_documents) if author is None else np.unique(author, return_inverse=True)[1]
    member = halves(int(units.max()) + 1, n_shadows, key)[:, units]
    if folder is not None:
        # Who wrote what decides the halves: shadows of another author column are of other data.
        whose = None if author is None else hashlib.sha256(units.astype(np.int64).tobytes()).hexdigest()
        described = {"n_shadows": n_shadows, "key": key, "author": whose} | (settings or {})
        _claim(Path(folder), counts, described)
        if words is not None:
            _save(Path(folder) / "corpus.npz", member=member, doc_key=counts.doc_key, words=np.array(words, np.str_))

    def one(shadow: int) -> _Said:
        path = None if folder is None else Path(folder) / f"shadow-{shadow:04d}.npz"
        if path is not None and (saved := _read(path, counts)) is not None:
            return saved
        # Single precision halves the folder, and moves ζ by less than its own tolerance.
        topics = np.asarray(train(np.flatnonzero(member[shadow]), key * 1_000_003 + shadow), np.float32)
        found = document_statistics(counts, topics.astype(np.float64))
        if path is not None:
            _save(path, topics=topics, statistics=found)
        return _said(found, topics)

    said: dict[int, _Said] = {}
    for shadow, result in _in_parallel(one, n_shadows):
        said[shadow] = result
        progress.report(len(said) / n_shadows)
    ordered = [said[shadow] for shadow in range(n_shadows)]
    statistics, present = np.stack([one[0] for one in ordered]), np.stack([one[1] for one in ordered])
    return Shadows(member, statistics, present, np.stack([one[2] for one in ordered]))


_Said = tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]


def _said(statistics: NDArray[np.float64], topics: NDArray[np.float32]) -> _Said:
    """Statistics of documents, words above the floor, decoded counts of words."""
    wide = topics.astype(np.float64)
    totals = decoded_counts(wide)
    return statistics, present_words(wide), np.full(wide.shape[1], np.nan) if totals is None else totals


def _read(path: Path, counts: Counts) -> _Said | None:
    """A shadow that was trained before; None where there is none, or the file is damaged: it is trained again."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as saved:
            statistics, topics = np.asarray(saved["statistics"]), np.asarray(saved["topics"])
    except (OSError, KeyError, ValueError, EOFError, BadZipFile, zlib.error):
        return None
    if statistics.shape[:1] != (counts.n_documents,) or topics.ndim != 2 or topics.shape[1] != counts.n_words:
        return None
    return _said(statistics, topics)


def _in_parallel(work: Callable[[int], Any], n: int) -> Iterator[tuple[int, Any]]:
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        jobs = {pool.submit(work, i): i for i in range(n)}
        for job in as_completed(jobs):
            yield jobs[job], job.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _save(path: Path, **arrays: Any) -> None:
    """Whole or not at all: a crash leaves no half-written file."""
    partial = path.with_name(f"{path.stem}.partial-{os.getpid()}.npz")
    np.savez(partial, **arrays)
    partial.replace(path)


def _claim(folder: Path, counts: Counts, settings: dict[str, Any]) -> None:
    """Use a folder for these settings and this data only. It holds models of private data: for its owner alone."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    digest = hashlib.sha256(counts.doc_start.tobytes() + counts.word.tobytes() + counts.count.tobytes()).hexdigest()
    wanted = json.dumps({"not_for_release": True, "data": digest, **settings}, sort_keys=True, default=str)
    path = folder / "settings.json"
    if not path.exists():
        path.write_text(wanted)
    elif path.read_text() != wanted:
        raise InputError(
            f"the folder {str(folder)!r} holds shadows of other data or settings. Choose another folder, or remove it."
        )
