"""How near lower bounds on ε come to the truth: against one (ε, δ), and against the claimed curve, on the same scores.

    python benchmarks/audit_curves.py    # half a minute; results/audit_curves.json

Ideal scores of Gaussian noise, δ = 1e-6, confidence 0.999, 2,000 runs; means over 400 repeats.
"""

import json
from pathlib import Path

import numpy as np

from dptopics.audit.claim.curves import curve_bound_from_trials, lower_bound_from_trials
from dptopics.privacy.pricing import gaussian_delta, smallest

RESULT = Path(__file__).parent / "results" / "audit_curves.json"
DELTA, RUNS, REPEATS = 1e-6, 2000, 400


def shares(epsilon, rng):
    """Mean bound over the true ε: (one pair of ε and δ, the curve)."""
    sigma = smallest(lambda sigma: gaussian_delta(epsilon, 1 / sigma) <= DELTA)
    found = []
    for _ in range(REPEATS):
        coins = rng.random(RUNS) < 0.5
        scores = rng.normal(0, 1, RUNS) + coins / sigma
        both = scores[coins], scores[~coins]
        found.append([bound(*both, delta=DELTA) for bound in (lower_bound_from_trials, curve_bound_from_trials)])
    return (np.mean(found, axis=0) / epsilon).round(4).tolist()


def main():
    rng = np.random.default_rng(1)
    results = {str(epsilon): dict(zip(("pair", "curve"), shares(epsilon, rng), strict=True)) for epsilon in (1, 3, 8)}
    RESULT.write_text(json.dumps(results, indent=1) + "\n")
    print(results)


if __name__ == "__main__":
    main()
