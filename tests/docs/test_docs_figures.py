"""Figures on pages come from stored results: tables are made of the JSON again, and compared."""

import json
import re
from pathlib import Path
from statistics import mean

import pytest
import summaries

import atlas
import audit_holes
import minilm
import weekly
import whole_texts
from dptopics import TextSettings
from dptopics.public.atlas import SHIPPED
from dptopics.public.embeddings import common_words

ROOT = Path(__file__).parents[2]


def page(name):
    return (ROOT / name).read_text("utf-8")


def test_topics_of_few_texts():
    results = json.loads((ROOT / "benchmarks/results/atlas.json").read_text())
    shown = page("docs/guarantees/atlas.md")
    assert atlas.table(results) in shown
    assert atlas.growing_table(results) in shown
    assert atlas.of_examples(results) in " ".join(shown.split())
    wrong = {corpus: f"{row[2]:.0%}".replace("%", " % on ") + corpus for corpus, row in results["wrong"].items()}
    text = " ".join(shown.split())
    assert all(row in text for row in wrong.values() if not row.startswith("0"))
    shares = [f"{share:.1%}".replace("%", " %") for share in results["cover"].values()]
    assert (
        "{} of the intervals of themes cover it, {} of those of everything else, {} of those of domains and {}".format(
            *shares
        )
        in " ".join(shown.split())
    )
    assert all(f"{sum(row) / len(row):.3f} on {name.split()[0]}" in text for name, row in results["minilm"].items())


def test_whole_texts_in_batches():
    found = json.loads((ROOT / "benchmarks/results/whole_texts.json").read_text("utf-8"))
    assert whole_texts.table(found) in page("docs/embeddings.md")
    runs = [one for device in found.values() for one in device.values() if isinstance(one, dict) and "times" in one]
    assert all(one["same bits"] for one in runs)
    assert all(device["planted library caught"] for device in found.values())


def test_planted_holes():
    results = json.loads((ROOT / "benchmarks/results/audit_holes.json").read_text())
    assert audit_holes.table(results) in page("docs/audit.md")
    assert audit_holes.honest(results) in page("docs/audit.md")


def test_honest_noise():
    found = json.loads((ROOT / "benchmarks/results/honest_noise.json").read_text("utf-8"))
    assert found["least"] * found["tests"] > 0.05
    text = " ".join(page("docs/audit.md").split())
    assert f"In {found['sets']:,} simulated sets" in text
    assert f"all {len(found['kinds'])} kinds were" in text
    assert f"of {found['tests']} counts of sets" in text
    assert f"the least probable has {found['least']:.4f}" in text


@pytest.mark.parametrize(("name", "fewest"), [("docs/audit.md", 5), ("README.md", 3)])
def test_planted_documents(name, fewest):
    lines = (ROOT / "experiments/results/poison.md").read_text("utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| ") and "%" in line]
    shown = page(name)
    assert sum(row in shown for row in rows) >= fewest


def test_descriptions_by_a_language_model():
    found = json.loads((ROOT / "experiments/results/summaries.json").read_text("utf-8"))
    table = summaries.table(found)
    assert table == (ROOT / "experiments/results/summaries.md").read_text("utf-8")
    assert table.strip() in page("docs/audit.md")
    cells = found["cells"]
    assert {len(runs) for runs in cells.values()} == {100}
    best = max(found["rehearsals"], key=lambda name: sum(found["rehearsals"][name]))
    assert best == "25 with an instruction"
    theirs, ours = (f"{mean(cells[name]):.0%}" for name in list(cells)[2:])
    assert f"25 planted chats give the disease away in {theirs} of runs, {ours} here (10% by chance)" in page(
        "README.md"
    )


def test_bounds_against_a_curve_and_against_one_pair():
    found = json.loads((ROOT / "benchmarks/results/audit_curves.json").read_text())
    shown = [f"{found[epsilon][kind]:.0%}".rstrip("%") for kind in ("curve", "pair") for epsilon in ("3", "8")]
    curve = f"the curve gives {shown[0]} % of a true ε of 3 and {shown[1]} % of 8"
    text = " ".join(page("docs/audit.md").split())
    assert f"{curve}, where the tangent gives {shown[2]} and {shown[3]} %" in text


def test_what_an_installation_brings():
    found = json.loads((ROOT / "benchmarks/results/installation.json").read_text())["environments"]
    text = " ".join(page("docs/reference/commands.md").split())
    for kind in ("plain", "embeddings"):
        assert f"{found[kind]['packages']} packages" in text
        assert f"{found[kind]['megabytes']} MB" in text


