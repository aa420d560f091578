"""The rooms of the house: who may import whom, read from the source."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "dptopics"
LARGEST_FILE = 600


def module_name(path):
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text("utf-8")) for name, path in FILES.items()}


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


MECHANISMS = ("vocabulary", "topics", "ngrams", "local", "insight.counts", "insight.series")
FRONT = ("plan", "door", "counting", "registry", "estimators", "cli")  # those that put everything together

# Room: what it never touches. "!x" is a package of the outside world.
NEVER = {
    ("kernels",): (
        "data", "privacy", "public", "release", "learners", "audit", "evaluate", *MECHANISMS, "published", *FRONT,
        "!secrets", "!random", "!randomgen",
    ),
    ("privacy.noise", "privacy.events", "privacy.pricing", "privacy.guarantee"): (
        "data", "public", "release", "privacy.mechanism", "privacy.ledger", *MECHANISMS, *FRONT,
    ),
    ("privacy.noise",): ("privacy.events", "privacy.pricing", "privacy.guarantee"),
    ("privacy.events", "privacy.pricing", "privacy.guarantee"): ("privacy.noise",),
    ("privacy",): ("public", *MECHANISMS, "published", "learners", "audit", "evaluate", *FRONT, "!rich", "!typer"),
    ("data",): (
        "privacy.noise", "privacy.events", "privacy.mechanism", "privacy.ledger", "release.topic_model",
        "release.bundle", "learners", "audit", *MECHANISMS, "published", *FRONT, "!secrets", "!random",
    ),
    ("public",): ("privacy", "learners", "audit", *MECHANISMS, "published", *FRONT),
    ("learners",): ("privacy", "audit", *MECHANISMS, "published", *FRONT),
    MECHANISMS: (
        "published", "privacy.ledger", "release.bundle", "release.report", "data.builder", "data.tables", "data.files",
        "data.databases",
        "data.engines", "audit", *FRONT, "!rich", "!typer", "!logging", "!pickle",
    ),
    ("release", "insight.hierarchy", "insight.labels"): (
        "data", "privacy.noise", "privacy.mechanism", "privacy.ledger", "learners", *MECHANISMS, "published", "audit",
        *FRONT, "!numba",
    ),
    ("audit",): (*MECHANISMS, "published", "door", "estimators", "cli", "kernels.unit_words"),
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


def test_nobody_imports_the_command_line():
    for name in FILES.keys() - {"dptopics.cli"} - set(room("cli")):
        if name != "dptopics.__main__":
            assert touches(imports(name), "cli") == [], name


def test_only_the_registry_imports_reproductions():
    for name in FILES.keys() - {"dptopics.registry"} - set(room("published")):
        assert touches(imports(name), "published") == [], name


def test_spark_stays_in_its_engine():
    for name in FILES.keys() - {"dptopics.data.engines.spark"}:
        assert touches(imports(name), "!pyspark") == [], name


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


# Exact documents, without noise: for mechanisms whose strength is not proved (published), and for output perturbation.
SEES_DOCUMENTS = {"dptopics.mechanisms.topics.output_matrix"}


def test_only_unproved_mechanisms_see_raw_documents():
    callers = {name for name in FILES if any(call.rsplit(".", 1)[-1] == "raw_counts" for call in calls(name))}
    assert callers  # the check sees something
    assert callers <= SEES_DOCUMENTS | set(room("published"))


def test_files_stay_short():
    for name, path in FILES.items():
        assert len(path.read_text("utf-8").splitlines()) <= LARGEST_FILE, f"{name} is too long: split it"


# Folders of tests that mirror no folder of the source: what holds across rooms.
EXTRA_TESTS = {"docs", "edges", "gate", "papers"}
# Tests at the top: of the house as a whole, and of the modules that stand directly under dptopics/.
TOP_TESTS = {
    "architecture",
    "check",
    "compositions",
    "door",
    "estimators",
    "exports",
    "metrics",
    "notebook",
    "packaging",
    "plan",
    "plots",
    "scikit_learn",
}
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def test_tests_lie_in_the_folders_of_what_they_test():
    folders = {path.parent.relative_to(ROOT / "tests") for path in TESTS} - {Path()}
    assert len(folders) > 10
    strangers = {folder.as_posix() for folder in folders if not (SOURCE / folder).is_dir()}
    assert strangers <= EXTRA_TESTS
    assert {path.stem.removeprefix("test_") for path in TESTS if path.parent == ROOT / "tests"} <= TOP_TESTS


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
