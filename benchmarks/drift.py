"""Does drift keep quiet where nothing changes, and see what is new? Series of counts drawn from known shares.

python benchmarks/drift.py [--runs 100]

No data: 52 weeks of 100 to 20,000 people on 10 to 20 topics, at ε = 1 for the whole series. "Twice the variance": each
week's shares are drawn from a Dirichlet distribution, so that they vary twice as much as samples of people do.
"""

import argparse
from typing import Any

import numpy as np
from numpy.random import Generator

from dptopics.mechanisms.counts.periods import CountsOfPeriod
from dptopics.release.counts import CountTable
from dptopics.release.drift import drift
from results import bar, save

SEEN = "seen in three weeks"
WEEKS, NEW = 52, 19  # of the series; the first with the new subject


def series(
    rng: Generator, people: int, topics: int, most: int, *, far: float = 0.0, topic: float = 0.0, twice: bool
) -> Any:
    periods = tuple(f"2026-W{i:02}" for i in range(1, WEEKS + 1))
    values = ((*map(str, range(topics)), "far"),)
    made = CountsOfPeriod.calibrated(
        epsilon=1.0, delta=1e-6, axes=("topic",), values=values, periods=periods, at=periods[0], max_periods=most
    )
    usual = np.append(np.full(topics, 0.97 / topics), 0.03)
    for week, at in enumerate(periods):
        shares = usual.copy()
        if week >= NEW:
            shares *= 1 - far - topic
            shares[-1] += far
            shares[0] += topic
        shares = rng.dirichlet(shares * people) if twice else shares
        counts = rng.multinomial(rng.poisson(people), shares).astype(float)
        noise = made.noise(made.usual)
        exact = np.append(counts, counts.sum())
        yield CountTable(
            axes=("topic",), values=values, cube=exact + rng.normal(0, noise, exact.size), noise=noise,
            period=at, n_periods=WEEKS, max_periods=most,
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    runs = parser.parse_args().runs
    rng, rows = np.random.default_rng(7), []
    for people, topics, most in ((2000, 10, 1), (2000, 10, 4), (100, 10, 1), (300, 20, 4), (20_000, 15, 1)):
        for twice in (False, True):
            alarms = sum(bool(drift(series(rng, people, topics, most, twice=twice)).signals) for _ in range(runs))
            rows.append({"people": people, "topics": topics, "max_periods": most, "twice": twice, "alarms": alarms})
            print(rows[-1], flush=True)
    for far, topic in ((0.03, 0.0), (0.01, 0.0), (0.0, 0.03)):
        for most in (1, 4):
            for twice in (False, True):
                seen = 0
                for _ in range(runs):
                    found = drift(series(rng, 2000, 10, most, far=far, topic=topic, twice=twice)).signals
                    new = [s for s in found if (s.topic == "far") == (far > 0)]
                    seen += any(f"2026-W{NEW + 1}" <= s.period <= f"2026-W{NEW + 3}" for s in new)
                rows.append({"far": far, "topic": topic, "max_periods": most, "twice": twice, SEEN: seen})
                print(rows[-1], flush=True)
    quiet = max(row["alarms"] for row in rows if row.get("twice") and "alarms" in row)
    told = min(row[SEEN] for row in rows if row.get("far") == 0.03)
    bars = [
        bar(
            "quiet series of twice the variance that alarm, the worst setting",
            100 * quiet / runs,
            5,
            unit="%",
            at_least=False,
        ),
        bar(
            "a new subject of 3 % seen in three weeks, the worst setting",
            100 * told / runs,
            90,
            unit="%",
            at_least=True,
        ),
    ]
    save("drift", {"runs": runs, "rows": rows, "bars": bars})


if __name__ == "__main__":
    main()
