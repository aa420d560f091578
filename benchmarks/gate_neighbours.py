"""The neighbour search of the gate over every mechanism and composition that the command line can build.

Run `python benchmarks/gate_neighbours.py`; it prints the figures and writes benchmarks/results/gate_neighbours.json. A
run on one corpus is recorded, and the same questions are asked of a neighbour (tests/gate/gate_search.py): people
with counts up to 2³¹ − 1, empty documents, one word, all words, hundreds of equal documents, huge, tiny and zero
vectors. How far each sum moves is compared, in whole numbers, with how far the guarantee says that it may.
"""

import sys
import time
from collections import defaultdict
from pathlib import Path
from zlib import crc32

from results import bar, save

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "gate"))

from gate_plans import compositions, each
from gate_search import Found, search
from gate_watching import quick

from dptopics.mechanisms.mechanism import Job
from dptopics.privacy.guarantee import Strength

LEAST = 20_000  # sums
PAIRS = 30  # of neighbouring corpora, for each of them


def main() -> None:
    start, found = time.perf_counter(), defaultdict(Found)
    built = 0
    for case in [*compositions(), *(case for job in (Job.VOCABULARY, Job.TOPICS, Job.NGRAMS) for case in each(job))]:
        mechanism = case.build()
        if mechanism is None:  # refused when it is built
            continue
        assert mechanism.guarantee.strength is Strength.PROVED
        built += 1
        with quick():
            search(case, mechanism, PAIRS, seed=crc32(str(case).encode()), found=found[f"{case.job}: {case.name}"])
    rows = [
        {"mechanism": name, "sums": one.sums, "over": one.over, "largest share of the bound": one.nearest}
        for name, one in sorted(found.items())
    ]
    for row in rows:
        print(
            f"{row['mechanism']:40} {row['sums']:6,} sums, at most {row['largest share of the bound']:.9f} of the bound"
        )
    sums, over = sum(row["sums"] for row in rows), sum(row["over"] for row in rows)
    bars = [bar("sums compared", sums, LEAST, unit="sums", at_least=True)]
    print(f"{over} sums moved by more than their bound (bar: none)")
    bars.append({"name": "sums above their bound", "measured": over, "bar": 0, "met": over == 0})
    seconds = round(time.perf_counter() - start)
    save("gate_neighbours", {"bars": bars, "mechanisms and compositions": built, "rows": rows, "seconds": seconds})


if __name__ == "__main__":
    main()
