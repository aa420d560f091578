"""Tables of n-grams and the language model made from them; folders, ARPA files and commands."""

import json
import re
from dataclasses import replace
from math import exp, inf, log

import numpy as np
import pytest
from typer.testing import CliRunner

from dptopics import Corpus, TextSettings, Unit, Vocabulary
from dptopics.core.errors import BundleError, InputError, NothingReleased
from dptopics.data.public_inputs import PublicNgrams
from dptopics.plan import Plan
from dptopics.privacy import noise
from dptopics.privacy.rng import secure_rng
from dptopics.release import bundle
from dptopics.release.ngrams import LanguageModel, NgramTable

TEXTS = ["I like green tea. I like tea.", "You like tea. I like green tea.", "You drink tea. I drink water."] * 20
AUTHORS = [f"author {row // 2}" for row in range(len(TEXTS))]
HELD_OUT = "I like green tea. You like tea."


def exact(n, texts=TEXTS):
    public = PublicNgrams.from_texts(texts, n=n)
    return NgramTable(
        vocabulary=public.vocabulary,
        probability=public.counts / public.counts.sum(),
        total=float(public.counts.sum()),
        noise_std=np.full(public.counts.size, 0.001),
        text=TextSettings.for_ngrams(n),
    )


def released(epsilon=20.0, n=3, **settings):
    public = PublicNgrams.from_texts(["I like green tea. You drink tea. I drink water. I like tea."], n=n)
    corpus = Corpus.from_texts(
        TEXTS, AUTHORS, settings=TextSettings.for_ngrams(n), vocabulary=public.vocabulary
    ).bounded()
    mechanism = Plan.ngrams(
        mechanism="bayes", epsilon=epsilon, delta=1e-5, unit=Unit.AUTHOR, prior=public, **settings
    ).build()
    return mechanism(corpus, secure_rng())


# --- probabilities ---


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_conditionals_sum_to_one(n):
    model = LanguageModel(exact(n))
    contexts = {tuple(ngram.split(" ")[:-1]) for ngram in model.table.vocabulary.words}
    words = {word for ngram in model.table.vocabulary.words for word in ngram.split(" ")}
    for context in contexts:
        assert sum(model.conditional(word, " ".join(context)) for word in words) == pytest.approx(1)
    assert sum(model.joint(ngram) for ngram in model.table.vocabulary.words) == pytest.approx(1)
    assert model.joint("not there at all") == 0


def test_trigram_conditionals_are_ratios_of_counts():
    model = LanguageModel(exact(3))
    # "<s> i" begins 100 of 120 … sentences: 60 + 20 + 20 "like", 20 "drink".
    assert model.conditional("like", "<s> i") == pytest.approx(60 / 80)
    assert model.conditional("i", "<s>") == pytest.approx(80 / 120)
    assert model.conditional("tea", "we all know that i like") == pytest.approx(1 / 3)
    assert model.conditional("tea", "never seen") == 0


def test_perplexity_by_hand():
    model = LanguageModel(exact(3))
    # "<s> you like tea </s>": P(you) = 1/3, P(like) = 1/2, P(tea | you like) = 1, P(</s> | like tea) = 1
    found = model.perplexity(["You like tea."])
    assert found.value == pytest.approx(exp(-log(1 / 6) / 4))
    assert (found.sentences, found.left_out) == (1, 0)


def test_sentences_outside_the_list_are_left_out_and_counted():
    model = LanguageModel(exact(3))
    mixed = model.perplexity(["You like tea. We fly to Mars. You like tea!"])
    assert (mixed.sentences, mixed.left_out) == (2, 1)
    assert mixed.value == pytest.approx(model.perplexity(["You like tea."]).value)
    assert "1 left out" in str(mixed)
    with pytest.raises(InputError, match="none of the 1 sentences is covered"):
        model.perplexity(["We fly to Mars."])


def test_zero_probability_is_infinite_perplexity():
    table = exact(3)
    probability = table.probability.copy()
    row = table.vocabulary.index["you like tea"]
    probability[row] = 0
    model = LanguageModel(replace(table, probability=probability / probability.sum()))
    assert model.perplexity(["You like tea."]).value == inf


