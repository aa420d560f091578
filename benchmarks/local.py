"""Local collection: a million reports aggregated; and what 100,000 authors' reports say about topics at ε = 4 each.

    python benchmarks/local.py            the bars
    python benchmarks/local.py --clip     what clipping against liars costs where nobody lies
    python benchmarks/local.py --curve    words found by ε, public topics (pairs) beside three hashed words; a figure

The corpus is synthetic: 10 topics over 1,000 words drawn from a Dirichlet, documents of 50 tokens with topic shares
from Dirichlet(0.1). The public list of a topic holds its words of rank 11 to 30, none of its top ten. It needs no data.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from dptopics import Vocabulary
from dptopics.local.collection import Collection
from dptopics.local.hashing import HashedPair, ThreeWords
from dptopics.local.randomizer import BitFlips
from dptopics.local.report_files import SCHEMA, write_collection
from dptopics.local.topics import fit_reports
from results import RESULTS, bar, save

WORDS = Vocabulary.of([f"w{i:04d}" for i in range(1000)])
TOPICS, AUTHORS, LENGTH, TOP = 10, 100_000, 50, 10
PEAKED = (0.02, 0.05, 0.1)  # Dirichlet parameter of topics; the bar is for 0.05

AGGREGATE = """
import json, resource, sys, time
from dptopics.local.inference import count_ones, estimated_counts, rebuilt
from dptopics.local.report_files import Inbox, read_collection
from dptopics.kernels.local_hash import repair
import numpy as np
repair(np.zeros((1, 1), np.uint8), np.zeros(1, np.int64), np.zeros(1, np.int64), np.uint64(0))  # compile
begin = time.perf_counter()
collection = read_collection(sys.argv[1])
inbox = Inbox(collection)
inbox.read(sys.argv[2])
data = inbox.finish()
counts = estimated_counts(count_ones(data, 1000), len(data), collection.randomizer.f)
counted = time.perf_counter() - begin
rebuilt(data, 1000, collection.randomizer.f)
seconds = time.perf_counter() - begin
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps({"reports": len(data), "counted": counted, "seconds": seconds, "peak_gb": peak,
                  "rejected": dict(inbox.rejected), "first_word": float(counts[0])}))
