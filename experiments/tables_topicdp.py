"""Tables of docs/papers/topicdp.md, from the stored results."""

from itertools import product
from typing import Any

from table_parts import digits, markdown, read

SHOWN = (2, 3, 4, 5, 6, 8, 10)
CORPORA = {"enron": "Enron", "amazon": "Amazon 5-core"}
DRAWN = "recipients-30000"  # data sets of 30,000 users, as the authors' code draws them
ALL = {
    DRAWN: "Enron, recipients, n = 30,000", "recipients": "Enron, recipients", "enron": "Enron",
    "amazon": "Amazon 5-core", "reviews": "Amazon reviews",
}  # fmt: skip
SIZED = {DRAWN: "n = 30,000", **CORPORA}  # with all sizes and with other models
MODELS = {"lsi": "LSI", "hdp": "HDP", "plsa": "PLSA", "lda-gibbs": "LDA, Gibbs"}
PUBLISHED, CODED = "renyi (published)", "renyi (public code)"
WAYS = {
    PUBLISHED: "as published", "analytic": "`analytic`",
    "mvg, norm of f(D)": "MVG, ‖f(D)‖", "mvg": "MVG, √m", "laplace": "Laplace", "laplace, split": "Laplace, split",
}  # fmt: skip
GAMMAS = (0.02, 0.07, 0.12, 0.17, 0.22)


def rows_of(figure: str, **place: Any) -> list[Any]:
    rows = (row for row in read("topicdp.json")["rows"] if row["figure"] == figure)
    return [row for row in rows if all(row[k] == v for k, v in place.items())]


def errors_of(figure: str, **place: Any) -> list[Any]:
    return [row["errors"] for row in rows_of(figure, **place)]


def table1() -> str:
    """The paper's corpora by its text, ours as they are read; words without stop words."""
    paper = {"paper, Enron": ("158", "24,151", "154", "152"), "paper, Amazon": ("3,815", "50,000", "31", "13")}
    files = {
        "enron": "`enron_full_body`, owners of mailboxes", "recipients": "`enron_full_body`, 158 recipients",
        "amazon": "`amazon_5core`", "reviews": "`amazon_reviews`",
    }  # fmt: skip
    found = {
        name: (f"{s['users']:,}", f"{s['documents']:,}", f"{s['words']:.0f}", digits(s["documents per user"]))
        for name, s in read("topicdp.json")["table 1"].items()
    }
    order = ["paper, Enron", "enron", "recipients", "paper, Amazon", "amazon", "reviews"]
    rows = [[files.get(name, name), *(paper | found)[name]] for name in order]
    return markdown(["", "users", "documents", "words a document", "documents a user"], rows)


# Of Enron, at ε = 3 where nothing else is said: what the paper prints for TopicDP, MVG and Laplace (sections 4.2, 4.3).
PRINTED = {
    "γ = 0.1, 10 × 10": ("3, 7a, 8a", {"epsilon": 3.0}, ("0.895", "77.1", "far larger")),
    "γ = 0.1, 2 × 2": ("5, 7cd, 8cd", {"size": 2}, ("0.0179", "0.0794", "much larger")),
    "γ = 0.02, 10 × 10": ("4, 7b, 8b", {"gamma": 0.02, "sample_size": "dkw"}, ("8.44", "6475", "")),
    "γ = 0.22, 10 × 10": ("4, 7b, 8b", {"gamma": 0.22, "sample_size": "dkw"}, ("0.139", "4.80", "")),
    "ε = 1, γ = 0.1, 10 × 10": ("3, 7a, 8a", {"epsilon": 1.0}, ("less than 6", "greater than 2500", "far larger")),
}
BY_MECHANISM = ((PUBLISHED, CODED), ("mvg, norm of f(D)", "mvg"), ("laplace, split", "laplace"))