@pytest.mark.parametrize("n", [1, 2, 3])
def test_samples_follow_the_table(n):
    model, rng = LanguageModel(exact(n)), np.random.default_rng(0)
    sentences = [model.sample(rng, max_words=12) for _ in range(400)]
    assert all(len(sentence.split()) <= 12 for sentence in sentences)
    if n == 3:
        assert {"you like tea", "i like green tea"} <= set(sentences)
        assert np.mean([s.startswith("i ") for s in sentences]) == pytest.approx(2 / 3, abs=0.1)
    assert sentences == [model.sample(rng2, max_words=12) for rng2 in [np.random.default_rng(0)] for _ in range(400)]


def test_sample_needs_a_beginning():
    table = NgramTable(vocabulary=Vocabulary.of(["a b"]), probability=np.ones(1))
    with pytest.raises(InputError, match="no n-gram that begins"):
        LanguageModel(table).sample(np.random.default_rng(0))


# --- ARPA ---


def read_arpa(text):
    """The format as ngram-format(5) of SRILM defines it: counts, then a section for each order, then the end."""
    lines = text.split("\n")
    assert lines[0] == "\\data\\"
    sizes, row = [], 1
    while lines[row]:
        order, size = re.fullmatch(r"ngram (\d)=(\d+)", lines[row]).groups()
        assert int(order) == len(sizes) + 1
        sizes.append(int(size))
        row += 1
    orders = []
    for order, size in enumerate(sizes, start=1):
        assert lines[row + 1] == f"\\{order}-grams:"
        found = {}
        for line in lines[row + 2 : row + 2 + size]:
            parts = line.split("\t")
            words = tuple(parts[1].split(" "))
            assert len(words) == order
            assert len(parts) == 2 or order < len(sizes)  # the highest order has no back-off weight
            found[words] = (float(parts[0]), float(parts[2]) if len(parts) == 3 else 0.0)
        assert len(found) == size
        row += 2 + size
        assert lines[row] == ""
        orders.append(found)
    assert lines[row + 1 :] == ["\\end\\", ""]
    return orders


def arpa_log10(orders, words):
    """log10 P(last | the rest) with back-off, as every reader of the format computes it."""
    if words in orders[len(words) - 1]:
        return orders[len(words) - 1][words][0]
    if len(words) == 1:
        return -inf
    return orders[len(words) - 2].get(words[:-1], (0, 0.0))[1] + arpa_log10(orders, words[1:])


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_arpa_gives_the_same_probabilities(n):
    model = LanguageModel(exact(n))
    orders = read_arpa(model.arpa())
    assert len(orders) == n
    for ngram in model.table.vocabulary.words:
        words = tuple(ngram.split(" "))
        assert arpa_log10(orders, words) == pytest.approx(
            np.log10(model.conditional(words[-1], " ".join(words[:-1]))), abs=1e-5
        )
        for size in range(1, n):
            assert words[:size] in orders[size - 1]  # readers want every prefix
    if n > 1:
        assert arpa_log10(orders, ("tea", "i")) < -90  # no way to what is not on the list
        assert orders[0][("<s>",)][0] == -99
        predicted = sum(10**p for (w,), (p, _) in orders[0].items() if w != "<s>")
        assert predicted == pytest.approx(1, abs=1e-4)


def test_perplexity_of_the_arpa_file():
    model = LanguageModel(exact(3))
    orders = read_arpa(model.arpa())
    total, words = 0.0, 0
    for sentence in TextSettings.for_ngrams(3).sentences(HELD_OUT):
        for i in range(1, len(sentence)):
            total += arpa_log10(orders, tuple(sentence[max(0, i - 2) : i + 1]))
            words += 1
    assert model.perplexity([HELD_OUT]).value == pytest.approx(10 ** (-total / words), rel=1e-4)


# --- tables and folders ---


def test_release_is_close_to_the_truth_at_a_high_epsilon():
    table = released(epsilon=100.0, max_count=5, max_words=20).value
    counts = dict(zip(table.vocabulary.words, table.counts, strict=True))
    assert counts["<s> i like"] == pytest.approx(60, abs=6)
    assert LanguageModel(table).perplexity([HELD_OUT]).value < 2


