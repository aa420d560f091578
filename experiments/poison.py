"""Planted documents against two plain pipelines and against ours: how often a secret is drawn out.

    python experiments/poison.py --data FOLDER [--runs N] [--only CORPUS …]

Needs airline_tweets and amazon_5core (Parquet, columns user and text) in the data folder. Results go to
results/poison.json, one row at a time, and a second run goes on where the first stopped; the README's table goes to
results/poison.md. Mechanisms run uncharged with seeded noise: NOT FOR RELEASE.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from store import made

from dptopics import Corpus, Plan, TextSettings
from dptopics.audit.poison import PLAIN, Victim, audit_by_poison, of_plan

RESULTS = Path(__file__).parent / "results"
CORPORA = ("airline_tweets", "amazon_5core")
CANDIDATES, REHEARSALS, BACKGROUND = 10, 20, 1000
DELTA = 1e-6
COMMAND = "python experiments/poison.py --data FOLDER"
CODE = (
    "experiments/poison.py",
    "src/dptopics/audit/poison.py",
    "src/dptopics/mechanisms/topics/embedded.py",
    "src/dptopics/mechanisms/topics/mixture.py",
    "src/dptopics/mechanisms/vocabulary/threshold.py",
)


def default(epsilon: float) -> Victim:
    plan = Plan.topics(n_topics=10, epsilon=epsilon, delta=DELTA, unit="author", text=TextSettings())
    return of_plan(plan)


def mixture(epsilon: float) -> Victim:
    plan = Plan.topics(
        mechanism="mixture", vocabulary="weighted", n_topics=10, epsilon=epsilon, delta=DELTA, unit="author"
    )
    return of_plan(plan)


def victims() -> list[Victim]:
    """The last one claims next to nothing: an attack that failed there too would be blind."""
    return [*PLAIN, default(1.0), mixture(1.0), mixture(4.0), mixture(100.0)]


def read(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text("utf-8"))["rows"] if path.exists() else []


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: how often the secret was guessed by corpus, by chance, and at most under the claim."""
    names = [name for name in CORPORA if any(row["corpus"] == name for row in rows)]
    heads = ["topics by", *(name.replace("_", " ") for name in names), "by chance", "the most that ε allows"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for victim in dict.fromkeys(row["victim"] for row in rows):
        mine = {row["corpus"]: row for row in rows if row["victim"] == victim}
        cells = [_guessed(mine[name]) if name in mine else "" for name in names]
        one = next(iter(mine.values()))
        allowed = "nothing is claimed" if one["allowed"] is None else f"{one['allowed']:.0%}"
        chance = f"{one['guessing']:.0%}"
        lines.append(f"| {' | '.join([victim, *cells, chance, allowed])} |")
    return "\n".join(lines) + "\n"


def _guessed(row: dict[str, Any]) -> str:
    low, high = row["interval"]
    return f"{row['success']:.0%} ({low:.0%} to {high:.0%})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--only", nargs="*", default=CORPORA, choices=CORPORA)
    arguments = parser.parse_args()
    path = RESULTS / "poison.json"
    files = [arguments.data / f"{name}.parquet" for name in CORPORA]
    with made("poison.json", code=CODE, command=COMMAND, inputs=files):
        attack(path, arguments)


def attack(path: Path, arguments: argparse.Namespace) -> None:
    """Every victim on every corpus; rows that are there already stay."""
    rows = read(path)
    for name in arguments.only:
        corpus = Corpus.from_table(arguments.data / f"{name}.parquet", text="text", author="user", drop_missing=True)
        for number, victim in enumerate(victims()):
            if any((row["corpus"], row["victim"], row["runs"]) == (name, victim.name, arguments.runs) for row in rows):
                continue
            found = audit_by_poison(
                [victim], corpus, candidates=CANDIDATES, runs=arguments.runs, rehearsals=REHEARSALS,
                background=BACKGROUND, key=number,
            ).found[0]  # fmt: skip
            rows.append({"corpus": name, **found.to_dict()})
            print(json.dumps(rows[-1], ensure_ascii=False), flush=True)
            described = {"not_for_release": True, "rehearsals": REHEARSALS, "background": BACKGROUND, "rows": rows}
            path.write_text(json.dumps(described, indent=1, ensure_ascii=False) + "\n", "utf-8")
            (RESULTS / "poison.md").write_text(table(rows), "utf-8")


if __name__ == "__main__":
    main()