def readings() -> str:
    """What the paper prints of Enron, and what each reading of it gives."""
    rows = []
    for title, (figure, place, printed) in PRINTED.items():
        for mechanism, ways, said in zip(("TopicDP", "MVG", "Laplace"), BY_MECHANISM, printed, strict=True):
            cells = []
            for name in (DRAWN, "recipients", "enron"):
                found = errors_of(figure, data=name, **place)
                values = [digits(found[0][way]["row_distance"]) for way in ways] if found else []
                cells.append(" / ".join(values) or "–")
            if said:
                rows.append([f"{title}: {mechanism}", said, *cells])
    return markdown(["“L1”", "paper", "recipients, n = 30,000", "recipients, n = 158", "owners, n = 147"], rows)


def figure3() -> str:
    ways, rows = (PUBLISHED, "renyi-best", *list(WAYS)[1:]), []
    for name, title in ALL.items():
        for i, epsilon in enumerate((1.0, 3.0, 5.0, 10.0)):
            (row,) = rows_of("3, 7a, 8a", data=name, epsilon=epsilon)
            first = f"{title}, Δ = {row['sensitivity']:.3g} ({row['sample_size']})" if i == 0 else ""
            rows.append([first, f"{epsilon:g}", *(digits(row["errors"][way]["row_distance"]) for way in ways)])
    return markdown(["“L1”", "ε", *(WAYS.get(way, way) for way in ways)], rows)


def figure4() -> str:
    """By γ for each sample size: as published / analytic."""
    rows = []
    for name, kind in product((DRAWN, "recipients", "enron", "amazon"), ("dkw", "binomial", "exchangeable")):
        cells = []
        for gamma in GAMMAS:
            found = errors_of("4, 7b, 8b", data=name, gamma=gamma, sample_size=kind)
            pair = [found[0][way]["row_distance"] for way in (PUBLISHED, "analytic")] if found else []
            cells.append(" / ".join(digits(value) for value in pair) or "–")
        rows.append([f"{ALL[name]}, `{kind}`", *cells])
    return markdown(["", *(f"γ = {g:g}" for g in GAMMAS)], rows)


def exceeded() -> str:
    """Enron: what each sample at γ = 0.1 and at 0.02 found, and how many of all pairs lie above it."""
    far, rows = [pair[0] for pair in read("topicdp_pairs.json")["enron lda 10"]["pairs"]], []
    sizes = {("exchangeable", 0.1): 9, ("binomial", 0.1): 49, ("dkw", 0.1): 285}
    sizes |= {("exchangeable", 0.02): 49, ("binomial", 0.02): 350}
    for (kind, gamma), number in sizes.items():
        largest = max(far[:number])
        above = sum(value > largest for value in far) / len(far)
        rows.append([f"`{kind}`, γ = {gamma:g}", str(number), f"{largest:.3g}", f"{100 * above:.2g} %"])
    return markdown(["", "pairs", "Δ", f"of all {len(far):,} pairs above it"], rows)


def figures7and8() -> str:
    epsilons, rows = (1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0), []
    for name, way in product(ALL, (PUBLISHED, "analytic")):
        found = [errors_of("3, 7a, 8a", data=name, epsilon=e)[0][way]["kendall"] for e in epsilons]
        rows.append([f"{ALL[name]}, {WAYS[way]}", *(f"{value:.2f}" for value in found)])
    return markdown(["", *(f"ε = {e:g}" for e in epsilons)], rows)


def models_run() -> list[tuple[str, str]]:
    """Of each corpus the models that were run, LDA first."""
    cells = read("topicdp.json")["sensitivities"]
    return [(name, model) for name, model in product(SIZED, ("lda", *MODELS)) if f"{name} {model} 10" in cells]


