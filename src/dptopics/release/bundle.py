"""Save a release as a folder that anyone can read, and load it back. Written atomically."""

import hashlib
import io
import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from dptopics.core.errors import BundleError, DptopicsError, InputError
from dptopics.core.files import sync_folder
from dptopics.core.vocabulary import Vocabulary
from dptopics.privacy.guarantee import Guarantee
from dptopics.release.counts import CountTable
from dptopics.release.ngrams import NgramTable
from dptopics.release.release import Record, Release
from dptopics.release.topic_model import TopicModel

SCHEMA = 2  # 1: without the record, and without marking words of a public list
KINDS: dict[str, type[Any]] = {kind.kind: kind for kind in (TopicModel, NgramTable, Vocabulary, CountTable)}
_FORMER = {"deviation": "noise_std", "over_deviation": "over_noise_std"}  # names until 0.2
_INDEX = "bundle.json"
_LISTED = "public list"
# What ends a line for some reader, separates fields or cannot be written as UTF-8.
_ESCAPED = re.compile(r"[\\\t\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029\ud800-\udfff]")
_ESCAPES = {"\\": r"\\", "\n": r"\n", "\t": r"\t"}


def check_target(path: str | Path) -> Path:
    """Refuse a folder that exists or cannot be written, before the budget is charged."""
    path = Path(path)
    if path.exists() or path.is_symlink():
        raise InputError(f"the output folder {str(path)!r} exists already. Choose another name, or remove it first.")
    parent = path.absolute().parent
    if not parent.is_dir():
        raise InputError(f"the folder {str(parent)!r} does not exist. Create it first.")
    if not os.access(parent, os.W_OK):
        raise InputError(f"the folder {str(parent)!r} cannot be written.")
    return path


