"""Save a release as a folder that anyone can read, and load it back. Written whole or not at all."""

import csv
import hashlib
import io
import json
import os
import re
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from dptopics.errors import BundleError, DptopicsError, InputError
from dptopics.privacy.durable import sync_folder
from dptopics.privacy.guarantee import Guarantee
from dptopics.public.text import TextSettings
from dptopics.release.ngram_table import NgramTable
from dptopics.release.release import Release
from dptopics.release.topic_model import DocumentSpace, TopicModel
from dptopics.release.vocabulary import Vocabulary

SCHEMA = 1
_INDEX = "bundle.json"
_CSV_WORDS = 30
_SPACE = ("mean", "projection", "middle", "centres")
_ARRAYS = {kind: f"{kind}.npz" for kind in ("topics", "ngrams", "vocabulary")}


def check_target(path: str | Path) -> Path:
    """Refuse a folder that exists or cannot be written: better before the budget is charged than after."""
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
    """Write a release to a new folder, atomically: a crash leaves no folder of that name, or a whole one.

    Once this returns, it is on disk, its name included: a loss of power does not undo what was charged and saved.
    """
    path = check_target(path)
    files = _contents(release)
    index = {
        "schema": SCHEMA,
        "kind": _kind(release.value),
        "settings": release.settings,
        "model": _model_settings(release.value),
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }
    files[_INDEX] = _json(index | {"own_sha256": hashlib.sha256(_json(index)).hexdigest()})
    partial = Path(tempfile.mkdtemp(prefix=f".{path.name}.partial-", dir=path.absolute().parent))
    try:
        for name, data in files.items():
            with open(partial / name, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        partial.chmod(0o755)
        sync_folder(partial)
        check_target(path)
        os.rename(partial, path)
        sync_folder(path.absolute().parent)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return path


def load(path: str | Path) -> Release[Any]:
    """Read a release back, checking that it is whole and unchanged."""
    path = Path(path)
    if not path.is_dir():
        raise BundleError(f"there is no release folder {str(path)!r}.")
    index = _read_json(path, _INDEX)
    if not isinstance(index.get("schema"), int):
        raise BundleError(f"{str(path)!r} is damaged: {_INDEX} has no schema number.")
    if index["schema"] > SCHEMA:
        raise BundleError(
            f"this release has schema {index['schema']}, this version reads up to {SCHEMA}. Update dptopics."
        )
    own = index.pop("own_sha256", None)
    if own != hashlib.sha256(_json(index)).hexdigest():
        raise BundleError(f"{str(path)!r} is damaged: {_INDEX} was changed. Get the release again.")
    try:
        kind = index["kind"]
        if kind not in _ARRAYS:
            raise BundleError(
                f"{str(path)!r} is damaged, or newer than this version: {_INDEX} names a kind of release that is not "
                f"one of {', '.join(_ARRAYS)}. Get the release again, or update dptopics."
            )
        if not {"guarantee.json", "vocabulary.txt", _ARRAYS[kind]} <= set(index["sha256"]):
            raise BundleError(f"{str(path)!r} is damaged: {_INDEX} lacks a checksum. Get the release again.")
        for name, digest in index["sha256"].items():
            if hashlib.sha256((path / Path(name).name).read_bytes()).hexdigest() != digest:
                raise BundleError(f"{str(path)!r} is damaged: {name} was changed. Get the release again.")
        guarantee = Guarantee.from_dict(_read_json(path, "guarantee.json"))
        words = tuple(map(_word, path.joinpath("vocabulary.txt").read_bytes().decode().split("\n")[:-1]))
        arrays = np.load(path / _ARRAYS[kind], allow_pickle=False)
        weights = tuple(map(float, arrays["vocabulary_weight"])) if "vocabulary_weight" in arrays else None
        value: Any = Vocabulary(words, weights)
        if kind == "topics":
            model = index["model"]
            value = TopicModel(
                topic_word=arrays["topic_word"],
                vocabulary=value,
                topic_share=arrays["topic_share"],
                alpha=float(model["alpha"]),
                deviation=arrays.get("deviation"),
                text=None if model["text"] is None else TextSettings(**model["text"]),
                space=_space(model, arrays),
            )
            if value.topic_word.shape != (value.topic_share.size, len(words)):
                raise BundleError(f"{str(path)!r} is damaged: topics and vocabulary do not fit together.")
        if kind == "ngrams":
            model = index["model"]
            value = NgramTable(
                vocabulary=value,
                probability=arrays["probability"],
                total=None if model["total"] is None else float(model["total"]),
                deviation=arrays.get("deviation"),
                text=None if model["text"] is None else TextSettings(**model["text"]),
            )
        return Release(value=value, guarantee=guarantee, settings=index["settings"])
    except DptopicsError:
        raise
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise BundleError(f"{str(path)!r} is damaged or incomplete ({type(error).__name__}).") from None


def _kind(value: Any) -> str:
    return {TopicModel: "topics", NgramTable: "ngrams"}.get(type(value), "vocabulary")


def _contents(release: Release[Any]) -> dict[str, bytes]:
    value, kind = release.value, _kind(release.value)
    model = value if isinstance(value, TopicModel) else None
    vocabulary = value if kind == "vocabulary" else value.vocabulary
    arrays = {} if vocabulary.weights is None else {"vocabulary_weight": np.array(vocabulary.weights)}
    if isinstance(value, NgramTable):
        arrays["probability"] = value.probability
        arrays |= {} if value.deviation is None else {"deviation": value.deviation}
    if model is not None:
        arrays |= {"topic_word": model.topic_word, "topic_share": model.topic_share}
        arrays |= {} if model.deviation is None else {"deviation": model.deviation}
        arrays |= {} if model.space is None else {f"space_{name}": getattr(model.space, name) for name in _SPACE}
    files = {
        "guarantee.json": release.guarantee.to_json().encode(),
        "vocabulary.txt": "".join(f"{_line(w)}\n" for w in vocabulary.words).encode(),
        "README.txt": _readme(release).encode(),
        _ARRAYS[kind]: _npz(arrays),
    }
    if isinstance(value, NgramTable):
        files["ngrams.csv"] = value.csv().encode()
    if model is not None:
        files["topics.csv"] = _topics_csv(model).encode()
    return files


def _line(word: str) -> str:
    """A word on one line, whatever is in it: the words of a count matrix can be anything."""
    return word.replace("\\", "\\\\").replace("\n", "\\n")


def _word(line: str) -> str:
    """Inverse of :func:`_line`."""
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], line)