def test_table_for_people():
    lines = exact(3).csv().splitlines()
    assert lines[0] == "ngram,probability,estimated_count,noise_std"
    assert lines[1].count(",") == 3
    values = [float(line.rsplit(",", 3)[1]) for line in lines[1:]]
    assert values == sorted(values, reverse=True)
    bare = NgramTable(vocabulary=Vocabulary.of(["a b"]), probability=np.ones(1))
    assert bare.csv().splitlines()[1] == "a b,1,,"
    assert bare.counts is None


@pytest.mark.parametrize(
    "words, probability, message",
    [
        ((), [], "at least one n-gram"),
        (("a b",), [0.5], "sum must be one"),
        (("a b", "b c"), [1.0], "one probability for each"),
    ],
)
def test_impossible_tables(words, probability, message):
    with pytest.raises(InputError, match=message):
        NgramTable(vocabulary=Vocabulary(words), probability=np.array(probability))


@pytest.mark.parametrize("change", [{}, {"total": None}, {"noise_std": None}, {"text": None}])
def test_table_comes_back(tmp_path, change):
    release = released()
    release = replace(release, value=replace(release.value, **change))
    bundle.save(release, tmp_path / "out")
    again = bundle.load(tmp_path / "out")
    assert (again.guarantee, again.settings) == (release.guarantee, release.settings)
    for name in ("vocabulary", "total", "text"):
        assert getattr(again.value, name) == getattr(release.value, name)
    np.testing.assert_array_equal(again.value.probability, release.value.probability)
    assert NgramTable.load(tmp_path / "out").n == 3
    readme = (tmp_path / "out" / "README.txt").read_text("utf-8")
    assert "most probable n-grams" in readme
    assert release.guarantee.card() in readme
    assert (tmp_path / "out" / "ngrams.csv").read_text("utf-8") == release.value.csv()


def test_another_release_is_no_table(tmp_path):
    release = replace(released(), value=Vocabulary.of(["a"]))
    bundle.save(release, tmp_path / "out")
    with pytest.raises(BundleError, match="contains words, not n-grams"):
        NgramTable.load(tmp_path / "out")


# --- limits ---


def test_author_with_more_ngrams_than_the_limit(monkeypatch):
    for kind in ("gaussian", "laplace"):
        monkeypatch.setattr(noise, kind, lambda rng, scale, size: np.zeros(size, np.int64))
    words = [f"w{i:02} x" for i in range(40)]
    corpus = Corpus.from_counts(np.full((1, 40), 9), words, authors=["one"], public_vocabulary=True).bounded()
    mechanism = Plan.ngrams(
        mechanism="bayes", epsilon=1.0, delta=1e-5, unit=Unit.AUTHOR, max_words=7, max_count=3
    ).build()
    steps = mechanism._steps(corpus) * mechanism.grid
    assert sorted(steps.tolist()) == [0.0] * 33 + [3.0] * 7


def test_counts_that_overflow_32_bits(monkeypatch):
    monkeypatch.setattr(noise, "laplace", lambda rng, scale, size: np.zeros(size, np.int64))
    rows = np.full((6, 2), 2**31 - 1)
    rows[:, 1] = 1
    authors = ["a", "a", "b", "b", "c", "c"]
    corpus = Corpus.from_counts(rows, ["x y", "y z"], authors=authors, public_vocabulary=True).bounded()
    mechanism = Plan.ngrams(
        mechanism="laplace", epsilon=1.0, delta=1e-5, unit=Unit.AUTHOR, max_total=5.0, max_count=4
    ).build()
    table = mechanism(corpus, np.random.default_rng(0)).value
    # Each author: min(2 · (2³¹ − 1), 4) = 4 and 2, scaled to a sum of 5.
    assert table.counts == pytest.approx([3 * 10 / 3 + 1, 3 * 5 / 3 + 1], rel=1e-4)
    with pytest.raises(InputError, match=r"0 to 2\^31 - 1"):
        Corpus.from_counts(np.array([[2**31]]), ["x y"])


def test_private_list_in_front():
    corpus = Corpus.from_texts(TEXTS * 10, [f"{i}" for i in range(600)], settings=TextSettings.for_ngrams(2)).bounded()
    mechanism = Plan.ngrams(mechanism="bayes", epsilon=4.0, delta=1e-5, unit=Unit.AUTHOR, vocabulary="weighted").build()
    assert mechanism.guarantee.epsilon == pytest.approx(4.0, rel=1e-6)
    release = mechanism(corpus, secure_rng())
    assert release.guarantee == mechanism.guarantee
    assert "<s> i" in release.value.vocabulary.index
    with pytest.raises(NothingReleased, match="no n-gram cleared"):
        mechanism.rescaled(1000)(corpus, secure_rng())
    with pytest.raises(InputError, match="vocabulary_share must lie"):
        Plan.ngrams(
            mechanism="bayes", epsilon=1.0, delta=1e-5, unit=Unit.AUTHOR, vocabulary="weighted", vocabulary_share=1.0
        ).build()


