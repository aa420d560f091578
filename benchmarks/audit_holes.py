"""Planted holes: which of them does the audit of a claim find, and how often does it accuse what is honest?

    python benchmarks/audit_holes.py --data FOLDER            # every mechanism, every hole that applies to it
    python benchmarks/audit_holes.py --data FOLDER --honest   # short audits of what is honest

1,000 authors of the airline tweets, ε = 1, δ = 1e-6, default settings. Topics work over public words: with a private
vocabulary hardly a word would be released from so few authors. Each result is kept at once; a stopped run goes on.
"""

import argparse
import json
from pathlib import Path
from time import perf_counter, process_time

import pyarrow.parquet as pq

from dptopics.audit.claim.examiner import Effort, audit_claim
from dptopics.core.questions import Questions
from dptopics.core.text import TextSettings
from dptopics.core.vocabulary import Vocabulary
from dptopics.counting import table_of
from dptopics.data.cells import invented_cells
from dptopics.data.corpus import Corpus
from dptopics.data.public_inputs import PublicNgrams
from dptopics.plan import Plan
from dptopics.public.embeddings import common_words
from dptopics.subjects import Asked
from planted_holes import HOLES

RESULT = Path(__file__).parent / "results" / "audit_holes.json"
COMMON = {"epsilon": 1.0, "delta": 1e-6, "unit": "author"}
# What a mechanism has, so that a hole can be planted. Equal weights have norm one by construction;
# all that counts and n-grams add is one, so memory that threads share does not show.
HAS = {
    "weighted": {"words", "checks", "unlike"},
    "margins": {"cells", "tables", "queries"},
    "means": {"cells", "tables", "queries", "columns", "numbers"},
    "questions": {"cells", "tables", "queries"},
    "variational": {"topics", "columns", "queries", "clipped", "checks", "unlike"},
    "atlas": {"topics", "columns", "queries", "clipped", "checks", "unlike", "themes", "examples"},
    "embedded": {"topics", "columns", "queries", "clipped", "checks", "unlike", "themes", "clusters"},
    "mixture": {"topics", "columns", "queries", "clipped", "checks", "unlike"},
    "spectral": {"columns", "queries", "unlike"},
    "bayes": {"clipped"},
}
# Tables of ten topics (or eight questions) in three wards, and by month.
WARDS, MONTHS = ("ward", ("a", "b", "c")), ("month", tuple(f"2026-{month:02}" for month in range(1, 7)))
ASKED = {
    **{name: {"mention": name} for name in ("delay", "bag", "crew", "seat", "refund")},
    "both": {"formula": "delay and bag"},
    "either": {"formula": "crew or seat"},
    "no_refund": {"formula": "delay and not refund"},
}


def authors(folder, settings, vocabulary=None):
    """Tweets of the first 1,000 authors by name."""
    table = pq.read_table(folder / "airline_tweets.parquet", columns=["text", "user"]).to_pydict()
    kept = set(sorted(set(table["user"]))[:1000])
    rows = [(text, user) for text, user in zip(table["text"], table["user"], strict=True) if user in kept]
    return Corpus.from_texts(*map(list, zip(*rows, strict=True)), settings=settings, vocabulary=vocabulary)


def topics_table():
    return {"axes": ("topic",), "values": (tuple(map(str, range(10))),)}


def scenarios(folder, names):
    """(name, mechanism, corpus) of everything that is attacked."""
    text = TextSettings()
    corpus = authors(folder, text)
    for name in names:
        if name == "weighted":
            yield name, Plan.words(mechanism=name, text=text, **COMMON).build(), corpus
        elif name == "bayes":
            table = pq.read_table(folder / "google_bigrams.parquet").slice(0, 5000).to_pydict()
            pairs = zip(table["w1"], table["w2"], table["count"], strict=True)
            reading = TextSettings.for_ngrams(2)
            counts = {f"{a} {b}".lower(): float(n) for a, b, n in pairs if reading.could_give(f"{a} {b}".lower())}
            prior = PublicNgrams.of(counts)
            plan = Plan.ngrams(mechanism=name, prior=prior, text=reading, **COMMON)
            yield name, plan.build(), authors(folder, reading, prior.vocabulary)
        elif name in ("margins", "means", "questions"):
            table = table_of(Asked(Questions.of(ASKED)), ()) if name == "questions" else topics_table()
            axes = [WARDS, MONTHS] if name == "means" else [WARDS]
            table["axes"] += tuple(axis for axis, _ in axes)
            table["values"] += tuple(values for _, values in axes)
            number = {"number": "stars", "number_range": (1.0, 5.0)} if name == "means" else {}
            mechanism = Plan.counts(**table, **number, **COMMON).build()
            n, numbered = mechanism.entries.n_cells, bool(number)
            yield name, mechanism, invented_cells(n, with_authors=True, with_numbers=numbered)
        else:
            words = "common"
            if name == "spectral":  # counts pairs of words: a short list
                words = Vocabulary.public(common_words(text).words[::28])
            # Sentences are voted for, however few people there are.
            more = {"examples_from": 0} if name == "atlas" else {}
            plan = Plan.topics(mechanism=name, n_topics=10, vocabulary=words, text=text, **COMMON, **more)
            yield name, plan.build(), corpus


