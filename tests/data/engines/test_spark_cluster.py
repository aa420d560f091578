"""A standalone cluster of Spark's own classes, all on this machine: a master and two workers, each a process with its
own memory. The release is that of the engine in memory, also when a worker is killed half-way."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from test_spark import DELTA, THEMES, WORDS, needs_java, numbers

import dptopics
from dptopics import Corpus, SparkTable
from dptopics.mechanisms.topics import variational
from dptopics.mechanisms.topics.variational import VariationalTopics, _ExpectedCounts

SMALL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class Slow(_ExpectedCounts):
    """The statistic of variational topics; each task leaves a file where it begins, and takes a while."""

    began = Path()

    def __call__(self, block):
        (self.began / f"{os.getpid()}-{time.time_ns()}").touch()
        time.sleep(0.4)
        return super().__call__(block)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@contextmanager
def cluster(folder):
    """The URL of a master, and its two workers: processes that lead groups of their own, with all they start."""
    import pyspark

    home, port = Path(pyspark.__file__).parent, free_port()
    own = {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": SMALL,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), str(Path(dptopics.__file__).parents[1])]),
    }
    started = []

    def start(kind, *words):
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", "--host", "127.0.0.1"]
        with open(folder / f"{len(started)}.log", "wb") as log:
            started.append(
                subprocess.Popen(
                    [*command, "--webui-port", "0", *words],
                    env=os.environ | own,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )

    try:
        start("master.Master", "--port", str(port))
        for number in range(2):
            work = ("--cores", "1", "--memory", "600m", "--work-dir", str(folder / f"work{number}"))
            start("worker.Worker", "--port", "0", *work, f"spark://127.0.0.1:{port}")
        yield f"spark://127.0.0.1:{port}", started[1:]
    finally:
        for process in started:
            kill(process)


def kill(process):
    """A process and all that it started, at once."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def driver(master, folder):
    from pyspark.cloudpickle import register_pickle_by_value
    from pyspark.sql import SparkSession

    register_pickle_by_value(sys.modules[__name__])  # executors cannot import the tests
    settings = {
        "spark.cores.max": "2",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "600m",
        "spark.driver.extraJavaOptions": SMALL,
        "spark.executor.extraJavaOptions": SMALL,
        "spark.executor.memory": "512m",
        "spark.local.dir": str(folder),
        "spark.log.level": "OFF",
        "spark.python.daemon.module": "preloaded",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",  # both workers, before anything is computed
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
        "spark.shuffle.io.maxRetries": "1",
        "spark.shuffle.io.retryWait": "100ms",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if (left := SparkSession.getActiveSession()) is not None:  # by another test of this process, with its own settings
        left.stop()
    session = SparkSession.builder.master(master).config(map=settings).getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def alive(session):
    """The executors that the master has given to this session."""
    return session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1  # less the driver


@needs_java
def test_a_worker_killed_half_way_changes_nothing(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(THEMES[rng.integers(3)], rng.integers(1, 8))) for _ in range(200)]
    authors = [f"author {int(a)}" for a in rng.geometric(0.05, 200)]
    mechanism = VariationalTopics(n_topics=3, sigma=0.5, delta=DELTA, steps=2)
    local = Corpus.from_texts(texts, authors).bounded(max_docs=3).limited(vocabulary=WORDS)
    expected = numbers(mechanism(local, np.random.default_rng(7)))
    (began := tmp_path / "began").mkdir()
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    with cluster(tmp_path) as (master, workers), driver(master, tmp_path) as session:
        rows = list(zip(texts, authors, strict=True))
        frame = session.createDataFrame(rows, "note string, patient string").repartition(4)
        table = SparkTable.from_table(frame, text="note", author="patient", partitions=4)
        corpus = table.bounded(max_docs=3).limited(vocabulary=WORDS)
        assert numbers(mechanism(corpus, np.random.default_rng(7))) == expected
        assert alive(session) == 2

        def strike():
            while len(list(began.iterdir())) < 3:  # of four tasks in each round
                time.sleep(0.02)
            kill(workers[0])

        monkeypatch.setattr(Slow, "began", began)
        monkeypatch.setattr(variational, "_ExpectedCounts", Slow)
        (striker := threading.Thread(target=strike, daemon=True)).start()
        assert numbers(mechanism(corpus, np.random.default_rng(7))) == expected
        striker.join(10)
        assert workers[0].poll() is not None
        assert workers[1].poll() is None
        assert alive(session) == 1
        assert len(list(began.iterdir())) > 2 * 4  # tasks of the worker that was lost ran again
