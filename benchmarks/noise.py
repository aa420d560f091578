"""Noise draws a second on one core, cryptographic bits included, beside OpenDP's sampler in the same run.

Run `python benchmarks/noise.py`; it prints a table and writes benchmarks/results/noise.json. OpenDP draws the
discrete Gaussian and Laplace, also exact and from cryptographic bits: another law on the same integers, for
the same use.
"""

import json
import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import opendp.prelude as dp

from dptopics.privacy.noise import gaussian, laplace
from dptopics.privacy.rng import secure_rng

SCALES = {"3": 3.0, "2^20": 2.0**20, "2^30": 2.0**30}
ROUNDS = 5
OURS, THEIRS = 10_000_000, 5_000  # draws a round
BARS = {"gaussian draws a second": 1e7, "times OpenDP": 100.0}


def rate(draw: Callable[[], object], n: int) -> float:
    """Draws a second: the median round, after one that compiles and warms up."""
    seconds = []
    for _ in range(ROUNDS + 1):
        start = time.perf_counter()
        draw()
        seconds.append(time.perf_counter() - start)
    return n / sorted(seconds[1:])[ROUNDS // 2]


def opendp_rate(law: str, scale: float) -> float:
    metric, make = {
        "gaussian": (dp.l2_distance(T=float), dp.m.make_gaussian),
        "laplace": (dp.l1_distance(T=float), dp.m.make_laplace),
    }[law]
    measurement = make(dp.vector_domain(dp.atom_domain(T="i64")), metric, scale=scale)
    zeros = [0] * THEIRS
    return rate(lambda: measurement(zeros), THEIRS)


def processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":")[1].strip() for line in lines if "model name" in line), platform.machine())


def main() -> None:
    dp.enable_features("contrib")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rng = secure_rng()
    rows = []
    for law, draw in {"gaussian": gaussian, "laplace": laplace}.items():
        for name, scale in SCALES.items():
            ours = rate(lambda draw=draw, scale=scale: draw(rng, scale, OURS), OURS)
            theirs = opendp_rate(law, scale)
            rows.append({"law": law, "scale": name, "dptopics": ours, "opendp": theirs, "ratio": ours / theirs})
            print(f"{law:8}  scale {name:4}  {ours / 1e6:5.1f} M/s  OpenDP {theirs / 1e6:.3f} M/s", end="  ")
            print(f"{ours / theirs:.0f} times")
    gaussians = [row for row in rows if row["law"] == "gaussian"]
    worst = {
        "gaussian draws a second": min(row["dptopics"] for row in gaussians),
        "times OpenDP": min(row["ratio"] for row in gaussians),
    }
    for bar, least in BARS.items():
        print(f"{bar}: {worst[bar]:,.0f}, bar {least:,.0f}: {'met' if worst[bar] >= least else 'MISSED'}")
    result = {
        "draws_per_second_on_one_core": rows,
        "bars": BARS,
        "worst_gaussian": worst,
        "draws_a_round": {"dptopics": OURS, "opendp": THEIRS},
        "processor": processor(),
        "versions": {"python": platform.python_version()}
        | {package: version(package) for package in ("numpy", "numba", "randomgen", "opendp")},
    }
    target = Path(__file__).parent / "results" / "noise.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
