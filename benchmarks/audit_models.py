"""Audits of plain models on the tweets: what each attack finds, how long it takes, whether its numbers hold (--data).

Rates and their intervals at 0.1 % false positives; the default command from start to end; coverage of the intervals by
simulation; how many outsiders the calibrated chances accuse. NOT FOR RELEASE.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.stats import norm

from dptopics import Corpus
from dptopics.audit.membership.attack import audit_membership
from dptopics.audit.membership.models import audited_learner, of_learner
from dptopics.audit.membership.rates import Attack
from dptopics.audit.membership.target_attack import attack_target, read_shadows
from results import bar, save

TOPICS = 5
REPEATS = 300  # of a simulated interval
TARGETS = 10  # models whose outsiders are accused


def attacks(corpus: Corpus, folder: Path) -> dict[str, object]:
    learner = audited_learner("gibbs", TOPICS)
    found = audit_membership(of_learner(learner, corpus.counts()), corpus, folder=folder)
    rates = [one.to_dict(found.rates, found.level) for one in found.ranked]
    for one in rates:
        print(f"  {one['attack']}: {one['tpr_at_0.1%_fpr']:.2%}, {one['tpr_at_0.1%_fpr_interval']}")
    share = {one["attack"]: one["tpr_at_0.1%_fpr"] for one in rates}
    print(found.summary().line)
    bars = [
        bar("tweets, members found by presence", share["presence of words"], 0.77, unit="share", at_least=True),
        bar("tweets, by decoded counts", share["exact counts, decoded"], 0.99, unit="share", at_least=True),
    ]
    return {"what": "attacks", "topics": TOPICS, "not_for_release": True, "rates": rates, "bars": bars}


def default_command(data: Path) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        line = [
            sys.executable,
            "-m",
            "dptopics",
            "audit",
            "membership",
            str(data / "tweet_rumours.parquet"),
            "--text",
            "text",
        ]
        begin = time.perf_counter()
        subprocess.run([*line, "--out", f"{folder}/audit"], check=True, capture_output=True)
        seconds = time.perf_counter() - begin
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = bar("tweets, a whole default audit", seconds, 60, unit="s", at_least=False)
    processor = used.ru_utime + used.ru_stime
    print(f"  {processor:.1f} s of processor time, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    described = {"what": "default audit of a plain model", "processor_seconds": processor}
    return {**described, "load": os.getloadavg()[0], "cores": os.cpu_count(), "bars": [result]}


def coverage() -> dict[str, object]:
    rng, rows = np.random.default_rng(3), []
    for n in (100, 300, 1000, 3000):
        for shift in (0.0, 1.0, 2.5):
            for rate in (0.001, 0.01):
                true, member = norm.sf(norm.isf(rate) - shift), np.arange(2 * n) < n
                limits = [
                    Attack("x", rng.normal(size=2 * n) + shift * member, member).interval(rate) for _ in range(REPEATS)
                ]
                covered = float(np.mean([low <= true <= high for low, high in limits]))
                rows.append({"outsiders": n, "shift": shift, "rate": rate, "coverage": covered})
    least = min(row["coverage"] for row in rows)
    result = bar("least coverage of a 95 % interval", least, 0.95, unit="share", at_least=True)
    return {"what": "coverage of intervals", "repeats": REPEATS, "rows": rows, "bars": [result]}


def accusations(corpus: Corpus, folder: Path) -> dict[str, object]:
    """Targets trained as the shadows were, on halves that no shadow had."""
    shadows, counts = read_shadows(folder), corpus.counts()
    train = of_learner(audited_learner("gibbs", TOPICS), counts)
    chance, normal, found_members = [], [], []
    for seed in range(TARGETS):
        member = np.random.default_rng(10_000 + seed).permutation(corpus.n_documents) < corpus.n_documents // 2
        found = attack_target(shadows, train(np.flatnonzero(member), 10_000 + seed), corpus.words, corpus)
        member = np.isin(corpus.content_key, corpus.content_key[member])  # whose copy is inside is no outsider
        chance.append(found.chance[~member])
        found_members.append(found.chance[member])
        normal.append(np.exp(-found.offline[~member]))
    rates = (0.001, 0.01)
    accused = {str(rate): float(np.mean(np.concatenate(chance) <= rate)) for rate in rates}
    by_normal = {str(rate): float(np.mean(np.concatenate(normal) <= rate)) for rate in rates}
    members = {str(rate): float(np.mean(np.concatenate(found_members) <= rate)) for rate in rates}
    print(f"accused outsiders {accused}, by normal tails {by_normal}; members found {members}")
    result = bar("outsiders accused by '1 in 1,000'", accused["0.001"], 0.001, unit="share", at_least=False)
    return {
        "what": "false accusations", "targets": TARGETS, "outsiders_accused": accused,
        "outsiders_accused_by_normal_tails": by_normal, "members_found": members, "bars": [result],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    corpus = Corpus.from_table(data / "tweet_rumours.parquet", text="text")
    with tempfile.TemporaryDirectory() as folder:
        rows = [default_command(data), attacks(corpus, Path(folder)), coverage(), accusations(corpus, Path(folder))]
    save("audit_models", rows)


if __name__ == "__main__":
    main()
