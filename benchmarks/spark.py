"""The Spark engine on this machine: one worker against two, an executor killed, the driver's memory, MLlib's LDA.

Synthetic documents (planted topics, Zipf's words, a few documents each author) as Parquet. Each run is a process of its
own with a local cluster of worker processes, each with one core; input is cached, and everything is run once before it
is timed. MLlib's LDA (online optimiser, whole data in each iteration) runs on two workers and the same words, against
ours on the same tenth of the documents, to keep the run short.

    python benchmarks/spark.py                      # a million documents, about ten minutes on two quiet cores
    python benchmarks/spark.py --documents 20000    # a try
    python benchmarks/spark.py --cost 64000 125000 250000 500000    # what a thousand million documents cost

``--cost`` runs one worker on tables of these sizes, counts the processor time of everything that takes part (Python and
Java, driver and executor), lays a straight line through the sizes, and follows it to a thousand million documents. The
limits are those of the line, with 95 % (Student): they hold as far as the cost stays proportional.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from scipy.stats import t as student

from charging import charged
from dptopics import Ledger, SparkTable, Vocabulary, secure_rng
from dptopics.data.engines.spark import spark_session
from dptopics.mechanisms.topics.variational import VariationalTopics
from dptopics.mechanisms.vocabulary.threshold import EqualWeights, WeightedVocabulary
from dptopics.privacy import rng
from results import RESULTS, bar, save

T = TypeVar("T")
WORDS, TOPICS, LENGTH, FILES, STEPS, PASSES = 10_000, 20, 40, 8, 2, 15
SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.executor.memory": "3g",
    "spark.sql.shuffle.partitions": str(FILES),
    "spark.ui.enabled": "false",
}


def names() -> list[str]:
    """Public words of seven letters, none of them a stop word."""
    letters = np.array(list("bcdfghjklmnpqrstvwxz"))
    digits = np.arange(WORDS)[:, None] // 20 ** np.arange(4) % 20
    return ["qx" + "".join(row) + "q" for row in letters[digits]]


def write(folder: Path, documents: int) -> None:
    """Parquet files of texts and authors."""
    rng = np.random.default_rng(0)
    words = np.array(names())
    zipf = 1 / np.arange(1, WORDS + 1)
    topics = np.array([zipf[np.argsort(rng.permutation(WORDS))] for _ in range(TOPICS)])
    topics = np.cumsum(0.5 * topics / topics.sum(1, keepdims=True) + 0.5 * zipf / zipf.sum(), axis=1)
    folder.mkdir()
    for number in range(FILES):
        n = documents // FILES
        rows = []
        for topic, many in enumerate(rng.multinomial(n, np.full(TOPICS, 1 / TOPICS))):
            found = np.searchsorted(topics[topic] / topics[topic, -1], rng.random((many, LENGTH)))
            rows += [" ".join(text) for text in words[found].tolist()]
        authors = rng.integers(0, max(1, documents // 3), n)
        table = pa.table({"text": rows, "author": authors})
        pq.write_table(table, folder / f"{number}.parquet")


def timed(what: str, job: Callable[[], T], seconds: dict[str, float]) -> T:
    start, processor = time.perf_counter(), processor_seconds()
    result = job()
    seconds[what] = time.perf_counter() - start
    seconds[f"{what}, processor"] = processor_seconds() - processor
    print(f"    {what}: {seconds[what]:.2f} s, {seconds[f'{what}, processor']:.2f} s of processors", file=sys.stderr)
    return result


def processor_seconds() -> float:
    """Of this process and all that it started, whether they still run or not."""
    total = 0.0
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with suppress(psutil.Error):
            total += sum(process.cpu_times()[:4])  # its own, and of those that it has waited for
    return total


def mechanisms() -> tuple[WeightedVocabulary, VariationalTopics]:
    vocabulary = WeightedVocabulary.calibrated(epsilon=1.0, delta=1e-7, max_words=200)
    return vocabulary, VariationalTopics.calibrated(n_topics=TOPICS, epsilon=1.0, delta=1e-7, steps=STEPS)


def run(folder: Path, workers: int, extra: str | None) -> dict[str, Any]:
    """One cluster: read, vocabulary, topics; then, if asked for, an executor killed ("kill"), or "mllib"."""
    os.environ["PYSPARK_SUBMIT_ARGS"] = " ".join(f"--conf {k}={v}" for k, v in SETTINGS.items()) + " pyspark-shell"
    watch = Watch()
    watch.start()
    session = spark_session(f"local-cluster[{workers},1,3072]")
    seconds: dict[str, float] = {}
    columns = {"text": "text", "author": "author", "partitions": FILES}
    try:
        vocabulary, topics = mechanisms()
        rng = np.random.default_rng(0)
        frame = session.read.parquet(str(folder)).cache()
        documents = frame.count()
        sample = frame.limit(4000).repartition(4)
        few = SparkTable.from_table(sample, **columns).bounded(max_docs=5)  # warm-up of all that is timed
        vocabulary(few, rng)
        topics(few.limited(vocabulary=Vocabulary.of(names())), rng)
        ready = time.perf_counter()
        corpus = timed("read", lambda: SparkTable.from_table(frame, **columns).bounded(max_docs=5), seconds)
        found = timed("vocabulary, first", lambda: vocabulary(corpus, rng).value, seconds)
        seconds["vocabulary from texts"] = time.perf_counter() - ready
        timed("vocabulary from counts", lambda: vocabulary(corpus, rng), seconds)
        public = corpus.limited(vocabulary=Vocabulary.of(names()))
        timed("blocks", lambda: public.bounded_sum(EqualWeights(WORDS, 2), bound=1.0, grid=2.0**-20), seconds)
        ledger = Ledger.create(
            folder.parent / f"{folder.name}{workers}.ledger", name="bench", unit="author", epsilon=9, delta=1e-4
        )
        calm = timed("topics", lambda: charged(ledger, topics, public, fixed_key()).value, seconds)
        result: dict[str, Any] = {
            "workers": workers,
            "documents": documents,
            "words_released": len(found),
            "seconds": seconds,
            "driver_python_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "driver_java_mb": java_peak_mb(),
            "executor_python_mb": watch.peak_mb,
            "cached_mb": cached_mb(session),
        }
        if extra == "kill":
            result["killed"] = killed(public, topics, ledger, calm, seconds)
        elif extra == "mllib":
            del public, corpus, few
            result["mllib"] = mllib(frame, sample, seconds)
        return result
    finally:
        app = session.sparkContext.applicationId
        session.stop()
        shutil.rmtree(Path(pyspark.__file__).parent / "work" / app, ignore_errors=True)  # the workers' logs


def fixed_key() -> np.random.Generator:
    """The cipher that releases draw from, under one key, so that two releases can be compared: for this script only."""
    real = rng.secrets.randbits
    rng.secrets.randbits = lambda bits: 7
    try:
        return secure_rng()
    finally:
        rng.secrets.randbits = real


class Watch(threading.Thread):
    """The most memory that any Python on an executor has held, looked at every second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak_mb = 0.0

    def run(self) -> None:
        while True:
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):
                    if "pyspark.daemon" in process.cmdline():
                        self.peak_mb = max(self.peak_mb, process.memory_info().rss / 2**20)
            time.sleep(1)


