"""The plan of the house, held by reading the source: who imports whom, where data is queried, how large it gets."""

import ast
import json
from importlib import import_module
from pathlib import Path

import pytest

from house import ABOVE, LAYERS, MOST, PAGE, STORED, Checkout, cycles, figures, picture

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "dptopics"
HOUSE = Checkout(ROOT)
FILES, TREES = HOUSE.files, HOUSE.trees


def run_time_nodes(tree):
    """All nodes but those under ``if TYPE_CHECKING``."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
        else:
            waiting += ast.iter_child_nodes(node)


def imports(name):
    """Dotted names that a module imports when it runs, inside functions too; ``from a import b`` gives a and a.b."""
    found = set()
    for node in run_time_nodes(TREES[name]):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: imports are absolute in this house"
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def room(*names):
    """Modules of a file or folder."""
    inside = {m for m in FILES for name in names if m == f"dptopics.{name}" or m.startswith(f"dptopics.{name}.")}
    return sorted(inside)


def touches(imported, *names):
    """Which of the imported names lie in these rooms (of the house, or outside)."""
    full = [name if name.startswith("!") else f"dptopics.{name}" for name in names]
    full = [name.removeprefix("!") for name in full]
    return sorted(i for i in imported for name in full if i == name or i.startswith(f"{name}."))


LAYER = {name: number for number, rooms in enumerate(LAYERS) for name in rooms}


@pytest.mark.parametrize("name", sorted(HOUSE.rooms))
def test_imports_point_one_way(name):
    """Late imports and those for type checks count too."""
    wrong = {other for other in HOUSE.rooms[name] if LAYER[other] >= LAYER[name]}
    assert not wrong, f"{name} imports {sorted(wrong)}, which lie in its own layer or above it"


def test_every_room_has_its_layer():
    assert HOUSE.rooms.keys() <= LAYER.keys()
    assert cycles(HOUSE.rooms) == []
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    # Nobody goes through the front door, which shows everything.
    assert not [name for name, others in HOUSE.imports.items() if "dptopics" in others and name != "dptopics"]


def test_the_page_shows_the_rooms_as_they_are():
    """`python benchmarks/house.py --draw` draws them again."""
    assert picture(HOUSE) in PAGE.read_text("utf-8")


def test_numbers_of_the_house_only_fall():
    """Computed as `python benchmarks/house.py` does, which stores them once they have fallen."""
    stored, found, held = json.loads(STORED.read_text("utf-8")), figures(HOUSE), MOST | ABOVE
    assert {name: value for name, value in stored.items() if value > held[name]} == {}
    assert all(stored[name] > MOST[name] for name in ABOVE)  # a bar that is met holds from then on
    # Later features may add lines and modules, up to the bar; everything else stays where it is or falls.
    most = stored | {name: held[name] for name in ("lines", "modules", "lines of the longest file")}
    assert {name: value for name, value in found.items() if value > most[name]} == {}


MECHANISMS = ("mechanisms", "local")

# Finer than layers: what a room never touches. "!x" is a package of the outside world.
NEVER = {
    ("kernels",): ("!secrets", "!random", "!randomgen"),
    ("privacy.noise",): ("privacy.events", "privacy.pricing", "privacy.guarantee"),
    ("privacy.events", "privacy.pricing", "privacy.guarantee"): ("privacy.noise",),
    ("privacy", "ledger"): ("!rich", "!typer"),
    ("data",): ("privacy.noise", "privacy.events", "!secrets", "!random"),
    ("release",): ("privacy.noise", "!numba"),
    MECHANISMS: ("release.bundle", "release.report", "data.builder", "data.readers", "data.engines",
                 "!rich", "!typer", "!logging", "!pickle"),
    ("audit",): ("mechanisms.vocabulary", "mechanisms.topics", "mechanisms.ngrams", "mechanisms.counts", "published"),
}  # fmt: skip


# The side of a room that reads and writes its files: no mechanism.
FILE_SIDE = {
    "dptopics.local.report_files", "dptopics.local.client", "dptopics.mechanisms.topics.sensitivity_file",
    *room("local.server"),  # its stores are files, and it never sees a text
}  # fmt: skip


@pytest.mark.parametrize("rooms", NEVER, ids="-".join)
def test_rooms_keep_to_themselves(rooms):
    for name in set(room(*rooms)) - FILE_SIDE:
        assert touches(imports(name), *NEVER[rooms]) == [], name


def test_only_the_registry_finds_reproductions():
    """By walking their folder: nothing imports them by name."""
    for name in FILES.keys() - set(room("published")):
        assert touches(imports(name), "published") == [], name


def test_spark_stays_in_its_engine():
    for name in FILES.keys() - {"dptopics.data.engines.spark"}:
        assert touches(imports(name), "!pyspark") == [], name


# Where data is queried. A sum that noise covers is asked for in one place (`noisy_sum`); the others are mechanisms with
# noise on something else than a sum, each with its own page of proofs.
QUERIES = {
    "bounded_sum": {"mechanisms.queries", "mechanisms.vocabulary.threshold", "mechanisms.counts.periods",
                    "mechanisms.ngrams.bayes"},
    "fold": {"mechanisms.vocabulary.policy", "mechanisms.topics.output_matrix", "published.ngrams",
             "published.spectral_edges"},
    "raw_counts": {"mechanisms.topics.output_matrix", "published.fdptm", "published.gibbs", "published.topicdp",
                   "published.spectral_edges"},
    "blocks": set(),
}  # fmt: skip
# What answers them, and the examiner's guard, which hands them on.
CORPORA = {"dptopics.data.bounded", "dptopics.data.corpus", "dptopics.audit.claim.transcript", *room("data.engines")}


@pytest.mark.parametrize("query", QUERIES)
def test_data_is_queried_where_the_plan_says(query):
    callers = {name for name in FILES.keys() - CORPORA if any(call.rsplit(".", 1)[-1] == query for call in calls(name))}
    assert callers == {f"dptopics.{name}" for name in QUERIES[query]}


@pytest.mark.parametrize("name", [name for name in room("mechanisms") if name != "dptopics.mechanisms.queries"])
def test_data_are_read_inside_queries(name):
    """No check reads data, and whatever reads them is called from a question; the examiner sees it at run time."""
    functions = {node.name: node for node in ast.walk(TREES[name]) if isinstance(node, ast.FunctionDef)}
    reads = {"bounded_sum", "fold", "raw_counts", "noisy"}

    def called(node):
        names = [ast.unparse(call.func) for call in ast.walk(node) if isinstance(call, ast.Call)]
        methods = {one for one in names if one.endswith(".noisy") and one != "queries.noisy"}  # of their own
        return {one.rsplit(".", 1)[-1] for one in names if one not in methods}

    def reached(names):
        found, new = set(names), set(names)
        while new:
            new = set().union(*(called(functions[one]) for one in new if one in functions)) - found
            found |= new
        return found

    # What a question asks: the function that it is given, or the lambda.
    asked = set()
    for call in (node for node in ast.walk(TREES[name]) if isinstance(node, ast.Call)):
        if ast.unparse(call.func).rsplit(".", 1)[-1] == "private_query":
            asked |= {ast.unparse(argument) for argument in call.args} | called(call)
    inside = reached(asked) | OFFLINE | {"weights"}  # of a vocabulary: asked for by its base class
    for function, node in functions.items():
        nested = {one.name for one in ast.walk(node) if isinstance(one, ast.FunctionDef)} - {function}
        if called(node) & reads and not nested & inside:
            assert function in inside, f"{function} reads data outside a question"
        if function.startswith("check") and name != "dptopics.mechanisms.topics.output_matrix":
            assert not reached({function}) & reads, f"{function} reads data"


# Of output_matrix, which is not proved: its sensitivity is sampled from data before anything is charged.
OFFLINE = {"prepared", "unit_sizes", "units_of", "exact"}


def calls(name):
    """Names of all functions that a module calls: ``open``, ``rng.normal``."""
    return {ast.unparse(node.func) for node in ast.walk(TREES[name]) if isinstance(node, ast.Call)}


def test_kernels_hold_no_generator_and_no_price():
    for name in room("kernels"):
        names = {node.id for node in ast.walk(TREES[name]) if isinstance(node, ast.Name)}
        arguments = {node.arg for node in ast.walk(TREES[name]) if isinstance(node, ast.arg)}
        assert not {"rng", "Generator", "epsilon", "delta"} & (names | arguments), name
        assert not [call for call in calls(name) if "random" in call], name


def test_noise_knows_no_price():
    arguments = {node.arg for node in ast.walk(TREES["dptopics.privacy.noise"]) if isinstance(node, ast.arg)}
    assert not {"epsilon", "delta"} & arguments


# Reading a public word list from a file is the one thing a mechanism's module may do with files.
READS_A_FILE = {"dptopics.mechanisms.vocabulary.two_stage": {"read_text"}}
FILE_CALLS = {
    "open", "read_text", "read_bytes", "write_text", "write_bytes", "mkdir", "unlink", "savez", "savez_compressed",
    "save", "savetxt", "dump", "tofile",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(room(*MECHANISMS, "published")) - FILE_SIDE))
def test_mechanisms_neither_print_nor_write(name):
    made = {call.rsplit(".", 1)[-1] for call in calls(name)}
    assert "print" not in made
    assert made & FILE_CALLS <= READS_A_FILE.get(name, set())


@pytest.mark.parametrize("name", room(*MECHANISMS, "published"))
def test_noise_comes_from_one_place(name):
    # The only generator a mechanism may make itself is a public one, from a public number.
    made = {call for call in calls(name) if call.startswith(("np.random.", "random.")) and "(" not in call}
    assert made <= {"np.random.Generator", "np.random.PCG64"}
    assert not [call for call in calls(name) if call.endswith(("secure_rng", "SecureGenerator", "default_rng"))]
    drawn = {call for call in calls(name) if call.startswith("rng.")}
    assert drawn <= {"rng.integers"}  # keys of samples


# Folders of tests that mirror no folder of the source: what holds across rooms.
EXTRA_TESTS = {"docs", "edges", "gate", "papers"}
# Tests at the top: of the house as a whole, and of the modules that stand directly under dptopics/.
TOP_TESTS = {
    "architecture",
    "check",
    "compositions",
    "estimators",
    "exports",
    "metrics",
    "notebook",
    "packaging",
    "plan",
    "plots",
    "publishing",
    "scikit_learn",
}
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def test_tests_lie_in_the_folders_of_what_they_test():
    folders = {path.parent.relative_to(ROOT / "tests") for path in TESTS} - {Path()}
    assert len(folders) > 10
    strangers = {folder.as_posix() for folder in folders if not (SOURCE / folder).is_dir()}
    assert strangers <= EXTRA_TESTS
    top = {path.stem for path in TESTS if path.parent == ROOT / "tests"} - {"charging", "cubes"}  # helpers
    assert {name.removeprefix("test_") for name in top} <= TOP_TESTS


def test_names_of_test_files_are_unique():
    """Test folders are no packages: of two files with one name, pytest would import only one."""
    names = [path.name for path in TESTS]
    assert sorted(names) == sorted(set(names))


def mechanisms():
    """Every class with a ``name`` and a ``paper``: that is what a mechanism shows to the outside."""
    found = []
    for module in room(*MECHANISMS, "published"):
        for node in ast.walk(TREES[module]):
            if isinstance(node, ast.ClassDef):
                assigned = {s.target.id for s in node.body if isinstance(s, ast.AnnAssign) and s.value is not None}
                if {"name", "paper"} <= assigned:
                    found.append(pytest.param(module, node, id=node.name))
    return found


@pytest.mark.parametrize("module, mechanism", mechanisms())
def test_every_mechanism_has_its_page(module, mechanism):
    text = ast.get_docstring(mechanism) or ""
    pages = [word.strip(".,;()") for word in text.split() if word.startswith("docs/guarantees/")]
    pages = [page if page.endswith(".md") else f"{page}.md" for page in pages]
    assert pages, f"the docstring of {mechanism.name} names no page in docs/guarantees"
    for page in pages:
        assert (ROOT / page).is_file(), f"{page} is missing"


@pytest.mark.parametrize("module, mechanism", mechanisms())
def test_every_mechanism_is_a_frozen_dataclass(module, mechanism):
    assert [ast.unparse(decorator) for decorator in mechanism.decorator_list] == [
        "dataclass(frozen=True, kw_only=True)"
    ]
    kind = getattr(import_module(module), mechanism.name)
    assert all(hasattr(kind, method) for method in ("guarantee", "rescaled", "__call__"))


def test_the_checks_see_something():
    assert len(mechanisms()) >= 4
    assert touches(imports("dptopics.mechanisms.queries"), "privacy.noise") == ["dptopics.privacy.noise"]
    assert touches(imports("dptopics.release.release"), "privacy.mechanism") == []  # only where types are checked
    assert len(room("kernels")) > 5
