"""Changes between two releases: seen where they are, and hardly ever where there are none."""

import csv
import json
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from cubes import cube
from dptopics import CountTable, Guarantee, InputError, Release, Strength, Unit, Vocabulary, cli
from dptopics.release import bundle
from dptopics.release.compare import compare

PROMISE = Guarantee(events=(), delta=0.0, unit=Unit.AUTHOR, strength=Strength.PROVED)
TRUTH = cube(np.random.default_rng(1).integers(0, 500, (20, 5)).astype(float))


def table(truth, seed, **more):
    values = (tuple(map(str, range(20))), tuple("abcde"))
    noisy = truth + 9.0 * np.random.default_rng(seed).normal(size=truth.shape)
    how = {"axes": ("topic", "ward"), "noise": 9.0, "max_cells": 100, **more}
    return CountTable(values=values, cube=noisy, **how)


def test_false_changes_are_rare_and_real_ones_are_seen():
    false = [any(row.verdict != "open" for row in compare(table(TRUTH, 2 * i), table(TRUTH, 2 * i + 1)))
             for i in range(300)]  # fmt: skip
    assert sum(false) <= 27  # of 300, at 5 %: 15 ± 12
    other = TRUTH.copy()
    other[3, 2] += 90
    (first, *_) = compare(table(TRUTH, 1), table(other, 2))
    assert (first.row, first.verdict) == ("topic 3, ward c", "rose")
    assert first.low < 90 < first.high
    # Half the noise would be noticed: intervals that are too narrow show changes that are none.
    narrow = [replace(table(TRUTH, 2 * i), noise=4.5) for i in range(20)]
    assert sum(any(row.verdict != "open" for row in compare(*pair)) for pair in pairwise(narrow)) > 15


def test_what_a_bound_may_have_cut_is_no_change():
    whole, cut = table(TRUTH, 1), table(TRUTH, 2, max_cells=2, over=400.0, over_noise_std=9.0)
    lower = replace(cut, cube=cut.cube - np.where(TRUTH > 200, 150, 0))
    rows = {row.row: row for row in compare(whole, lower)}
    assert all(row.verdict == "open" for name, row in rows.items() if name != "all")


def test_only_what_both_have_is_compared():
    one, other = table(TRUTH, 1), table(TRUTH, 2, model="another")
    with pytest.raises(InputError, match="do not count the same"):
        compare(one, other)
    with pytest.raises(InputError, match="compare two releases of counts"):
        compare(one, Vocabulary.of(["a"]))
    with pytest.raises(InputError, match="error must lie"):
        compare(one, one, error=0.0)


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, seed in (("a", 1), ("b", 2)):
        bundle.save(
            Release(value=table(TRUTH + 200 * (name == "b"), seed), guarantee=PROMISE, settings={}), tmp_path / name
        )
    for words in (("compare", "a", "b", "--out", "c.csv"), ("compare", "a", "b", "--json")):
        monkeypatch.setattr(sys, "argv", ["dptopics", *words])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert not stop.value.code
        printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert {row["verdict"] for row in found["rows"]} == {"rose"}
    with open("c.csv", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == len(found["rows"]) == 21 * 6
