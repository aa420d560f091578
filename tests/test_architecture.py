"""The rooms of the house: who may import whom, read from the source. Nothing here runs the library."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "dptopics"
LARGEST_FILE = 400


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


# Room: what it never touches. "!x" is a package of the outside world. Rooms that do not exist yet hold trivially.
NEVER = {
    ("kernels",): (
        "corpus", "noise", "events", "guarantee", "ledger", "release", "mechanism", "engines", "topics", "vocabulary",
        "building", "reading", "text", "!secrets", "!random", "!randomgen",
    ),
    ("noise",): ("events", "guarantee", "mechanism", "ledger", "corpus", "release", "engines"),
    ("engines",): ("noise", "events", "mechanism", "ledger", "topics", "vocabulary", "!secrets", "!random"),
    ("learners",): ("noise", "ledger", "events", "guarantee"),
    ("vocabulary", "topics", "ngrams", "local"): (
        "published", "ledger", "bundle", "building", "reading", "engines", "cli", "estimators", "registry", "report",
        "audit",
        "!rich", "!typer", "!logging", "!pickle",
    ),
    ("topic_model", "ngram_table", "ngrams.language_model", "bundle", "release", "report", "interop"): (
        "corpus", "building", "reading", "engines", "mechanism", "ledger", "topics", "vocabulary", "datasets",
    ),
    ("text",): ("corpus", "noise", "release", "guarantee"),
    ("events",): ("guarantee", "corpus", "noise", "release", "mechanism"),
    ("guarantee",): ("corpus", "noise", "release", "mechanism", "ledger"),
    ("mechanism",): ("noise", "engines", "topics", "vocabulary", "ledger"),
    ("audit",): ("topics", "vocabulary", "ngrams", "local", "published", "kernels.unit_words"),
}  # fmt: skip


@pytest.mark.parametrize("rooms", NEVER, ids="-".join)
def test_rooms_keep_to_themselves(rooms):
    for name in room(*rooms):
        assert touches(imports(name), *NEVER[rooms]) == [], name


def test_nobody_imports_the_command_line():
    for name in FILES.keys() - {"dptopics.cli"} - set(room("cli")):
        if name != "dptopics.__main__":
            assert touches(imports(name), "cli") == [], name


def test_only_the_registry_imports_reproductions():
    for name in FILES.keys() - {"dptopics.registry"} - set(room("published")):
        assert touches(imports(name), "published") == [], name


def test_spark_stays_in_its_engine():
    for name in FILES.keys() - {"dptopics.engines.spark"}:
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
    arguments = {node.arg for node in ast.walk(TREES["dptopics.noise"]) if isinstance(node, ast.arg)}
    assert not {"epsilon", "delta"} & arguments


FILE_CALLS = {
    "open", "read_text", "read_bytes", "write_text", "write_bytes", "mkdir", "unlink", "savez", "savez_compressed",
    "save", "savetxt", "dump", "tofile",
}  # fmt: skip


@pytest.mark.parametrize("name", room("vocabulary", "topics", "ngrams", "local", "published"))
def test_mechanisms_neither_print_nor_write(name):
    made = {call.rsplit(".", 1)[-1] for call in calls(name)}
    assert "print" not in made
    assert not made & FILE_CALLS


@pytest.mark.parametrize("name", room("vocabulary", "topics", "ngrams", "local", "published"))
def test_noise_comes_from_one_place(name):
    # The only generator a mechanism may make itself is a public one, from a public number.
    made = {call for call in calls(name) if call.startswith(("np.random.", "random.")) and "(" not in call}
    assert made <= {"np.random.Generator", "np.random.PCG64"}
    assert not [call for call in calls(name) if call.endswith(("secure_rng", "SecureGenerator", "default_rng"))]
    drawn = {call for call in calls(name) if call.startswith("rng.")}
    assert drawn <= {"rng.integers"}  # keys of samples


# Exact documents, without noise: for mechanisms whose strength is not proved (published), and for output perturbation.
SEES_DOCUMENTS = {"dptopics.topics.output"}


def test_only_unproved_mechanisms_see_raw_documents():
    callers = {name for name in FILES if any(call.rsplit(".", 1)[-1] == "raw_counts" for call in calls(name))}
    assert callers  # the check sees something
    assert callers <= SEES_DOCUMENTS | set(room("published"))


def test_files_stay_short():
    for name, path in FILES.items():
        assert len(path.read_text("utf-8").splitlines()) <= LARGEST_FILE, f"{name} is too long: split it"


def mechanisms():
    """Every class with a ``name`` and a ``paper``: that is what a mechanism shows to the outside."""
    found = []
    for module in room("vocabulary", "topics", "ngrams", "local", "published"):
        for node in ast.walk(TREES[module]):
            if isinstance(node, ast.ClassDef):
                assigned = {s.target.id for s in node.body if isinstance(s, ast.AnnAssign) and s.value is not None}
                if {"name", "paper"} <= assigned:
                    found.append(pytest.param(node, id=node.name))
    return found


@pytest.mark.parametrize("mechanism", mechanisms())
def test_every_mechanism_has_its_page(mechanism):
    text = ast.get_docstring(mechanism) or ""
    pages = [word.strip(".,;()") for word in text.split() if word.startswith("docs/guarantees/")]
    pages = [page if page.endswith(".md") else f"{page}.md" for page in pages]
    assert pages, f"the docstring of {mechanism.name} names no page in docs/guarantees"
    for page in pages:
        assert (ROOT / page).is_file(), f"{page} is missing"


@pytest.mark.parametrize("mechanism", mechanisms())
def test_every_mechanism_is_a_frozen_dataclass(mechanism):
    assert [ast.unparse(decorator) for decorator in mechanism.decorator_list] == [
        "dataclass(frozen=True, kw_only=True)"
    ]
    methods = {node.name for node in mechanism.body if isinstance(node, ast.FunctionDef)}
    assert {"guarantee", "rescaled", "__call__"} <= methods


def test_the_checks_see_something():
    assert len(mechanisms()) >= 4
    assert touches(imports("dptopics.topics.variational"), "noise") == ["dptopics.noise"]
    assert touches(imports("dptopics.release"), "mechanism") == []  # only where types are checked
    assert len(room("kernels")) > 5