def test_counts_every_week():
    found = json.loads((ROOT / "benchmarks/results/weekly.json").read_text())
    shown = page("docs/howto/counts.md")
    assert weekly.totals_table(found) in shown
    assert weekly.drift_table(found) in shown
    assert weekly.harder(found) in " ".join(shown.split())
    assert all(bar["met"] for bar in found["bars"])


def by_epsilon(how, epsilon, field):
    """What earlier versions had on 20 Newsgroups, with documents as units: the first run."""
    found = json.loads((ROOT / "benchmarks/results/utility_by_epsilon.json").read_text())
    return found[f"20 Newsgroups | {how} | document | {epsilon:.1f} | 0"][field]


def test_figures_of_earlier_versions():
    mixture, variational = (
        [f"{by_epsilon(f'{how}, private words', epsilon, 'perplexity'):,.0f}" for epsilon in (1, 3)]
        for how in ("mixture", "variational")
    )
    text = " ".join(page("docs/guarantees/mixture.md").split())
    assert f"{mixture[0]} and {variational[0]} at ε = 1, {mixture[1]} and {variational[1]} at ε = 3" in text
    text = " ".join(page("docs/guarantees/public_vocabulary.md").split())
    words = by_epsilon("variational, common words", 1, "words")
    assert f"over {words:,} common words at ε = 1, one has eight words above the noise" in text
    assert by_epsilon("variational, common words", 1, "topics_of_8_sure_words") == 1


def test_seconds_of_variational_topics():
    found = json.loads((ROOT / "benchmarks/results/topics.json").read_text())["demo"]
    (row,) = (row for row in found if row["name"] == "private, ε = 1")
    assert f"{row['seconds']:.0f} s for the 20,000 messages of the demo" in page("docs/guarantees/variational.md")


@pytest.mark.parametrize("name", ["mixture", "variational"])
def test_coherence_is_quoted_where_it_is_measured(name):
    """Once: on docs/utility.md, whose tables are written by the benchmark."""
    cost = page(f"docs/guarantees/{name}.md").split("- **Cost:**")[1].split("\n\n")[0]
    assert not re.findall(r"0\.\d\d\d", cost)


def test_speed_of_minilm():
    assert minilm.table(json.loads((ROOT / "benchmarks/results/minilm.json").read_text())) in page("docs/embeddings.md")


def test_the_common_words_of_a_release():
    assert f"{len(common_words(TextSettings())):,} of" in " ".join(page("docs/embeddings.md").split())


def test_the_audit_of_the_demo_says_the_same_everywhere():
    said = re.search(r'"(RED: [^"]+)"', " ".join(page("README.md").split()))[1]
    for name in ("docs/tutorial.md", "docs/howto/audit.md"):
        assert said in " ".join(page(name).split())


def test_the_tutorial_shows_one_release():
    """The topics that are released in its fourth part are those that are loaded in its ninth."""
    parts = page("docs/tutorial.md").split("\n## ")
    released = re.findall(r"^│ \d+ +│ +\d+% +│ ((?:\w+, ){5})", parts[4], re.MULTILINE)
    loaded = parts[9].split("```text\n")[1].split("\n```")[0]
    assert [row.split()[1:] for row in loaded.splitlines()] == [row.rstrip(", ").split(", ") for row in released]


def test_other_languages_beside_lda():
    shown = page("docs/howto/languages.md")
    for name, row in json.loads((ROOT / "benchmarks/results/languages.json").read_text()).items():
        if name.startswith("sentences "):
            found, language = row["subjects"], name.removeprefix("sentences ").capitalize()
            enough = sum(n >= 8 for n in found)
            assert f"| {language} | {row['own_words']:.2f} | {mean(found):.1f} | {enough} of {len(found)} |" in shown
            continue
        if name == "speed":
            at = {segmenter.split()[0]: rate for segmenter, rate in row.items()}
            text = " ".join(shown.split())
            assert f"fugashi reads {at['japanese']:.1f} MB a second, rjieba {at['chinese']:.0f}, and Janome" in text
            assert f"earlier versions used, {at['janome']:.2f}" in text
            assert f"PyThaiNLP reads {at['thai']:.1f} MB of invented Thai a second" in text
            continue
        themes, ours, lda = (mean(row[field]) for field in ("themes", "nmi", "lda_nmi"))
        assert f"| {themes:.0f} | {ours:.2f} | {lda:.2f} |" in shown, name
    assert [name for name in SHIPPED if name.capitalize() not in shown] == []
