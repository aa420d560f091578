"""Drift: signals come from released counts alone, hold their error, and see what is planted."""

import numpy as np
import pytest

from cubes import cube
from dptopics import TextSettings, TopicModel, Vocabulary
from dptopics.core.errors import InputError
from dptopics.mechanisms.counts.periods import CountsOfPeriod
from dptopics.release.counts import CountTable
from dptopics.release.drift import FEWEST, Signal, drift
from dptopics.release.topic_sizes import DocumentSpace
from dptopics.subjects import far_below, topic_or_far

WEEKS = tuple(f"2026-W{week:02}" for week in range(1, 53))
MADE = CountsOfPeriod.calibrated(
    epsilon=1.0, delta=1e-6, values=((*map(str, range(10)), "far"),), periods=WEEKS, at=WEEKS[0]
)


def table(cells, week=0, **more):
    named = {"period": WEEKS[week], "n_periods": 52, "noise": MADE.noise(1), **more}
    return CountTable(axes=("topic",), values=MADE.values, cube=cube(np.asarray(cells, np.float64)), **named)


def series(rng, weeks, planted=0.0, noise=1.0):
    """Tables of 2,000 people a week; from week 20 on a share of them writes about something new."""
    usual = np.append(np.full(10, 0.097), 0.03)
    new = np.append(np.full(10, 0.02), 0.8)
    spread = MADE.noise(1)
    tables = []
    for week in range(weeks):
        share = planted if week + 1 >= 20 else 0.0
        cells = rng.multinomial(2000, (1 - share) * usual + share * new) + noise * spread * rng.normal(size=11)
        tables.append(table(cells, week))
    return tables


def test_false_alarms_and_signals():
    rng = np.random.default_rng(0)
    alarms = sum(bool(drift(series(rng, 52)).signals) for _ in range(40))
    assert alarms <= 6  # of 40 at 2 %: more than that once in 60,000 times
    seen = [drift(series(rng, 22, 0.03)).refit for _ in range(20)]
    assert sum(one is not None and one.period >= "2026-W20" for one in seen) >= 17
    assert sum(bool(drift(series(rng, 52), error=0.9).signals) for _ in range(10)) >= 2


def test_weeks_that_vary_more_than_samples_raise_no_alarm(monkeypatch):
    """Shares of each week drawn anew, with the variance of a sample: twice that of samples in all."""

    def quiet(rng):
        usual = np.append(np.full(10, 0.097), 0.03)
        spread = MADE.noise(1)
        for week in range(52):
            cells = rng.multinomial(2000, rng.dirichlet(usual * 2000)) + spread * rng.normal(size=11)
            yield table(cells, week)

    rng = np.random.default_rng(1)
    runs = [list(quiet(rng)) for _ in range(20)]
    assert sum(bool(drift(run).signals) for run in runs) <= 3
    monkeypatch.setattr("dptopics.release.drift._spread", lambda parts, before: (1.0, 10**6))
    assert sum(bool(drift(run).signals) for run in runs) >= 8  # as if weeks were samples of one population


def test_what_a_signal_says():
    rng = np.random.default_rng(2)
    found = drift(series(rng, 25, 0.08)[::-1])  # in any order
    assert found.refit is found.signals[0]
    assert str(found.refit).startswith("2026-W20: texts far from every topic rose from 3.")
    assert list(found.far) == list(WEEKS[:25])
    assert found.far["2026-W22"].low < found.far["2026-W22"].value < found.far["2026-W22"].high
    plain = found.to_dict()
    assert (plain["refit"], plain["signals"][0]["topic"]) == (True, "far")
    rising = [table(np.append(np.full(9, 200.0), [200 + (120 if week >= 15 else 0), 60]), week) for week in range(16)]
    told = drift(rising)
    assert told.refit is None
    assert [(s.topic, s.period, s.periods) for s in told.signals] == [("9", "2026-W16", 1)]
    assert "topic 9 rose" in str(told.signals[0])
    assert isinstance(told.signals[0], Signal)


def test_a_few_periods_tell_nothing():
    few = drift([table(np.append(np.full(10, 100.0), 900 * (week == 7)), week) for week in range(FEWEST)])
    assert few.signals == ()
    empty = drift([table(np.zeros(11), week) for week in range(12)])
    assert set(empty.far.values()) == {None}


@pytest.mark.parametrize(
    "tables, message",
    [
        ([], "drift needs the counts of a series"),
        ([{"period": ""}], "drift needs the counts of a series"),
        ([{"since": "2026-W01"}], "drift needs the counts of a series"),
        ([{}, {"period": "2026-W02", "noise": 7.0}], "not of one series"),
        ([{}, {}], "two tables of one period"),
    ],
)
def test_what_is_no_series(tables, message):
    with pytest.raises(InputError, match=message):
        drift([table(np.full(11, 9.0), **more) for more in tables])


def test_suppressed_counts_and_wrong_errors():
    with pytest.raises(InputError, match="suppressed as small"):
        drift([table(np.append(np.full(10, 9.0), np.nan))])
    with pytest.raises(InputError, match="strictly between 0 and 1"):
        drift([table(np.full(11, 9.0))], error=0.0)


# --- what is far ---


def test_a_text_without_known_words_is_far():
    model = TopicModel(
        topic_word=np.array([[0.9, 0.1], [0.1, 0.9]]),
        topic_share=np.array([0.5, 0.5]),
        vocabulary=Vocabulary.of(["asthma", "skin"]),
        alpha=0.1,
        text=TextSettings(),
    )
    assert far_below(model) is None
    assert topic_or_far(model, ["asthma", "skin rash", "parking"], None).tolist() == [0, 1, 2]
    with pytest.raises(InputError, match="have no centres"):
        model.cosines(["skin"])


def test_a_random_direction_is_far_unless_by_chance():
    rng, k, d = np.random.default_rng(3), 12, 40
    centres = rng.normal(size=(k, d))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    space = DocumentSpace(
        embedding="letters", of_words=False, mean=np.zeros(d), projection=np.eye(d), middle=np.zeros(d), centres=centres
    )
    model = TopicModel(
        topic_word=np.array([[0.9, 0.1]] * k),
        topic_share=np.full(k, 1 / k),
        vocabulary=Vocabulary.of(["asthma", "skin"]),
        alpha=0.1,
        noise_std=np.full(k, 0.1),  # "skin" does not stand out
        space=space,
    )
    far = far_below(model)
    directions = {f"text {i}": row for i, row in enumerate(rng.normal(size=(4000, d)))}
    directions |= {f"centre {i}": row for i, row in enumerate(centres)}
    # A new subject, all of it as near to one centre as one text in twenty is by chance, and to no other.
    subject = np.linalg.pinv(centres)[:, 0] * 0.45
    aside = np.linalg.svd(centres)[2][-1]
    directions["subject"] = subject + aside * (1 - subject @ subject) ** 0.5
    directions |= {"nothing": np.zeros(d), "my skin": -centres.mean(axis=0), "my asthma": -centres.mean(axis=0)}

    def embedding(texts):
        return np.array([directions[text] for text in texts], np.float32)

    found = topic_or_far(model, list(directions), far, embedding=embedding)
    assert np.mean(found[:4000] == k) == pytest.approx(0.9987, abs=0.0013)
    assert found[4000:-3].tolist() == [*range(k), k]
    assert found[-3:-1].tolist() == [k, k]
    assert found[-1] < k  # a word that stands out in a topic