"""


def million(n: int) -> dict[str, object]:
    """Read n reports, check and count them, estimate the true counts, and rebuild documents (steps 1 to 4)."""
    rng = np.random.default_rng(0)
    flips = BitFlips(vocabulary=WORDS, f=0.5, max_words=50)
    collection = Collection(name="benchmark", randomizer=flips)
    share = rng.dirichlet(np.full(1000, 0.5)) * 40
    with tempfile.TemporaryDirectory() as folder:
        write_collection(collection, Path(folder) / "c.json")
        with parquet.ParquetWriter(Path(folder) / "r.parquet", SCHEMA, compression="none") as writer:
            for first in range(0, n, 10_000):
                rows = min(10_000, n - first)
                chance = flips.flip + (1 - flips.f) * np.minimum(share, 1.0)
                bits = np.packbits(rng.random((rows, 1000), dtype=np.float32) < chance, axis=1)
                numbers = rng.integers(0, 256, (rows, 16), dtype=np.uint8)
                columns = [[collection.name] * rows, [collection.version] * rows]
                columns += [[row.tobytes() for row in part] for part in (numbers, bits)]
                writer.write_table(pa.table(columns, schema=SCHEMA))
        command = [sys.executable, "-c", AGGREGATE, f"{folder}/c.json", f"{folder}/r.parquet"]
        result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(f"{result['reports']:,} reports: counted in {result['counted']:.1f} s, rebuilt in {result['seconds']:.1f} s")
    assert result["reports"] == n
    result["bars"] = [
        bar("A million reports read, counted and rebuilt", result["seconds"], 60, unit="s", at_least=False),
        bar("  peak memory", result["peak_gb"], 2, unit="GB", at_least=False),
    ]
    return dict(result)


class Crowd:
    """Authors with one document each, whose true topics are known."""

    def __init__(self, peaked: float, authors: int = AUTHORS) -> None:
        rng = np.random.default_rng(0)
        self.topics = rng.dirichlet(np.full(len(WORDS), peaked), TOPICS)
        order = np.argsort(-self.topics, axis=1)
        self.top = order[:, :TOP]
        self.lists = tuple(tuple(WORDS.words[w] for w in row) for row in order[:, TOP : TOP + 20])
        listed = np.zeros((len(WORDS), TOPICS))
        for k, row in enumerate(order[:, TOP : TOP + 20]):
            listed[row, k] = 1
        self.public_topic = np.empty(authors, np.int64)
        self.word = np.empty(authors, np.int64)
        self.three = np.empty((authors, 3), np.int64)
        for first in range(0, authors, 5000):
            part = slice(first, min(first + 5000, authors))
            n = part.stop - first
            shares = rng.dirichlet(np.full(TOPICS, 0.1), n)
            counts = rng.multinomial(LENGTH, shares @ self.topics / 1.0000001)
            self.public_topic[part] = (counts @ listed).argmax(axis=1)
            repeated = np.where(counts > 1, counts, 0)  # as HashedPair draws: from repeated words, if there are any
            repeated = np.where(repeated.any(axis=1, keepdims=True), repeated, counts)
            lots = rng.random(n) * repeated.sum(axis=1)
            self.word[part] = (np.cumsum(repeated, axis=1) > lots[:, None]).argmax(axis=1)
            places = np.argsort(rng.random((n, LENGTH)), axis=1)[:, :3]  # three different tokens
            ends = np.cumsum(counts, axis=1)
            self.three[part] = np.array(
                [np.searchsorted(e, p, side="right") for e, p in zip(ends, places, strict=True)]
            )

    def pairs(self, epsilon: float) -> list[int]:
        """How many of each topic's true top ten are among its first ten, from pairs with public topics."""
        pair = HashedPair(vocabulary=WORDS, topics=self.lists, epsilon=epsilon)
        values = self.public_topic * len(WORDS) + self.word
        sent = pair.hash.send(values, np.random.default_rng(1)).view(np.uint8).reshape(values.size, -1)
        model = fit_reports(Collection(name="benchmark", randomizer=pair), sent).value
        found = np.argsort(-model.topic_word, axis=1)[:, :TOP]
        return [len(set(a) & set(b)) for a, b in zip(found.tolist(), self.top.tolist(), strict=True)]

    def three_words(self, epsilon: float) -> list[int]:
        """The same from three hashed words, topics matched as well as can be."""
        from scipy.optimize import linear_sum_assignment

        three = ThreeWords(vocabulary=WORDS, epsilon=epsilon)
        sent = three.hash.send(self.three.ravel(), np.random.default_rng(1)).view(np.uint8)
        sent = sent.reshape(len(self.three), -1)
        model = fit_reports(Collection(name="benchmark", randomizer=three), sent, n_topics=TOPICS).value
        found = np.argsort(-model.topic_word, axis=1)[:, :TOP].tolist()
        shared = np.array([[len(set(a) & set(b)) for b in self.top.tolist()] for a in found])
        rows, columns = linear_sum_assignment(-shared)
        return sorted(shared[rows, columns].tolist())


def pairs() -> list[dict[str, object]]:
    rows = []
    for peaked in PEAKED:
        crowd = Crowd(peaked)
        begin = time.perf_counter()
        found = crowd.pairs(4.0)
        seconds = time.perf_counter() - begin
        print(f"Topics from Dirichlet({peaked}), ε = 4: of each top ten {found} found, {seconds:.1f} s")
        row: dict[str, object] = {"dirichlet": peaked, "epsilon": 4.0, "found": found, "seconds": seconds}
        if peaked == 0.05:
            row["bars"] = [bar("Fewest of a topic's true top ten", min(found), 5, unit="words", at_least=True)]
        rows.append(row)
    return rows


