"""What kernels must not do, since they are kept compiled on disk."""

import ast
from pathlib import Path

import dptopics.kernels

FILES = sorted(Path(dptopics.kernels.__file__).parent.glob("*.py"))


def test_no_kernel_calls_argsort():
    """Numba 0.68: cached code of argsort and of sort share names, and a process that loads both may crash."""
    assert len(FILES) > 10
    for path in FILES:
        names = {node.attr for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Attribute)}
        assert not names & {"argsort", "lexsort"}, path.name