def java_peak_mb() -> float:
    """Most memory that the driver's Java has held."""
    (java,) = [p for p in psutil.Process().children() if "java" in p.name()]
    status = Path(f"/proc/{java.pid}/status").read_text()
    return float(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) / 1024


def cached_mb(session: Any) -> float:
    info = session.sparkContext._jsc.sc().getRDDStorageInfo()
    return float(sum(rdd.memSize() + rdd.diskSize() for rdd in info) / 2**20)


def killed(
    public: Any, topics: VariationalTopics, ledger: Ledger, calm: Any, seconds: dict[str, float]
) -> dict[str, Any]:
    """The release again, with an executor killed half-way; what the ledger says."""
    before = executors()
    timer = threading.Timer(seconds["topics"] / 2, before[0].kill)
    timer.start()
    rough = timed("topics, an executor killed", lambda: charged(ledger, topics, public, fixed_key()).value, seconds)
    timer.join()
    return {
        "executors_lost": len({p.pid for p in before} - {p.pid for p in executors()}),
        "same_release": bool(np.array_equal(calm.topic_word, rough.topic_word)),
        "charges_for_two_releases": len(ledger.receipts()),
    }


def executors() -> list[psutil.Process]:
    """The executors of this run: children of its own Java."""
    found = psutil.Process().children(recursive=True)
    return [p for p in found if "java" in p.name() and any("CoarseGrainedExecutorBackend" in a for a in p.cmdline())]


