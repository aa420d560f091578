"""How far 1 % of liars move the topics found from `bits` and `three-words`, and what helps: clip, or leave out.

10,000 reports of 5 topics of 40 words each. What is measured is the weight that the fitted topics give to the words of
the first topic; everybody has one topic, all alike, so the truth is about a fifth. A report is unusual if it has more
bits set, or if an answer supports more words, than reports have on average and one standard deviation more. ``clip``
is that of dptopics local fit. Writes results/liars_fits.json.

    python experiments/liars_fits.py
"""

import json
import time
from math import sqrt
from pathlib import Path

import numpy as np
from store import note

from dptopics import Vocabulary
from dptopics.kernels.local_hash import buckets, supported_values
from dptopics.local.collection import Collection
from dptopics.local.hashing import ANSWER, ThreeWords
from dptopics.local.randomizer import BitFlips
from dptopics.local.topics import fit_reports

N, LIARS, TOPICS, EACH, LENGTH, SEEDS = 10_000, 100, 5, 40, 10, 1 << 16
WORDS = Vocabulary(tuple(f"w{i:03}" for i in range(TOPICS * EACH)))
CODE = (
    "experiments/liars_fits.py",
    "src/dptopics/kernels/local_hash.py",
    "src/dptopics/local/hashing.py",
    "src/dptopics/local/randomizer.py",
    "src/dptopics/local/topics.py",
)


def drawn(n, times, rng):
    """So many words of one topic for each of n people, the first ones often."""
    topic = rng.integers(0, TOPICS, n)
    return EACH * topic[:, None] + np.minimum(rng.geometric(0.1, (n, times)) - 1, EACH - 1)


# --- bits ---


def honest_bits(flips, rng):
    there = np.zeros((N - LIARS, len(WORDS)), bool)
    np.put_along_axis(there, drawn(N - LIARS, LENGTH, rng), True, axis=1)
    return flips.randomize(there, rng)


def whole_topic(flips, _honest, _rng):
    """All words of the first topic, and no other."""
    return np.tile(np.arange(len(WORDS)) < EACH, (LIARS, 1))


def as_many_as_usual(_flips, honest, rng):
    """As many bits as the average honest report has, the first topic's before all others."""
    most = round(honest.sum(axis=1).mean())
    lies = np.zeros((LIARS, len(WORDS)), bool)
    lies[:, : min(EACH, most)] = True
    for row in lies:
        row[rng.choice(np.arange(EACH, len(WORDS)), max(0, most - EACH), replace=False)] = True
    return lies


def usual_bits(_flips, bits):
    """Which reports have no more bits set than usual; the mean and its standard deviation are the reports' own."""
    ones = bits.sum(axis=1)
    return ones <= ones.mean() + ones.std()


# --- three words ---


def honest_three(three, rng):
    return three.hash.send(drawn(N - LIARS, 3, rng).ravel(), rng).reshape(-1, 3)


def best_words(three, _honest, _rng):
    """The three commonest words of the first topic, without noise."""
    seeds = np.random.default_rng(1).integers(0, 2**63, 3 * LIARS).astype(np.uint64)
    lies = np.empty(3 * LIARS, ANSWER)
    lies["seed"] = seeds
    lies["bucket"] = buckets(seeds, np.tile(np.arange(3), LIARS), three.hash.n_buckets)
    return lies.reshape(-1, 3)


def chosen_seeds(three, _honest, rng, most=None):
    """Of 65,536 seeds those with a bucket that holds most of the first topic's weight, and at most ``most`` words."""
    g, n = three.hash.n_buckets, len(WORDS)
    seeds = rng.integers(0, 2**63, SEEDS).astype(np.uint64)
    weight, count = np.zeros((SEEDS, g), np.float32), np.zeros((SEEDS, g), np.int16)
    for word in range(n):
        place = (np.arange(SEEDS), buckets(seeds, np.full(SEEDS, word), g))
        count[place] += 1
        if word < EACH:
            weight[place] += 0.9**word
    if most is not None:
        weight[count > most] = 0
    order = np.argsort(weight.max(axis=1))[::-1][: 3 * LIARS]
    lies = np.empty(3 * LIARS, ANSWER)
    lies["seed"], lies["bucket"] = seeds[order], weight[order].argmax(axis=1)
    return lies.reshape(-1, 3)


