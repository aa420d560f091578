"""Figures on the page about collecting come from stored results."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = " ".join((ROOT / "docs/howto/collect.md").read_text("utf-8").split())


def stored(name):
    return json.loads((ROOT / name).read_text("utf-8"))


def points(share):
    return f"{100 * share:+.1f} points"


def test_liars_among_pairs():
    rows = {
        (row["epsilon"], row["liars"], row["clip"]): row for row in stored("experiments/results/liars.json")["rows"]
    }
    said = {"one word": ("send one word without noise", "that word's share", "word_share"),
            "chosen seeds": ("choose their seeds", "the topic's share", "topic_share")}  # fmt: skip
    for epsilon in (4.0, 1.0):
        for liars, (what, moves, field) in said.items():
            moved = [
                points(rows[epsilon, liars, clip][field] - rows[epsilon, "nobody lies", clip][field])
                for clip in (None, 2.0, 1.0)
            ]
            assert f"| {epsilon:g} | {what} | {moves} | {' | '.join(moved)} |" in PAGE
    bounds = [100 * rows[4.0, "chosen seeds", clip]["bound_on_topic"] for clip in (2.0, 1.0, None)]
    assert "the bound itself ({:.1f} and {:.1f} points); without, the bound is {:.0f}".format(*bounds) in PAGE
    spread = [100 * rows[4.0, "nobody lies", clip]["others_deviation"] for clip in (None, 1.0)]
    assert "was {:.2f} points without and {:.2f} with it".format(*spread) in PAGE


NAMES = {
    "whole topic": "set all bits of the topic, no other",
    "as many bits as usual": "set bits of the topic, as many as usual",
    "three words": "send its three commonest words without noise",
    "chosen seeds": "choose their seeds",
    "chosen seeds, usual support": "choose seeds with usual buckets",
}


def test_liars_among_bits_and_three_words():
    rows = stored("experiments/results/liars_fits.json")["rows"]

    def setting(row):
        return f"`bits`, f = {row['f']:g}" if row["kind"] == "bits" else f"`three-words`, ε = {row['epsilon']:g}"

    honest = {setting(row): row for row in rows if row["liars"] == "nobody lies"}
    left = []  # of what liars do, with --clip 2
    for row in rows:
        before = honest[setting(row)]
        if row is before:
            continue
        plain, clipped, out = (
            row[how] - before[how] if how in row else None for how in ("plain", "clip 2", "unusual left out")
        )
        middle = "–" if clipped is None else points(clipped)
        assert f"| {setting(row)} | {NAMES[row['liars']]} | {points(plain)} | {middle} | {points(out)} |" in PAGE
        left += [] if clipped is None else [clipped / plain]
    assert f"takes away {100 * (1 - max(left)):.0f} to {100 * (1 - min(left)):.0f} % of what liars do to bits" in PAGE
    changed = max(abs(row["clip 2"] - row["plain"]) for row in honest.values() if "clip 2" in row)
    assert f"moves honest results by {100 * changed:.1f} points at most" in PAGE
    tighter = max(abs(row["clip 1"] - row["plain"]) for row in honest.values() if "clip 1" in row)
    assert f"with 1, honest results moved by {100 * tighter:.1f} points" in PAGE
    lost = [100 * row["honest_left_out"] for row in honest.values()]
    assert f"({min(lost):.0f} to {max(lost):.0f} % of them)" in PAGE
    bits, three = ([row["one_word_bound"] for row in honest.values() if row["kind"] == kind] for kind in
                   ("bits", "three-words"))  # fmt: skip
    assert "{:.2f} at f = 0.1 and {:.2f} at f = 0.3".format(*bits) in PAGE
    assert "{:.2f} at ε = 12 and {:.2f} at ε = 18".format(*three) in PAGE


def test_bars_of_the_collector():
    found = stored("benchmarks/results/collector.json")
    bars = {name: [one["measured"] for one in job["bars"]] for name, job in found.items() if "bars" in job}
    sqlite, postgres = bars["speed sqlite"], bars["speed postgres"]
    assert f"in batches of 20 | {sqlite[0]:,.0f} | {postgres[0]:,.0f} |" in PAGE
    assert f"500 single reports a second | {sqlite[1]:.0f} ms | {postgres[1]:.0f} ms |" in PAGE
    kills = [found[f"kills {kind}"] for kind in ("sqlite", "postgres")]
    assert [(one["kills"], one["lost"], one["twice"]) for one in kills] == [(200, 0, 0)] * 2
    assert "of {acknowledged:,} (SQLite)".format(**kills[0]) in PAGE
    assert "{acknowledged:,} (PostgreSQL)".format(**kills[1]) in PAGE
    for kind in ("sqlite", "postgres"):
        assert found[f"fuzz {kind}"]["requests"] == 10_000
        assert max(found[f"fuzz {kind}"]["statuses"]) < "500"
    silent = found["silent sqlite"]
    assert (
        f"{silent['silent']:,} connections that said nothing: {silent['honest_accepted']:,} of 1,000 honest reports "
        f"accepted meanwhile, the slowest in {silent['slowest_ms']:.0f} ms" in PAGE
    )


def test_connections_that_never_finish():
    found = stored("benchmarks/results/collector.json")["slow sqlite"]
    assert len(found["shapes"]) == 5
    assert [(run["held"], run["refused"]) for run in found["runs"]] == [(2000, 0), (10_000, 0)]
    for one in found["runs"]:
        assert (
            f"| {one['held']:,} | {one['opened']:,} | {one['honest']:,} of {one['honest']:,} | {one['p99_ms']:.0f} ms "
            f"| {one['slowest_ms']:.0f} ms | {one['most_files_of_the_server']:,} |" in PAGE
        )


def test_what_clipping_costs():
    rows = stored("benchmarks/results/local_clip.json")
    for row in rows:
        name = f"`pair`, ε = {row['epsilon']:g}" if row["kind"] == "pair" else f"`bits`, f = {row['f']:g}"
        plain, clipped = (f"{100 * row[f'rms_{how}']:.2f} points" for how in ("plain", "clipped"))
        assert f"| {name} | {plain} | {clipped} |" in PAGE
    worst = max(row["rms_clipped"] / row["rms_plain"] for row in rows)
    assert f"adds at most {100 * worst - 100:.0f} % to the error" in PAGE


def test_the_slower_run_is_told_too():
    slower = stored("benchmarks/results/collector.json")["million sqlite three-words, another run"]
    assert f"and {slower['bars'][0]['measured']:.0f} s in another run" in PAGE


@pytest.mark.parametrize("kind, name", [("", "`pair`"), (" three-words", "`three-words`"), (" bits", "`bits`")])
def test_fits_of_many(kind, name):
    found = stored("benchmarks/results/collector.json")[f"million sqlite{kind}"]
    seconds, memory = (one["measured"] for one in found["bars"])
    row = f"| {name} | {found.get('reports', 1_000_000):,} | {seconds:.0f} s | {found['cpu_seconds']:.0f} s | "
    assert f"{row}{memory:.2f} GB |" in PAGE