def mllib(frame: Any, sample: Any, seconds: dict[str, float]) -> dict[str, Any]:
    """Seconds for each pass of MLlib's LDA over the same documents: two iterations less one."""
    from pyspark.ml.clustering import LDA
    from pyspark.ml.feature import CountVectorizerModel, RegexTokenizer

    tokens = RegexTokenizer(inputCol="text", outputCol="words", pattern=r"\s+")
    counts = CountVectorizerModel.from_vocabulary(names(), inputCol="words", outputCol="features")
    few, features = (counts.transform(tokens.transform(f)).select("features") for f in (sample, frame))
    features = features.repartition(FILES).cache()
    timed("MLlib, features", features.count, seconds)
    lda = LDA(k=TOPICS, optimizer="online", subsamplingRate=1.0, seed=0)
    lda.copy({lda.maxIter: 3}).fit(few)  # warm-up
    timed("MLlib, one pass", lambda: lda.copy({lda.maxIter: 1}).fit(features), seconds)
    timed("MLlib, two passes", lambda: lda.copy({lda.maxIter: 2}).fit(features), seconds)
    return {"pass": seconds["MLlib, two passes"] - seconds["MLlib, one pass"]}


def child(folder: Path, workers: int, extra: str | None = None) -> dict[str, Any]:
    print(f"  {folder.name}, {workers} worker(s)", file=sys.stderr)
    command = [sys.executable, __file__, "--run", str(folder), str(workers), *(["--extra", extra] if extra else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def sizing(one: dict[str, Any]) -> dict[str, float]:
    """What a core does, and what a thousand million documents like these would cost: 15 passes, words chosen first."""
    n, seconds = one["documents"], one["seconds"]
    rates = {
        "read": n / seconds["read"],
        "vocabulary": n / seconds["vocabulary from counts"],
        "pass of topics": STEPS * n / seconds["topics"],
    }
    hours = {name: 1e9 / rate / 3600 for name, rate in rates.items()}
    hours["pass of topics"] *= PASSES
    print("| work | documents a second and core | core hours for 1 billion |\n|---|---|---|")
    for name, rate in rates.items():
        passes = f", {PASSES} of them" if name == "pass of topics" else ""
        print(f"| {name}{passes} | {rate:,.0f} | {hours[name]:,.1f} |")
    print(f"| all | | {sum(hours.values()):,.0f} |")
    cached = one["cached_mb"] * 2**20 / n
    print(f"cached: {cached:,.0f} bytes a document, texts and words both; Python: {one['executor_python_mb']:,.0f} MB")
    return rates | {"core_hours_for_1e9": sum(hours.values()), "cached_bytes_per_document": cached}


PARTS = {"read": 1.0, "vocabulary, first": 1.0, "blocks": 1.0, "topics": PASSES / STEPS}  # of one release of topics


def cost(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """A straight line through the processor time of a release at each size, and where it is at 10⁹ documents."""
    n = np.array([run["documents"] for run in runs], float)
    spent = np.array([sum(k * run["seconds"][f"{part}, processor"] for part, k in PARTS.items()) for run in runs])
    each, fixed = np.polyfit(n, spent, 1)
    rest = spent - fixed - each * n
    freedom = n.size - 2
    spread = np.sqrt(rest @ rest / freedom / np.sum((n - n.mean()) ** 2))  # of the slope
    error = float(student.isf(0.025, freedom) * spread)
    for documents, seconds, off in zip(n, spent, rest / spent, strict=True):
        print(f"{documents:,.0f} documents: {seconds:,.0f} s of processors, {off:+.1%} off the line")
    hours, more = each * 1e9 / 3600, error * 1e9 / 3600
    print(f"10^9 documents: {hours:,.0f} core hours, ± {more:,.0f}")
    return {
        "passes": PASSES,
        "documents": n.tolist(),
        "processor_seconds": spent.tolist(),
        "seconds_per_document": float(each),
        "seconds_fixed": float(fixed),
        "largest_relative_residual": float(np.max(np.abs(rest / spent))),
        "core_hours_for_1e9": hours,
        "core_hours_for_1e9_error": more,
    }


def costs(sizes: list[int]) -> None:
    """Store what the sizes cost, and leave the other figures as they are."""
    runs = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        for size in sizes:
            write(Path(scratch, str(size)), size)
            runs.append(child(Path(scratch, str(size)), 1))
    stored = json.loads((RESULTS / "spark.json").read_text("utf-8"))
    save("spark", stored | {"cost": cost(runs), "cost_runs": runs})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--run", nargs=2, metavar=("FOLDER", "WORKERS"), help=argparse.SUPPRESS)
    parser.add_argument("--extra", help=argparse.SUPPRESS)
    parser.add_argument("--cost", type=int, nargs="+", metavar="DOCUMENTS", help="measure these sizes instead")
    options = parser.parse_args()
    if options.run:
        print(json.dumps(run(Path(options.run[0]), int(options.run[1]), options.extra)))
        return
    if options.cost:
        costs(options.cost)
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        large, small = Path(scratch, "large"), Path(scratch, "small")
        print(f"Writing {options.documents:,} documents ...", file=sys.stderr)
        write(large, options.documents)
        write(small, options.documents // 10)
        few = child(small, 2, "mllib")
        one = child(large, 1)
        two = child(large, 2, "kill")

    def speed(name: str) -> float:
        return float(one["seconds"][name] / two["seconds"][name])

    ours, killed = few["seconds"]["topics"] / STEPS, two["killed"]
    intact = killed["executors_lost"] == 1 and killed["same_release"] and killed["charges_for_two_releases"] == 2
    bars = [
        bar(f"{name}: two workers against one", speed(name), 1.4, unit="times", at_least=True)
        for name in ("vocabulary from texts", "vocabulary from counts", "topics")
    ]
    bars += [
        bar("DP-VI against MLlib's LDA, a pass", few["mllib"]["pass"] / ours, 1.0, unit="times", at_least=True),
        bar("an executor killed: same release, charged once", float(intact), 1.0, unit="of 1", at_least=True),
        bar(
            "driver's Python memory, ten times the documents",
            two["driver_python_mb"] / few["driver_python_mb"],
            1.1,
            unit="times",
            at_least=False,
        ),
        bar(
            "driver's Java memory, ten times the documents",
            one["driver_java_mb"] / few["driver_java_mb"],
            1.25,
            unit="times",
            at_least=False,
        ),
    ]
    rates = sizing(one)
    runs = {"small_two_workers": few, "one_worker": one, "two_workers": two}
    shape = {"words": WORDS, "topics": TOPICS, "tokens_per_document": LENGTH, "documents": options.documents}
    stored = json.loads((RESULTS / "spark.json").read_text("utf-8"))
    save("spark", stored | {"data": shape, "bars": bars, "sizing": rates, "runs": runs})


if __name__ == "__main__":
    main()
