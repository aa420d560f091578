"""Where benchmark results go, and how a bar is printed: measured, wanted, and their ratio."""

import json
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def bar(name: str, measured: float, wanted: float, *, unit: str, at_least: bool) -> dict[str, object]:
    """One bar; the ratio is above one where it is met."""
    ratio = measured / wanted if at_least else wanted / measured
    sign = "≥" if at_least else "≤"
    print(f"{name}: {measured:,.4g} {unit} (bar {sign} {wanted:,.4g} {unit}, ratio {ratio:.2f}, met: {ratio >= 1})")
    return {"name": name, "measured": measured, "bar": wanted, "unit": unit, "ratio": ratio, "met": ratio >= 1}


def save(name: str, data: object) -> None:
    """Write results/NAME.json."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
