"""A million messages of CSV through the whole command, against scikit-learn's CountVectorizer alone on the same rows.

python benchmarks/everyday.py [--messages 1000000] [--repeats 3]

Topics alone; and topics, then their counts by 20 wards and 52 weeks, which are two commands and the sum of both. All
run in processes of their own, one after the other, and the medians are compared. One run of each command on 500
messages comes first, in which kernels may have to be compiled; five more of ``fit`` on these come last.
"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path

from dptopics.public.demo import demo_corpus
from results import bar, save

COUNT = """
import csv, sys, time
with open(sys.argv[1], newline="", encoding="utf-8") as file:
    texts = [row[0] for row in csv.reader(file)][1:]
from sklearn.feature_extraction.text import CountVectorizer
start = time.perf_counter()
CountVectorizer(stop_words="english").fit_transform(texts)
print(time.perf_counter() - start)
"""
FEW = 500
WARDS = [f"ward {i + 1:02}" for i in range(20)]
DAYS = [(date(2026, 1, 5) + timedelta(days=i)).isoformat() for i in range(7 * 52)]
IMPORT = "import time; start = time.perf_counter(); import dptopics; print(time.perf_counter() - start)"


def messages(plain, dated, n):
    """Invented messages of many clinics: a number is added to every author, so that they are other people.

    ``dated``: the same again, with a ward and a day for each.
    """
    with open(plain, "w", newline="", encoding="utf-8") as one, open(dated, "w", newline="", encoding="utf-8") as two:
        write, more = (csv.writer(file, lineterminator="\n") for file in (one, two))
        write.writerow(("note", "patient"))
        more.writerow(("note", "patient", "ward", "date"))
        seed, left = 0, n
        while left > 0:
            demo = demo_corpus(seed)
            rows = [(text, f"{seed}-{author}") for text, author in zip(demo.texts, demo.authors, strict=True)][:left]
            write.writerows(rows)
            more.writerows((*row, WARDS[i * 7 % 20], DAYS[i * 31 % len(DAYS)]) for i, row in enumerate(rows))
            left, seed = left - len(rows), seed + 1


def timed(*command, **options):
    """Wall seconds, peak megabytes, and what was printed."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **options)
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    return time.perf_counter() - start, usage.ru_maxrss / 1000, printed


class Runs:
    """Commands on tables in one folder: wall seconds and peak megabytes."""

    def __init__(self, folder, n):
        self.folder, self.n = Path(folder), 0
        names = "notes", "dated", "few", "few-dated"
        self.table, self.dated, self.few, self.few_dated = (self.folder / f"{name}.csv" for name in names)
        messages(self.table, self.dated, n)
        messages(self.few, self.few_dated, FEW)
        (self.folder / "wards.txt").write_text("\n".join(WARDS), "utf-8")

    def run(self, *arguments, delta="1e-8"):
        """One command; its release is ``self.last``."""
        self.n += 1
        self.last = self.folder / f"release-{self.n}"
        budget = ["--epsilon", "1", "--delta", delta, "--out", str(self.last)]
        command = [str(Path(sys.executable).parent / "dptopics"), *map(str, arguments), "--text", "note"]
        return timed(*command, "--author", "patient", *budget, env=os.environ | {"COLUMNS": "100"})[:2]

    def fit(self, table, **more):
        return self.run("fit", table, "--topics", "20", **more)

    def count(self, release, table, **more):
        weeks = ["--by", "week:date", "--from", DAYS[0], "--to", DAYS[-1]]
        return self.run("count", release, table, "--by", "ward", "--groups", self.folder / "wards.txt", *weeks, **more)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    ours, theirs, peaks, counts, count_peaks, imports = [], [], [], [], [], []
    with tempfile.TemporaryDirectory() as name:
        runs = Runs(name, asked.messages)
        runs.fit(runs.few, delta="1e-5")
        runs.count(runs.last, runs.few_dated, delta="1e-5")
        for _ in range(asked.repeats):
            theirs.append(float(timed(sys.executable, "-c", COUNT, str(runs.table))[2]))
            for command, seconds, megabytes in (
                (lambda: runs.fit(runs.table), ours, peaks),
                (lambda: runs.count(runs.last, runs.dated), counts, count_peaks),
            ):
                for found, kept in zip(command(), (seconds, megabytes), strict=True):
                    kept.append(found)
            imports.append(float(timed(sys.executable, "-c", IMPORT)[2]))
            told = f"CountVectorizer {theirs[-1]:.1f} s, fit {ours[-1]:.1f} s, {peaks[-1]:.0f} MB"
            print(f"{told}, count {counts[-1]:.1f} s, {count_peaks[-1]:.0f} MB", flush=True)
        few = [runs.fit(runs.few, delta="1e-5")[0] for _ in range(5)]
    middle, both = statistics.median(theirs), [a + b for a, b in zip(ours, counts, strict=True)]
    how = {"unit": "times", "at_least": False}
    bars = [
        bar("the whole command, in times of CountVectorizer", statistics.median(ours) / middle, 1.0, **how),
        bar("its peak memory", max(peaks), 1200, unit="MB", at_least=False),
        bar("topics, then counts, in times of CountVectorizer", statistics.median(both) / middle, 1.4, **how),
        bar("topics of 500 texts", statistics.median(few), 2.0, unit="s", at_least=False),
        bar("import dptopics", statistics.median(imports), 0.1, unit="s", at_least=False),
    ]
    found = {"messages": asked.messages, "command_seconds": ours, "count_vectorizer_seconds": theirs}
    found |= {"peak_megabytes": peaks, "counts_seconds": counts, "counts_peak_megabytes": count_peaks}
    save("everyday", found | {"seconds_of_500_texts": few, "import_seconds": imports, "bars": bars})
    print(json.dumps(found | {"seconds_of_500_texts": few}))


if __name__ == "__main__":
    main()