# --- commands ---


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = ["who,note", *(f'{a},"{t}"' for a, t in zip(AUTHORS, TEXTS, strict=True))]
    (tmp_path / "notes.csv").write_text("\n".join(lines) + "\n", "utf-8")
    public = PublicNgrams.from_texts(TEXTS[:3], n=3)
    listed = [f"{w}\t{c:g}" for w, c in zip(public.vocabulary.words, public.counts, strict=True)]
    (tmp_path / "public.txt").write_text("\n".join(listed) + "\n", "utf-8")
    (tmp_path / "public.csv").write_text("\n".join(["note", *TEXTS[:3]]) + "\n", "utf-8")
    return tmp_path


def run(*command):
    from dptopics.cli import app

    return CliRunner().invoke(app, [str(part) for part in command])


BASE = ["ngrams", "notes.csv", "--text", "note", "--author", "who", "--n", 3, "--epsilon", 5, "--delta", 1e-4]


@pytest.mark.parametrize("public", ["public.txt", "public.csv"])
def test_command_line(folder, public):
    done = run(*BASE, "--public", public, "--out", "r")
    assert done.exit_code == 0, done.output
    assert "PRIVACY GUARANTEE" in done.output
    shown = run("show", "r", "--json")
    data = json.loads(shown.output)
    assert len(data["ngrams"]) == 10
    assert data["guarantee"]["strength"] == "proved"
    assert run("show", "r").exit_code == 0
    assert run("ngrams", "r", "--arpa", "m.arpa").exit_code == 0
    assert len(read_arpa((folder / "m.arpa").read_text("utf-8"))) == 3
    assert run("ngrams", "r", "--arpa", "m.arpa").exit_code != 0


@pytest.mark.parametrize("mechanism", ["bayes-published", "end-to-end", "laplace-public", "k-anonymity"])
def test_command_line_asks_for_consent(folder, mechanism):
    command = [*BASE, "--public", "public.txt", "--mechanism", mechanism, "--out", "r"]
    assert run(*command).exit_code != 0
    assert not (folder / "r").exists()
    done = run(*command, "--accept-unproven", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["guarantee"]["strength"] == "none"


def test_command_line_charges_the_ledger(folder):
    assert run("ledger", "create", "l.ledger", "--epsilon", 6, "--delta", 1e-3).exit_code == 0
    command = [*BASE, "--public", "public.txt", "--mechanism", "laplace", "--ledger", "l.ledger"]
    assert run(*command, "--out", "r").exit_code == 0
    again = run(*command, "--out", "r2")
    assert type(again.exception).__name__ == "BudgetExceeded"
    assert not (folder / "r2").exists()


def test_command_line_with_a_private_list(folder):
    done = run(*BASE, "--vocabulary", "weighted", "--epsilon", 100, "--out", "r")
    assert done.exit_code == 0, done.output
    both = run(*BASE, "--vocabulary", "weighted", "--public", "public.txt", "--out", "r2")
    assert isinstance(both.exception, InputError)


def test_command_line_bad_input(folder):
    (folder / "empty.txt").write_text("", "utf-8")
    for public, n, message in [
        ("empty.txt", 3, "is empty"),
        ("public.txt", 2, "has 3 words, but n is 2"),
        ("missing.txt", 3, "there is no file"),
        ("public.txt", 7, "1 to 5 words"),
    ]:
        done = run(*BASE, "--public", public, "--n", n, "--out", "r")
        assert isinstance(done.exception, InputError), public
        assert message in str(done.exception)
        assert not (folder / "r").exists()
    shares = run(*BASE, "--public", "public.txt", "--mechanism", "end-to-end", "--set", "shares=0.5,0.9",
                 "--accept-unproven", "--out", "r")  # fmt: skip
    assert "add up to 1" in str(shares.exception)
