"""Models of whole texts in batches of fixed shape: as fast as the machine is, and each text by itself.

In a batch that is padded to its longest text, a text's last digits depend on the others. In one of *fixed* shape (texts
padded to one of few lengths, which the text alone decides; the batch filled up to one number of rows) they need not.
Whether they do is tested on this machine, for each shape, with invented texts, before the first private one: other
neighbours, other places, an emptier batch. Where one bit differs, each text has a call of its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from dptopics.core import progress
from dptopics.core.errors import tell_owner
from dptopics.public.text_models import Floats, TextModel, joined

LENGTHS = (32, 64, 128, 256, 512)
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

    def shapes(self, texts: Sequence[str]) -> Sequence[int]:
        """Tokens that each text is padded to: one of few numbers, by that text alone."""

    def rows(self, tokens: int) -> int:
        """Texts of a batch of this shape: always as many."""

    def __call__(self, texts: Sequence[str], tokens: int) -> Any:
        """A vector for each of ``rows(tokens)`` texts of this shape, or for one."""


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
        different = list(dict.fromkeys(texts))
        found: dict[str, Floats] = {}
        for tokens, rows, batch in self._batches(different):
            filled = self.vectors([*batch, *[""] * (rows - len(batch))], tokens)
            found |= zip(batch, filled[: len(batch), None], strict=True)
            progress.report(len(found) / len(different))
        return joined([found[text] for text in texts])

    def _batches(self, texts: list[str]) -> Iterator[tuple[int, int, list[str]]]:
        shape = np.array(self.encode.shapes(texts), np.int64)
        for tokens in np.unique(shape).tolist():
            own = [texts[i] for i in np.flatnonzero(shape == tokens)]
            if tokens not in self.tested:
                self.tested[tokens] = independent(self, tokens)
            rows = self.encode.rows(tokens) if self.tested[tokens] else 1
            yield from ((tokens, rows, own[i : i + rows]) for i in range(0, len(own), rows))

    def together(self, words: Sequence[str]) -> Floats:
        """The same: a row knows nothing of the others."""
        return self(words)


def independent(model: ShapedModel, tokens: int) -> bool:
    """Whether invented texts of this shape keep their bits beside other texts, in other places, in a batch of few."""
    rows = model.encode.rows(tokens)
    texts = _invented(model.encode, tokens, 2 * rows)
    ours, others = texts[:rows], texts[rows:]
    if rows == 1:
        return False
    if same := len(others) == rows:
        first = model.vectors(ours, tokens)
        mixed = [others[i] if i % 2 else ours[i] for i in range(rows)]
        same = (
            np.array_equal(first, model.vectors(ours[::-1], tokens)[::-1])
            and np.array_equal(first[::2], model.vectors(mixed, tokens)[::2])
            and np.array_equal(first[:1], model.vectors([ours[0], *[""] * (rows - 1)], tokens)[:1])
        )
    if not same:
        tell_owner(
            f"on this machine {model.name} gives a text other digits beside other texts (batches of {tokens} tokens). "
            "Each text has a call of its own, which takes longer."
        )
    return same


def _invented(encode: InShapes, tokens: int, n: int) -> list[str]:
    """So many texts of this shape, if they are found."""
    draw, found = np.random.Generator(np.random.PCG64(tokens)), dict[str, None]()
    for _ in range(20):
        sizes = draw.integers(1, tokens + 1, 4 * n)
        texts = [" ".join(draw.choice(_INVENTED, size)) for size in sizes]
        shapes = encode.shapes(texts)
        found |= {text: None for text, shape in zip(texts, shapes, strict=True) if shape == tokens}
        if len(found) >= n:
            break
    return list(found)[:n]


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

    @property
    def _device(self) -> str:
        return str(self.model.device.type)

    @property
    def _most(self) -> int:
        return min(int(self.model.max_seq_length or LENGTHS[-1]), LENGTHS[-1])

    @property
    def _lengths(self) -> list[int]:
        return [tokens for tokens in LENGTHS if tokens < self._most] + [self._most]

    def rows(self, tokens: int) -> int:
        return max(1, _TOKENS.get(self._device, _TOKENS_ELSEWHERE) // tokens)

    def shapes(self, texts: Sequence[str]) -> list[int]:
        how = {"truncation": True, "max_length": self._most, "return_attention_mask": False}
        read = self.model.tokenizer(list(texts), **how)["input_ids"] if texts else []
        return np.array(self._lengths)[np.searchsorted(self._lengths, [len(row) for row in read])].tolist()

    def __call__(self, texts: Sequence[str], tokens: int) -> Any:
        import torch

        how = {"padding": "max_length", "truncation": True, "max_length": tokens, "return_tensors": "pt"}
        given = {name: part.to(self.model.device) for name, part in self.model.tokenizer(list(texts), **how).items()}
        with torch.inference_mode():
            return self.model.eval()(given)["sentence_embedding"].float().cpu().numpy()