_BRIEF = Effort(trials=64, runs=40, strangers=2, documents=300)
HONEST = (
    ("weighted", 150, _BRIEF),
    ("margins", 60, _BRIEF),
    ("questions", 60, _BRIEF),
    ("means", 25, _BRIEF),
    ("atlas", 5, _BRIEF),
    ("weighted", 8, Effort()),
    ("questions", 9, Effort()),
    ("variational", 1, Effort()),
    ("atlas", 1, Effort()),
    ("embedded", 1, Effort()),
)


def applies(name, needs):
    return not needs or needs in HAS[name]


def audited(mechanism, corpus, effort):
    begun, used = perf_counter(), process_time()
    found = audit_claim(mechanism, corpus, effort=effort)
    return {
        "verdict": found.verdict,
        "light": str(found.light),
        "by": sorted({one.check for one in found.findings}),
        "seconds": round(perf_counter() - begun, 1),
        "processor_seconds": round(process_time() - used, 1),
    }


def table(results):
    """What was found, as Markdown."""
    lines = ["| mechanism | holes found | not found | honest: light, processor seconds |", "|---|---|---|---|"]
    for name in sorted(results["holes"], key=[*HAS].index):
        mine = results["holes"][name]
        planted = {hole: one for hole, one in mine.items() if hole != "honest"}
        missed = [f"{hole} ({one['light']})" for hole, one in planted.items() if one["verdict"] != "violated"]
        found = f"{len(planted) - len(missed)} of {len(planted)}"
        light = f"{mine['honest']['light']}, {mine['honest']['processor_seconds']:.0f}"
        lines.append(f"| `{name}` | {found} | {', '.join(missed) or 'none'} | {light} |")
    return "\n".join(lines)


def honest(results):
    """How often honest mechanisms were accused, in a sentence."""
    parts = []
    for kind in ("short", "default"):
        mine = {label: one for label, one in results["honest"].items() if label.startswith(kind)}
        n, accused = (sum(one[part] for one in mine.values()) for part in ("audits", "violated"))
        each = ", ".join(f"{one['audits']} of {label.split(' of ')[1]}" for label, one in mine.items())
        parts.append(f"{accused} of {n} {kind} audits ({each})")
    return f"Honest mechanisms were called violated in {' and '.join(parts)}."


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[*HAS])
    parser.add_argument("--thorough", action="store_true")
    parser.add_argument("--honest", action="store_true")
    options = parser.parse_args()
    results = json.loads(RESULT.read_text()) if RESULT.exists() else {"holes": {}, "honest": {}}

    def keep():
        RESULT.write_text(json.dumps(results, indent=1) + "\n")

    if options.honest:
        for name, n, effort in HONEST:
            _, mechanism, corpus = next(scenarios(options.data, [name]))
            label = f"{'default' if effort == Effort() else 'short'} audits of `{name}`"
            mine = results["honest"].setdefault(label, {"audits": 0, "violated": 0})
            while mine["audits"] < n:
                mine["violated"] += audit_claim(mechanism, corpus, effort=effort).violated
                mine["audits"] += 1
                keep()
            print(label, mine)
        return
    effort = Effort.thorough() if options.thorough else Effort()
    for name, mechanism, corpus in scenarios(options.data, options.only):
        mine = results["holes"].setdefault(name, {})
        if "honest" not in mine:
            mine["honest"] = audited(mechanism, corpus, effort)
            keep()
            print(name, "honest", mine["honest"], flush=True)
        for hole, (plant, needs) in HOLES.items():
            if hole in mine or not applies(name, needs):
                continue
            with plant():
                mine[hole] = audited(mechanism, corpus, effort)
            keep()
            print(name, hole, mine[hole], flush=True)
    print(table(results))


if __name__ == "__main__":
    main()
