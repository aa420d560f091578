"""A million messages of CSV through the whole command, against scikit-learn's CountVectorizer alone on the same rows.

python benchmarks/everyday.py [--messages 1000000] [--repeats 3]

Both run in processes of their own, one after the other, and the medians are compared; the first run of the command, in
which nothing is compiled any more but files are cold, counts like the others.
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
IMPORT = "import time; start = time.perf_counter(); import dptopics; print(time.perf_counter() - start)"


def messages(path, n):
    """Invented messages of many clinics: a number is added to every author, so that they are other people."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        write = csv.writer(file, lineterminator="\n")
        write.writerow(("note", "patient"))
        seed, left = 0, n
        while left > 0:
            demo = demo_corpus(seed)
            rows = list(zip(demo.texts, demo.authors, strict=True))[:left]
            write.writerows((text, f"{seed}-{author}") for text, author in rows)
            left, seed = left - len(rows), seed + 1


def timed(*command, **options):
    """Wall seconds, peak megabytes, and what was printed."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **options)
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    return time.perf_counter() - start, usage.ru_maxrss / 1000, printed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    ours, theirs, peaks, imports = [], [], [], []
    with tempfile.TemporaryDirectory() as name:
        table = Path(name) / "notes.csv"
        messages(table, asked.messages)
        size = table.stat().st_size
        options = ["--text", "note", "--author", "patient", "--topics", "20", "--epsilon", "1", "--delta", "1e-8"]
        for i in range(asked.repeats):
            theirs.append(float(timed(sys.executable, "-c", COUNT, str(table))[2]))
            command = [str(Path(sys.executable).parent / "dptopics"), "fit", str(table), *options]
            seconds, peak, _ = timed(*command, "--out", f"{name}/release-{i}", env=os.environ | {"COLUMNS": "100"})
            ours.append(seconds)
            peaks.append(peak)
            imports.append(float(timed(sys.executable, "-c", IMPORT)[2]))
            print(f"CountVectorizer {theirs[-1]:.1f} s, the command {seconds:.1f} s, {peak:.0f} MB", flush=True)
    ratio = statistics.median(ours) / statistics.median(theirs)
    bars = [
        bar("the whole command, in times of CountVectorizer", ratio, 1.0, unit="times", at_least=False),
        bar("its peak memory", max(peaks), 1200, unit="MB", at_least=False),
        bar("import dptopics", statistics.median(imports), 0.1, unit="s", at_least=False),
    ]
    found = {"messages": asked.messages, "bytes": size, "command_seconds": ours, "count_vectorizer_seconds": theirs}
    save("everyday", found | {"peak_megabytes": peaks, "import_seconds": imports, "bars": bars})
    print(json.dumps(found))


if __name__ == "__main__":
    main()
