"""Models of whole texts, one text a call beside batches of fixed shape: texts a second, and whether bits stay.

    python benchmarks/whole_texts.py --data FOLDER     # this processor: sentence-transformers with all-MiniLM-L6-v2
    python benchmarks/whole_texts.py --device cuda     # a network of that shape with random weights, invented texts

The first needs sentence-transformers and the extra minilm; the second torch and transformers, and no data. Each writes
what it found to results/whole_texts.json under its device, or to --out. Ways take turns; the best of three counts.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dptopics.core.errors import PrivacyWarning
from dptopics.public.shapes import SentenceTransformerInShapes, ShapedModel

STORED = Path(__file__).parent / "results" / "whole_texts.json"
CORPORA, EACH, TURNS = ("airline_tweets", "newsgroups20"), 512, 3
WORDS = ("knee", "pain", "doctor", "letter", "ship", "water", "night", "train", "paper", "again", "never", "often")


def words() -> Any:
    """A tokenizer that knows the invented words, by the library that real ones use."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    known = {word: number for number, word in enumerate(("[PAD]", "[UNK]", *WORDS))}
    made = Tokenizer(models.WordLevel(known, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]")


def random_network(device: str, half: bool) -> Any:
    """MiniLM's shape, random weights, the mean of the tokens; with the few names that the adapter asks for."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    sizes = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
    network = BertModel(BertConfig(vocab_size=30_522, max_position_embeddings=512, **sizes)).to(device).eval()

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bert, self.tokenizer, self.max_seq_length = network.half() if half else network, words(), 256

        @property
        def device(self) -> Any:
            return next(self.bert.parameters()).device

        def forward(self, given: Any) -> Any:
            state = self.bert(**given).last_hidden_state
            mask = given["attention_mask"].unsqueeze(-1).to(state.dtype)
            return {"sentence_embedding": (state * mask).sum(1) / mask.sum(1).clamp(min=1)}

    return Network()


class Mixing(SentenceTransformerInShapes):
    """A planted library: it takes off the mean of the batch."""

    def __call__(self, texts: Sequence[str], tokens: int) -> Any:
        found = super().__call__(texts, tokens)
        return found - found.mean(axis=0)


def rate(embed: Callable[[list[str]], Any], texts: list[str]) -> float:
    start = time.perf_counter()
    embed(texts)
    return len(texts) / (time.perf_counter() - start)


def measured(network: Any, sets: dict[str, list[str]], alone: Callable[[list[str]], Any], few: int) -> dict[str, Any]:
    """Texts a second in both ways, the test of the machine, and vectors in another order and beside other texts."""
    model = ShapedModel("measured", SentenceTransformerInShapes(network))
    found: dict[str, Any] = {"how": model.how}
    for name, texts in sets.items():
        model(texts)  # the test of the machine; kernels are loaded
        ours, theirs = zip(*((rate(model, texts), rate(alone, texts[:few])) for _ in range(TURNS)), strict=True)
        whole, other = model(texts), model(texts[::-2])
        found[name] = {
            "texts": len(texts), "batches, texts a second": max(ours), "one a call, texts a second": max(theirs),
            "times": max(ours) / max(theirs), "same bits": bool(np.array_equal(whole[::-2], other)),
            "largest difference from one a call": float(np.abs(whole[:few] - alone(texts[:few])).max()),
        }  # fmt: skip
        print(name, found[name], flush=True)
    found["shapes that passed the test"] = {str(tokens): passed for tokens, passed in sorted(model.tested.items())}
    planted = ShapedModel("planted", Mixing(network))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        planted([text for texts in sets.values() for text in texts[:8]])
    found["planted library caught"] = not any(planted.tested.values())
    return found


def on_processor(data: Path) -> dict[str, Any]:
    import pyarrow.parquet as pq
    from sentence_transformers import SentenceTransformer

    from dptopics.public.minilm import package_folder

    model, sets = SentenceTransformer(str(package_folder())), {}
    for corpus in CORPORA:
        held = sorted({one for one in pq.read_table(data / f"{corpus}.parquet")["text"].to_pylist() if one})
        sets[corpus] = [held[i] for i in np.random.default_rng(0).choice(len(held), EACH, replace=False)]
    return measured(model, sets, lambda texts: np.array([model.encode([text])[0] for text in texts]), 128)


def on_gpu(device: str, half: bool) -> dict[str, Any]:
    import torch

    draw, network = np.random.default_rng(0), random_network(device, half)
    sets = {}
    for low, high in ((5, 28), (65, 120)):
        sizes = draw.integers(low, high, 30_000)
        sets[f"{low} to {high} words"] = [" ".join(draw.choice(WORDS, n)) + f" w{i}" for i, n in enumerate(sizes)]

    def alone(texts: list[str]) -> Any:
        """A call for each text, as long as it is."""
        with torch.inference_mode():
            rows = []
            for text in texts:
                given = network.tokenizer([text], return_tensors="pt").to(network.device)
                rows.append(network(given)["sentence_embedding"].float().cpu().numpy())
        return np.concatenate(rows)

    return measured(network, sets, alone, 1000)


def table(stored: dict[str, Any]) -> str:
    """As docs/embeddings.md shows it."""
    lines = ["| | | in batches | one a call | times |", "|---|---|---|---|---|"]
    for device, found in stored.items():
        for name, one in found.items():
            if isinstance(one, dict) and "times" in one:
                both = [f"{one[f'{way}, texts a second']:,.0f}" for way in ("batches", "one a call")]
                lines.append(f"| {device} | {name} | {' | '.join(both)} | {one['times']:.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--device")
    parser.add_argument("--out", type=Path, default=STORED)
    given = parser.parse_args()
    stored = json.loads(given.out.read_text("utf-8")) if given.out.exists() else {}
    if given.data:
        stored["processor"] = on_processor(given.data)
    if given.device:
        for half in (False, True):
            stored[f"{given.device} {'float16' if half else 'float32'}"] = on_gpu(given.device, half)
    given.out.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(table(stored))


if __name__ == "__main__":
    main()
