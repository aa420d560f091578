"""Kernels that use kernels or numbers of other files: all are known, and a change over there is never missed."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import dptopics

PACKAGE = Path(dptopics.__file__).parent
TREES = {path.stem: ast.parse(path.read_text("utf-8")) for path in sorted((PACKAGE / "kernels").glob("*.py"))}
WAYS = {"dptopics.kernels.jit"}  # how kernels are typed and made, not what they are made of

# What each file compiles into its own kernels from another file. A call costs nothing once compiled, but it ties two
# files together: a new line here is a decision.
SHARED = {
    "doc_topics": {"simd.absorb"},
    "gather": {"counts.put_in_order", "hashing.draw", "hashing.mix"},
    "gibbs": {
        "simd.LANES", "simd.LINE", "simd.STEP", "simd.fall", "simd.fall_in_lanes", "simd.prefetch", "simd.weigh",
        "hashing.draw",
    },
    "gibbs_monitor": {
        "gibbs.AHEAD", "gibbs.ask", "gibbs.chosen", "gibbs.enter", "gibbs.move", "gibbs.uniform", "simd.STEP",
        "simd.steepest", "simd.weigh", "hashing.draw",
    },
    "local_hash": {"hashing.draw"},
}  # fmt: skip


def shared(tree):
    """Names that a file's kernels use and that come from another file of the package."""
    imported = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("dptopics.") and node.module not in WAYS:
            home = node.module.removeprefix("dptopics.kernels.")
            imported |= {alias.asname or alias.name: f"{home}.{alias.name}" for alias in node.names}
    kernels = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.decorator_list]
    used = {node.id for kernel in kernels for node in ast.walk(kernel) if isinstance(node, ast.Name)}
    return {imported[name] for name in used & imported.keys()}


def test_kernels_that_use_other_files_are_listed():
    assert len(TREES) > 10
    assert {name: found for name, tree in TREES.items() if (found := shared(tree))} == SHARED


def test_kernels_are_compiled_in_one_way_and_in_one_room():
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parent.name != "kernels":
            imported = {
                node.module for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)
            }
            assert "dptopics.kernels.jit" not in imported, path
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and name != "jit":
                assert {ast.unparse(decorator) for decorator in node.decorator_list} <= {"jit", "intrinsic"}, name


def test_splitmix_is_written_once():
    holders = [path.stem for path in PACKAGE.rglob("*.py") if "0xBF58476D1CE4E5B9" in path.read_text("utf-8")]
    assert holders == ["hashing"]


LEAF = """
import numba
from dptopics.kernels.jit import jit

NUMBER = {number}

@jit
def ours(x):
    return x + NUMBER

@numba.njit(cache=True)
def theirs(x):
    return x + NUMBER
"""
CALLER = """
import numba
from dptopics.kernels.jit import jit
from pair.leaf import NUMBER, ours, theirs

@jit
def sound(x):
    return ours(x) + NUMBER

@numba.njit(cache=True)
def stale(x):
    return theirs(x) + NUMBER
"""
RUN = """
from pair.caller import sound, stale
print(sound(0), stale(0), sum(sound.stats.cache_hits.values()))
"""


def test_a_change_in_another_file_is_seen_by_the_next_process(tmp_path):
    """Numba's own cache runs the old code (`stale`): that is the danger, and that this test can see it."""
    package = tmp_path / "pair"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "caller.py").write_text(CALLER)
    paths = os.pathsep.join([str(tmp_path), str(PACKAGE.parent)])

    def run(number):
        (package / "leaf.py").write_text(LEAF.format(number=number))
        environment = {**os.environ, "PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        ran = subprocess.run([sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, check=True)
        return [int(part) for part in ran.stdout.split()]

    assert run(1) == [2, 2, 0]
    assert run(1) == [2, 2, 1]  # nothing changed: read from the disk
    assert run(50) == [100, 2, 0]
