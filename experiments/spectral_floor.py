"""Figure 2 of DeCarolis et al. 2020 with the floor of the authors' code, and several draws of each cell.

    python experiments/spectral_floor.py [--part floor]

*Floor*: where Procedure 1 gives a lower bound under 0.1, or none, the authors' public code goes on with 0.1. Their M₂
is multiplied by α₀(α₀ + 1), so for ours it is 0.1/(α₀(α₀ + 1)), 0.05 at α₀ = 1. Configuration 1 needs no bound. That is
not private: the floor is no lower bound of what it stands for (σ_k is 0.0025 here), and the noise is made for it.
*Draws*: the cells of figure 2's first table and of its printed form, eight draws of the noise each. The first corpora
of spectral.py: N = 100,000, d = 100, k = 5, α₀ = 1, five of them, the best of three splits by the true error. No data
needed. Half an hour of one core each. Results go to results/spectral_floor.json and results/spectral_draws.json; a
second run goes on where the first stopped. Seeded noise: NOT FOR RELEASE.
"""

import argparse
from collections.abc import Callable
from itertools import product
from typing import Any

from store import made

from dptopics import Unit
from dptopics.core.errors import NothingReleased
from dptopics.published import spectral_edges
from dptopics.registry import mechanisms
from spectral import CODE as CODE_OF_ALL
from spectral import CORPORA, DELTA, EPSILONS, MAIN, SPLITS, Part, cached, errors, seeded

COMMAND = "python experiments/spectral_floor.py --part"
CODE = (*CODE_OF_ALL, "experiments/spectral_floor.py")
FLOOR = 0.1  # of the authors' code, whose M₂ is scaled by α₀(α₀ + 1)
SEEDS = range(1, 6)
DRAWS = range(8)

lower_bound = spectral_edges.lower_bound


def floored(what: str, *arguments: Any, **more: Any) -> float:
    """Procedure 1, and the floor where its bound is lower or there is none."""
    alpha0 = CORPORA[MAIN][3]
    least = FLOOR if "gap" in what else FLOOR / (alpha0 * (alpha0 + 1))
    try:
        return max(lower_bound(what, *arguments, **more), least)
    except NothingReleased:
        return least


def released(
    config: str, epsilon: float, seed: int, place: dict[str, Any], bound: Callable[..., float]
) -> float | None:
    """The least error of the three splits; None where none released anything."""
    size = CORPORA[MAIN]
    _, topics, bounded, moments = cached(size, seed)
    spectral_edges.exact_moments = lambda corpus: moments
    spectral_edges.lower_bound = bound
    found = []
    for number, shares in enumerate(SPLITS[config]):
        mechanism = mechanisms("topics")[config].calibrated(
            n_topics=size[2], epsilon=epsilon, delta=DELTA, unit=Unit.DOCUMENT, alpha0=size[3], shares=shares,
            sensitivities=place["sensitivities"],
        )  # fmt: skip
        try:
            rng = seeded({"cell": f"{place} {config} {epsilon} {seed} {number}"})
            found.append(errors(topics, mechanism(bounded, rng).value.topic_word)["l1"])
        except NothingReleased:
            continue
    return min(found, default=None)


def floor() -> None:
    """Configurations 2 and 3, with the floor."""
    several("floor", ("spectral-2", "spectral-3"), floored)


def draws() -> None:
    """Figure 2's first table and its printed form, without the floor."""
    several("draws", tuple(SPLITS), lower_bound)


def several(name: str, configurations: tuple[str, ...], bound: Callable[..., float]) -> None:
    """Eight draws on each of five corpora, with printed and with corrected sensitivities."""
    part = Part(name)
    for epsilon, seed, config, kind in product(EPSILONS, SEEDS, configurations, ("printed", "corrected")):
        place = {"sensitivities": kind, "floor": bound is floored}
        for row in part.cells(series=config, **place, epsilon=epsilon, seed=seed):
            row["l1"] = [released(config, epsilon, seed, place | {"draw": draw}, bound) for draw in DRAWS]


PARTS = {"floor": floor, "draws": draws}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    for name in parser.parse_args().part:
        with made(f"spectral_{name}.json", code=CODE, command=f"{COMMAND} {name}"):
            PARTS[name]()


if __name__ == "__main__":
    main()