def usual_support(three):
    """Values that an honest answer supports, 1 + those that share its bucket by chance, and a standard deviation."""
    n, q = three.n_values, 1 / three.hash.n_buckets
    return 1 + n * q + sqrt(n * q * (1 - q))


def seeds_as_usual(three, honest, rng):
    """Chosen seeds of which no answer supports an unusual number of words ("no word" may be one of them)."""
    return chosen_seeds(three, honest, rng, most=usual_support(three) - 1)


def usual_three(three, some):
    flat = some.reshape(-1)
    seed, sent = np.ascontiguousarray(flat["seed"]), np.ascontiguousarray(flat["bucket"])
    start, _ = supported_values(seed, sent, three.hash.n_buckets, three.n_values)
    return np.all(np.diff(start).reshape(-1, 3) <= usual_support(three), axis=1)


# --- both ---


def weight_of_first(collection, data, clip=None):
    model = fit_reports(collection, data, n_topics=TOPICS, clip=clip).value
    return float(model.topic_share @ model.topic_word[:, :EACH].sum(axis=1))


def rows_of(kind, randomizer, setting, honest, lies, usual, as_bytes, bound):
    rng = np.random.default_rng(0)
    collection, truth = Collection(name="liars", randomizer=randomizer), honest(randomizer, rng)
    for name, lie in {"nobody lies": None, **lies}.items():
        some = truth if lie is None else np.concatenate([truth, lie(randomizer, truth, rng)])
        kept = usual(randomizer, some)
        row = {
            "kind": kind, **setting, "liars": name, "one_word_bound": bound,
            "plain": weight_of_first(collection, as_bytes(some)),
            "unusual left out": weight_of_first(collection, as_bytes(some[kept])),
            "honest_left_out": float(1 - kept[: N - LIARS].mean()),
            "liars_left_out": float(1 - kept[N - LIARS :].mean()) if lie else None,
        }  # fmt: skip
        if kind == "bits":
            row |= {f"clip {clip:g}": weight_of_first(collection, as_bytes(some), clip) for clip in (2.0, 1.0)}
        print(row, flush=True)
        yield row


def main():
    rows, begin = [], time.perf_counter()
    for f in (0.1, 0.3):
        flips = BitFlips(vocabulary=WORDS, f=f, max_words=LENGTH)
        lies = {"whole topic": whole_topic, "as many bits as usual": as_many_as_usual}
        rows += rows_of("bits", flips, {"f": f}, honest_bits, lies, usual_bits, lambda b: np.packbits(b, axis=1),
                        (1 - f / 2) / (1 - f))  # fmt: skip
    for epsilon in (12.0, 18.0):
        three = ThreeWords(vocabulary=WORDS, epsilon=epsilon)
        g, keep = three.hash.n_buckets, three.hash.keep
        lies = {"three words": best_words, "chosen seeds": chosen_seeds, "chosen seeds, usual support": seeds_as_usual}
        rows += rows_of("three-words", three, {"epsilon": epsilon}, honest_three, lies, usual_three,
                        lambda a: np.ascontiguousarray(a).view(np.uint8).reshape(len(a), -1),
                        3 * (1 - 1 / g) / (keep - 1 / g))  # fmt: skip
    settings = {"reports": N, "liars": LIARS, "topics": TOPICS, "words": len(WORDS), "seeds_tried": SEEDS}
    path = Path(__file__).parent / "results" / "liars_fits.json"
    path.write_text(json.dumps({"settings": settings, "rows": rows}, indent=1) + "\n")
    minutes = max((time.perf_counter() - begin) / 60, 0.1)
    note(path.name, code=CODE, command="python experiments/liars_fits.py", minutes=minutes)


if __name__ == "__main__":
    main()
