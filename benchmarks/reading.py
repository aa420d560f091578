"""Peak memory of reading a table, in a process of its own, against the size of the counts."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dptopics.public.demo import demo_corpus
from results import bar, save

COPIES = 100  # 2 million messages

READ = """
import resource, sys, time
from dptopics import Corpus
start = time.perf_counter()
corpus = Corpus.from_table(sys.argv[1], text="note", author="patient")
seconds = time.perf_counter() - start
counts = corpus.word.nbytes + corpus.count.nbytes + corpus.doc_start.nbytes
print(counts, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, seconds, corpus.n_documents)
"""


def main() -> None:
    demo = demo_corpus()
    table = pa.table({"note": demo.texts, "patient": demo.authors})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "notes.parquet"
        with pq.ParquetWriter(path, table.schema) as writer:
            for _ in range(COPIES):
                writer.write_table(table)
        printed = subprocess.run(
            [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True
        ).stdout
    counts, peak, seconds, documents = map(float, printed.split())
    print(f"{documents:,.0f} documents in {seconds:.1f} s, counts {counts / 2**20:,.0f} MiB")
    result = bar("peak memory of from_table", peak / 1e6, 1.3 * counts / 1e6 + 300, unit="MB", at_least=False)
    save("reading", {"documents": documents, "seconds": seconds, "counts_bytes": counts, "bars": [result]})


if __name__ == "__main__":
    main()