def figure9() -> str:
    """Sensitivity of each model, and its errors at ε = 3."""
    cells, rows = read("topicdp.json")["sensitivities"], []
    for name, model in models_run():
        title = ({"lda": "LDA, variational"} | MODELS)[model]
        figure = "3, 7a, 8a" if model == "lda" else "9ac, 10ac"
        (row,) = rows_of(figure, data=name, model=model, epsilon=3.0)
        cell = cells[f"{name} {model} 10"]
        largest = f"{cell['largest'][0]:.3g} / {cell['largest'][1]:.3g} ({cell['pairs']:,})"
        errors = [digits(row["errors"][way]["row_distance"]) for way in WAYS]
        rows.append([f"{SIZED[name]}, {title}", f"{row['sensitivity']:.3g} ({row['sample_size']})", largest, *errors])
    return markdown(["", "Δ", "all pairs drawn: matched / as ordered (pairs)", *WAYS.values()], rows)


def figure9bd() -> str:
    """By γ, the exchangeable sample: as published / analytic."""
    rows = []
    for name, model in product(SIZED, ("lsi", "hdp")):
        found = [errors_of("9bd, 10bd", data=name, model=model, gamma=g, sample_size="exchangeable") for g in GAMMAS]
        pairs = [[e[0][how]["row_distance"] for how in (PUBLISHED, "analytic")] if e else [] for e in found]
        cells = [" / ".join(digits(value) for value in pair) or "–" for pair in pairs]
        rows.append([f"{SIZED[name]}, {MODELS[model]}", *cells])
    return markdown(["", *(f"γ = {g:g}" for g in GAMMAS)], rows)


def figure10() -> str:
    """Kendall's distance by ε: as published / analytic."""
    epsilons, rows = (1.0, 3.0, 5.0, 10.0), []
    for name, model in [(name, model) for name, model in models_run() if model != "lda"]:
        found = [errors_of("9ac, 10ac", data=name, model=model, epsilon=e)[0] for e in epsilons]
        cells = [f"{e[PUBLISHED]['kendall']:.2f} / {e['analytic']['kendall']:.2f}" for e in found]
        rows.append([f"{SIZED[name]}, {MODELS[model]}", *cells])
    return markdown(["", *(f"ε = {e:g}" for e in epsilons)], rows)


def sizes() -> str:
    """Figures 5 and 6: "L1" by size."""
    rows = []
    for name, (epsilon, figure) in product(SIZED, ((3.0, 5), (5.0, 6))):
        found = [errors_of(f"{figure}, 7cd, 8cd", data=name, size=size)[0] for size in SHOWN]
        for way, title in WAYS.items():
            cells = [digits(errors[way]["row_distance"]) for errors in found]
            rows.append([f"{SIZED[name]}, ε = {epsilon:g}, {title}", *cells])
    return markdown(["", *(f"{size} × {size}" for size in SHOWN)], rows)


def whole() -> str:
    rows = []
    for name, found in read("topicdp.json")["whole matrix, exchangeable"].items():
        first, _, sound = name.partition(" ")
        for i, epsilon in enumerate(("1.0", "3.0", "10.0")):
            one = found[epsilon]
            rows.append([
                ALL[first] + (f", {sound}" if sound else "") if i == 0 else "",
                f"{found['sensitivity']:.3g}" if i == 0 else "", f"{float(epsilon):g}", f"{one['deviation']:.3g}",
                f"{one['l1']:.3g}", f"{one['top 10 kept']:.0%}".replace("%", " %"),
                f"{one['words above 3 deviations']:.3g}",
            ])  # fmt: skip
    return markdown(["", "Δ", "ε", "standard deviation of a word", "true L1", "of the 10 heaviest words kept",
                     "words above 3 standard deviations, per topic"], rows)  # fmt: skip


TABLES = {
    "topicdp_table1": table1,
    "topicdp_readings": readings,
    "topicdp_figure3": figure3,
    "topicdp_figure4": figure4,
    "topicdp_exceeded": exceeded,
    "topicdp_sizes": sizes,
    "topicdp_figures7and8": figures7and8,
    "topicdp_figure9": figure9,
    "topicdp_figure9bd": figure9bd,
    "topicdp_figure10": figure10,
    "topicdp_whole": whole,
}