def save(release: Release[Any], path: str | Path) -> Path:
    """Write a release to a new folder, atomically and synced to disk: a crash leaves no folder, or a complete one."""
    path = check_target(path)
    files, midnight = contents(release), _midnight(release.record.day)
    partial = Path(tempfile.mkdtemp(prefix=f".{path.name}.partial-", dir=path.absolute().parent))
    try:
        for name, data in files.items():
            with open(partial / name, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.utime(partial / name, (midnight, midnight))
        partial.chmod(0o755)
        os.utime(partial, (midnight, midnight))
        sync_folder(partial)
        check_target(path)
        os.rename(partial, path)
        sync_folder(path.absolute().parent)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return path


def _midnight(day: str) -> float:
    """The time of every file is the day of the release: the exact time would reveal how long a run took."""
    try:
        return datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return datetime(1980, 1, 1, tzinfo=UTC).timestamp()  # as in .npz files


def contents(release: Release[Any]) -> dict[str, bytes]:
    """The files of a bundle, by name: the same bytes for the same release."""
    value, vocabulary = release.value, release.value.vocabulary
    arrays = {} if vocabulary.weights is None else {"vocabulary_weight": np.array(vocabulary.weights)}
    files = {
        "guarantee.json": release.guarantee.to_json().encode(),
        "vocabulary.txt": "".join(f"{_line(w, vocabulary)}\n" for w in vocabulary.words).encode(),
        "README.txt": _readme(release).encode("utf-8", "replace"),
        f"{value.kind}.npz": _npz(arrays | value.arrays()),
        **{name: table.encode("utf-8", "replace") for name, table in value.tables().items()},
    }
    index = {
        "schema": SCHEMA,
        "kind": value.kind,
        "settings": release.settings,
        "record": release.record.to_dict(),
        "model": value.fields(),
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }
    files[_INDEX] = _json(index | {"own_sha256": hashlib.sha256(_json(index)).hexdigest()})
    return files


def load(path: str | Path) -> Release[Any]:
    """Read a release back, checking that it is complete and unchanged."""
    path = Path(path)
    if not path.is_dir():
        raise BundleError(f"there is no release folder {str(path)!r}.")
    try:
        index = _checked_index(path)
        guarantee = Guarantee.from_dict(_read_json(path, "guarantee.json"))
        arrays = _renamed(np.load(path / f"{index['kind']}.npz", allow_pickle=False))
        value = KINDS[index["kind"]].restored(_vocabulary(path, arrays), arrays, _renamed(index["model"]))
        record = Record.from_dict(index.get("record"))
        return Release(value=value, guarantee=guarantee, settings=index["settings"], record=record)
    except BundleError as error:
        raise BundleError(f"{str(path)!r} cannot be used: {error}") from None
    except DptopicsError:
        raise
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise BundleError(f"{str(path)!r} is damaged or incomplete ({type(error).__name__}).") from None


def stated_epsilon(path: str | Path) -> float | None:
    """The ε stated in a release's guarantee.json; loading computes it from the events instead."""
    found = _read_json(Path(path), "guarantee.json").get("epsilon")
    return None if found is None else float(found)


def checksum(path: str | Path) -> str:
    """SHA-256 of a release's index, which holds the checksums of all its other files."""
    return hashlib.sha256((Path(path) / _INDEX).read_bytes()).hexdigest()


def listed_files(path: str | Path) -> set[str]:
    """Names of the files of a checked release, including its index."""
    return {Path(name).name for name in _read_json(Path(path), _INDEX)["sha256"]} | {_INDEX}


def _checked_index(path: Path) -> dict[str, Any]:
    """The content of bundle.json, if every listed file has its checksum."""
    index = _read_json(path, _INDEX)
    if not isinstance(index.get("schema"), int):
        raise BundleError(f"it is damaged: {_INDEX} has no schema number.")
    if index["schema"] > SCHEMA:
        raise BundleError(f"it has schema {index['schema']}, this version reads up to {SCHEMA}. Update dptopics.")
    own = index.pop("own_sha256", None)
    if own != hashlib.sha256(_json(index)).hexdigest():
        raise BundleError(f"it is damaged: {_INDEX} was changed. Get the release again.")
    if index["kind"] not in KINDS:
        raise BundleError(
            f"it is damaged, or newer than this version: {_INDEX} names none of the kinds {', '.join(KINDS)}. Get the "
            "release again, or update dptopics."
        )
    if not {"guarantee.json", "vocabulary.txt", f"{index['kind']}.npz"} <= set(index["sha256"]):
        raise BundleError(f"it is damaged: {_INDEX} lacks a checksum. Get the release again.")
    for name, digest in index["sha256"].items():
        if hashlib.sha256((path / Path(name).name).read_bytes()).hexdigest() != digest:
            raise BundleError(f"it is damaged: {name} was changed. Get the release again.")
    return index


def _renamed(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers and fields under their current names."""
    return {_FORMER.get(name, name): value for name, value in stored.items()}


def _vocabulary(path: Path, arrays: Any) -> Vocabulary:
    """The words, their noisy weights if there are any, and which of them come from a public list."""
    rows = [line.split("\t") for line in path.joinpath("vocabulary.txt").read_bytes().decode().split("\n")[:-1]]
    words = tuple(_word(row[0]) for row in rows)
    listed = frozenset(word for word, row in zip(words, rows, strict=True) if row[1:] == [_LISTED])
    weights = tuple(map(float, arrays["vocabulary_weight"])) if "vocabulary_weight" in arrays else None
    return Vocabulary(words, weights, listed)


def _line(word: str, vocabulary: Vocabulary) -> str:
    """A word on one line: the words of a count matrix may contain any character."""
    plain = _ESCAPED.sub(lambda found: _ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04x}", word)
    return f"{plain}\t{_LISTED}" if word in vocabulary.listed else plain


def _word(line: str) -> str:
    """Inverse of :func:`_line`."""
    plain = {escape: sign for sign, escape in _ESCAPES.items()}
    return re.sub(r"\\u[0-9a-f]{4}|\\.", lambda found: plain.get(found[0]) or chr(int(found[0][2:], 16)), line)


def _readme(release: Release[Any]) -> str:
    record = [f"{name}: {text}" for name, text in release.record.rows()]
    lines = ["A release made by dptopics.", "", *record, *([""] if record else []), release.guarantee.card(), ""]
    lines += release.value.summary()
    lines += [
        "vocabulary.txt: the words; 'public list' marks those that were public beforehand and may not occur in this "
        "data.",
        "guarantee.json: the guarantee for machines. bundle.json: plan, settings and checksums.",
        "Everything here depends on the private data only through the mechanism that the guarantee describes.",
    ]
    return "\n".join(lines) + "\n"


def _npz(arrays: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # numbers with noise in them hardly get any smaller by packing, which takes long
    return buffer.getvalue()


def _json(data: dict[str, Any]) -> bytes:
    return (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode()


def _read_json(path: Path, name: str) -> dict[str, Any]:
    try:
        data = json.loads((path / name).read_text("utf-8"))
    except FileNotFoundError:
        raise BundleError(f"it is not a release: {name} is missing.") from None
    except (OSError, ValueError, RecursionError):
        raise BundleError(f"it is damaged: {name} cannot be read.") from None
    if not isinstance(data, dict):
        raise BundleError(f"it is damaged: {name} is not an object.")
    return data
