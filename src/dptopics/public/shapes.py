"""Models of whole texts in batches of fixed shape: as fast as the machine is, and each text by itself.

In a batch that is padded to its longest text, a text's last digits depend on the others. In one of *fixed* shape (texts
padded to one of few lengths, which the text alone decides; the batch filled up to one number of rows) they need not.
Whether they do is tested on this machine, for each shape, with invented texts, before the first private one: other
neighbours, other places, an emptier batch. Where one bit differs, each text has a call of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from dptopics.core import progress
from dptopics.core.errors import shielded, tell_owner
from dptopics.public.text_models import Floats, TextModel, joined

LENGTHS = (32, 64, 96, 128, 192, 256, 384, 512)
_TOKENS = {"cpu": 2048}  # of a batch
_TOKENS_ELSEWHERE = 32_768
_INVENTED = (
    "a",
    "I",
    "knee",
    "my",
    "pain",
    "the",
    "eyes",
    "sleep",
    "call",
    "parcel",
    "tired",
    "never",
    "thank you",
    "refund",
)


class InShapes(Protocol):
    """A callable that takes batches of fixed shapes, and says which."""

    how: str  # its shapes, and what else decides the last digits: precision, device, versions

    def read(self, texts: Sequence[str]) -> Sequence[tuple[int, Any]]:
        """Tokens that each text is padded to, one of few numbers, and what is read of it: by that text alone."""

    def rows(self, tokens: int) -> int:
        """Texts of a batch of this shape: always as many."""

    def __call__(self, read: Sequence[Any], tokens: int) -> Any:
        """A vector for each of ``rows(tokens)`` texts of this shape, or for one, from what was read of them."""


@dataclass(frozen=True)
class ShapedModel(TextModel):
    """A model that is called with batches of fixed shape, where the test of this machine allows it."""

    encode: InShapes = field(repr=False, compare=False)
    tested: dict[int, bool] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def how(self) -> str:
        return self.encode.how

    def __call__(self, texts: Sequence[str]) -> Floats:
        """The model's vectors, each a function of its text alone; equal texts share one."""
        different = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        told = f"{self.name} cannot read a text"
        (_, blank), *read = shielded(lambda: self.encode.read(["", *different]), told, "Try the model on public texts.")
        shape, parts, places = np.array([tokens for tokens, _ in read], np.int64), [], []
        for tokens in np.unique(shape).tolist():
            if tokens not in self.tested:
                self.tested[tokens] = independent(self, tokens)
            rows, own = self.encode.rows(tokens) if self.tested[tokens] else 1, np.flatnonzero(shape == tokens)
            for some in (own[i : i + rows] for i in range(0, len(own), rows)):
                batch = [read[i][1] for i in some] + [blank] * (rows - len(some))
                parts.append(self.vectors(batch, tokens)[: len(some)])
                places.append(some)
                progress.report(sum(map(len, places)) / len(read))
        found = joined(parts)
        found[np.concatenate([*places, *[np.zeros(0, np.int64)]])] = found.copy()
        return found[[different[text] for text in texts]]

    def together(self, words: Sequence[str]) -> Floats:
        """The same: a row knows nothing of the others."""
        return self(words)


def independent(model: ShapedModel, tokens: int) -> bool:
    """Whether invented texts of this shape keep their bits beside other texts, in other places, in a batch of few."""
    rows = model.encode.rows(tokens)
    if rows == 1:
        return False
    blank, read = _invented(model.encode, tokens, 2 * rows)
    if same := len(read) == 2 * rows:
        first = model.vectors(read[:rows], tokens)
        mixed = [read[i + rows * (i % 2)] for i in range(rows)]
        same = (
            np.array_equal(first, model.vectors(read[rows - 1 :: -1], tokens)[::-1])
            and np.array_equal(first[::2], model.vectors(mixed, tokens)[::2])
            and np.array_equal(first[:1], model.vectors([read[0], *[blank] * (rows - 1)], tokens)[:1])
        )
    if not same:
        tell_owner(
            f"on this machine {model.name} gives a text other digits beside other texts (batches of {tokens} tokens). "
            "Each text has a call of its own, which takes longer."
        )
    return same


def _invented(encode: InShapes, tokens: int, n: int) -> tuple[Any, list[Any]]:
    """What is read of no text, and of so many different texts of this shape, if they are found."""
    draw, found = np.random.Generator(np.random.PCG64(tokens)), dict[str, Any]()
    for _ in range(20):
        texts = [" ".join(draw.choice(_INVENTED, size)) for size in draw.integers(1, tokens + 1, 4 * n)]
        found |= {text: one for text, (shape, one) in zip(texts, encode.read(texts), strict=True) if shape == tokens}
    return encode.read([""])[0][1], list(found.values())[:n]


@dataclass(frozen=True, eq=False)
class SentenceTransformerInShapes:
    """A model of sentence-transformers, on the processor or a GPU; its own tokenizer pads."""

    model: Any

    @property
    def how(self) -> str:
        kind, precision = self._device, str(next(self.model.parameters()).dtype).removeprefix("torch.")
        shapes = ", ".join(f"{self.rows(tokens)} × {tokens}" for tokens in self._lengths)
        names = ("sentence-transformers", "torch", "transformers")
        libraries = ", ".join(f"{name} {version(name)}" for name in names if find_spec(name.replace("-", "_")))
        return f"batches of {shapes} tokens, {precision} on {kind}, {libraries}"

    @cached_property
    def _reader(self) -> Any:
        """The model's tokenizer without padding: a copy, so that nothing is set for anybody else."""
        made = type(self.model.tokenizer.backend_tokenizer).from_str(self.model.tokenizer.backend_tokenizer.to_str())
        made.no_padding()
        made.enable_truncation(self._lengths[-1])
        return made

    @property
    def _device(self) -> str:
        return str(self.model.device.type)

    @property
    def _lengths(self) -> list[int]:
        most = min(int(self.model.max_seq_length or LENGTHS[-1]), LENGTHS[-1])
        return [tokens for tokens in LENGTHS if tokens < most] + [most]

    def rows(self, tokens: int) -> int:
        return max(1, _TOKENS.get(self._device, _TOKENS_ELSEWHERE) // tokens)

    def read(self, texts: Sequence[str]) -> list[tuple[int, list[int]]]:
        # a lone surrogate is no text: it becomes a sign that the model knows nothing of
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        ids = [one.ids for one in self._reader.encode_batch_fast(clean)]
        shape = np.array(self._lengths)[np.searchsorted(self._lengths, [len(row) for row in ids])]
        return list(zip(shape.tolist(), ids, strict=True))

    def __call__(self, read: Sequence[list[int]], tokens: int) -> Any:
        import torch

        ids = np.full((len(read), tokens), self.model.tokenizer.pad_token_id, np.int64)
        for row, one in zip(ids, read, strict=True):
            row[: len(one)] = one
        kept = (np.arange(tokens) < np.array([len(one) for one in read])[:, None]).astype(np.int64)
        given = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(kept)}
        with torch.inference_mode():
            found = self.model.eval()({name: part.to(self.model.device) for name, part in given.items()})
            return found["sentence_embedding"].float().cpu().numpy()