def curve() -> None:
    """Both kinds of report by ε; what is in the results already is not computed again."""
    path = RESULTS / "local_curve.json"
    rows = json.loads(path.read_text("utf-8")) if path.exists() else []
    wanted = [("public topic and word", e) for e in (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)]
    wanted += [("three words", e) for e in (24.0, 20.0, 16.0, 12.0)]  # the smaller ε, the longer it takes
    missing = [place for place in wanted if place not in {(row["kind"], row["epsilon"]) for row in rows}]
    crowd = Crowd(0.05) if missing else None
    for kind, epsilon in missing:
        assert crowd is not None
        found = crowd.three_words(epsilon) if kind == "three words" else crowd.pairs(epsilon)
        rows.append({"kind": kind, "epsilon": epsilon, "found": found})
        print(rows[-1], flush=True)
        save("local_curve", rows)
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.2))
    for kind in ("public topic and word", "three words"):
        points = [
            (r["epsilon"], np.mean(r["found"]), min(r["found"]), max(r["found"])) for r in rows if r["kind"] == kind
        ]
        x, mean, low, high = map(np.array, zip(*points, strict=True))
        axes.errorbar(x, mean, [mean - low, high - mean], marker="o", capsize=3, label=f"{kind} (mean; bars: min, max)")
    axes.axhline(5, color="grey", linestyle=":", linewidth=1)
    axes.set(xlabel="ε per document", ylabel="true top-10 words found", title=f"{AUTHORS:,} authors, K = 10, V = 1,000")
    axes.set_ylim(0, 10.2)
    axes.grid(alpha=0.3)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    figure.tight_layout()
    figure.savefig(RESULTS / "local_curve.png", dpi=110)


def clip_cost(n_reports: int = 10_000, times: int = 20) -> list[dict[str, object]]:
    """Root mean square error of topics' shares of honest reports, with and without the usual clip.

    Five topics over 200 words hold a tenth to three tenths of the reports. For bits, five topics are learned, and the
    error is that of the weight that all of them together give to the words of each planted one.
    """
    words, share = Vocabulary.of([f"w{i:03d}" for i in range(200)]), np.array([0.1, 0.15, 0.2, 0.25, 0.3])
    lists = tuple(tuple(words.words[40 * k : 40 * k + 40]) for k in range(5))
    kinds = [HashedPair(vocabulary=words, topics=lists, epsilon=epsilon) for epsilon in (1.0, 2.0, 4.0)]
    rows: list[dict[str, object]] = []
    for randomizer in [*kinds, *(BitFlips(vocabulary=words, f=f, max_words=10) for f in (0.1, 0.3))]:
        collection = Collection(name="benchmark", randomizer=randomizer)
        pair = isinstance(randomizer, HashedPair)
        errors: dict[str, list[float]] = {"plain": [], "clipped": []}
        for seed in range(times if pair else times // 4):
            rng = np.random.default_rng(seed)
            topic = rng.choice(5, n_reports, p=share)
            drawn = 40 * topic[:, None] + np.minimum(rng.geometric(0.1, (n_reports, 10)) - 1, 39)
            if pair:
                sent = randomizer.hash.send(topic * 200 + drawn[:, 0], rng).view(np.uint8).reshape(n_reports, -1)
            else:
                there = np.zeros((n_reports, 200), bool)
                np.put_along_axis(there, drawn, True, axis=1)
                sent = np.packbits(randomizer.randomize(there, rng), axis=1)
            for name, clip in (("plain", None), ("clipped", "usual")):
                model = fit_reports(collection, sent, n_topics=5, clip=clip).value
                weight = (model.topic_share @ model.topic_word).reshape(5, 40).sum(axis=1)
                errors[name].append(float(np.mean(((model.topic_share if pair else weight) - share) ** 2)))
        row = {"kind": randomizer.name, **({"epsilon": randomizer.epsilon} if pair else {"f": randomizer.f})}
        row |= {"reports": n_reports, "times": len(errors["plain"])}
        rows.append(row | {f"rms_{name}": float(np.sqrt(np.mean(some))) for name, some in errors.items()})
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reports", type=int, default=1_000_000)
    parser.add_argument("--curve", action="store_true", help="only the curves by ε, with a figure")
    parser.add_argument("--clip", action="store_true", help="only what clipping costs honest reports")
    arguments = parser.parse_args()
    if arguments.curve:
        curve()
    elif arguments.clip:
        save("local_clip", clip_cost())
    else:
        save("local", {"aggregation": million(arguments.reports), "pairs": pairs()})


if __name__ == "__main__":
    main()
