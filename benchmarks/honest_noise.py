"""P-values of the noise tests for honest noise: are they uniform or larger, down to 1e-3?

    python benchmarks/honest_noise.py [--sets 2000]

Each set has 40 runs of four queries, as mechanisms make them: a count, a row of 30, a table of 20 × 6 with Gaussian
noise of four steps (rounding shows), and 50 cells with Laplace noise. For each kind of test the number of sets whose
p-value is below 0.1, 0.01 and 0.001 goes to results/honest_noise.json, and how likely as many or more are by chance.
"""

import argparse
from collections import defaultdict

import numpy as np
from scipy.stats import binom

from dptopics.audit.claim.noise_law import NoiseLaw
from dptopics.mechanisms.queries import Query
from dptopics.privacy import noise
from dptopics.privacy.events import Noise
from dptopics.privacy.rng import secure_rng
from results import save

RUNS, LEVELS = 40, (0.1, 0.01, 0.001)
QUERIES = (
    (Noise.GAUSSIAN, (1, 1), 2.0**20),
    (Noise.GAUSSIAN, (30, 1), 2.0**20),
    (Noise.GAUSSIAN, (20, 6), 4.0),
    (Noise.LAPLACE, (50, 1), 2.0**12),
)


def honest(rng: np.random.Generator) -> list[Query]:
    """The queries of one run."""
    draw = {Noise.GAUSSIAN: noise.gaussian, Noise.LAPLACE: noise.laplace}
    found = []
    for kind, shape, scale in QUERIES:
        found.append(Query(kind, np.zeros(shape, np.int64), draw[kind](rng, scale, shape), 1.0, scale))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=2000)
    sets, rng = parser.parse_args().sets, secure_rng()
    values: dict[str, list[float]] = defaultdict(list)
    for _ in range(sets):
        for one in NoiseLaw([honest(rng) for _ in range(RUNS)]).oddities():
            values[one.what.rpartition(" (")[0]].append(one.p_value)
    kinds = {}
    for name, found in sorted(values.items()):
        below = [int(np.sum(np.array(found) < level)) for level in LEVELS]
        chance = [float(binom.sf(n - 1, len(found), level)) for n, level in zip(below, LEVELS, strict=True)]
        kinds[name] = {"sets": len(found), "below": below, "chance": chance}
        print(f"{name:70s} {below} of {len(found)}  {min(chance):.2g}", flush=True)
    least = min(min(kind["chance"]) for kind in kinds.values())
    tests = len(kinds) * len(LEVELS)
    print(
        f"{len(kinds)} kinds; the least probable of {tests} counts has {least:.2g}, times {tests}: {least * tests:.2g}"
    )
    save("honest_noise", {"sets": sets, "runs": RUNS, "levels": LEVELS, "kinds": kinds, "least": least, "tests": tests})


if __name__ == "__main__":
    main()