def _model_settings(value: Any) -> dict[str, Any]:
    if isinstance(value, Vocabulary):
        return {}
    own: dict[str, Any] = {"total": value.total} if isinstance(value, NgramTable) else {"alpha": value.alpha}
    if isinstance(value, TopicModel) and value.space is not None:
        own |= {"embedding": value.space.embedding, "of_words": value.space.of_words}
    return own | {"text": None if value.text is None else asdict(value.text)}


def _space(model: dict[str, Any], arrays: Any) -> DocumentSpace | None:
    if "embedding" not in model:
        return None
    return DocumentSpace(
        embedding=str(model["embedding"]),
        of_words=bool(model["of_words"]),
        **{name: arrays[f"space_{name}"] for name in _SPACE},
    )


def _topics_csv(model: TopicModel) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["topic", "share", "rank", "word", "weight", "noise_deviation"])
    for topic, words in enumerate(model.top_words(_CSV_WORDS)):
        deviation = "" if model.deviation is None else f"{model.deviation[topic]:.3g}"
        for rank, word in enumerate(words, start=1):
            weight = model.topic_word[topic, model.vocabulary.index[word]]
            writer.writerow([topic, f"{model.topic_share[topic]:.4f}", rank, word, f"{weight:.6f}", deviation])
    return out.getvalue()


def _readme(release: Release[Any]) -> str:
    lines = ["A release made by dptopics.", "", release.guarantee.card(), ""]
    if isinstance(release.value, TopicModel):
        lines += ["Words that stand out of the noise by three deviations or more:"]
        sure = release.value.top_words(10, min_deviations=3.0)
        lines += [
            f"Topic {k}: {', '.join(words) or '(none: this topic is mostly noise)'}" for k, words in enumerate(sure)
        ]
        lines += [
            "",
            "topics.csv: the heaviest words of each topic. topics.npz: the whole topic-word matrix (NumPy).",
        ]
    if isinstance(release.value, NgramTable):
        lines += [f"The {len(release.value.top())} most probable n-grams:"]
        lines += [f"{probability:.3g}  {ngram}" for ngram, probability in release.value.top()]
        lines += ["", "ngrams.csv: all n-grams, the most probable first. ngrams.npz: the same in full digits (NumPy)."]
    lines += [
        "vocabulary.txt: the words. guarantee.json: the guarantee for machines. bundle.json: settings and checksums.",
        "Everything here depends on the private data only through the mechanism that the guarantee describes.",
    ]
    return "\n".join(lines) + "\n"


def _npz(arrays: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def _json(data: dict[str, Any]) -> bytes:
    return (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode()


def _read_json(path: Path, name: str) -> dict[str, Any]:
    try:
        data = json.loads((path / name).read_text("utf-8"))
    except FileNotFoundError:
        raise BundleError(f"{str(path)!r} is not a release: {name} is missing.") from None
    except (OSError, ValueError, RecursionError):
        raise BundleError(f"{str(path)!r} is damaged: {name} cannot be read.") from None
    if not isinstance(data, dict):
        raise BundleError(f"{str(path)!r} is damaged: {name} is not what it should be.")
    return data
