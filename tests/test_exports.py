"""The public names are what we say they are."""

import subprocess
import sys

import pytest

import dptopics


def test_every_export_exists_and_is_listed_once():
    assert dptopics.__all__ == sorted(dptopics._HOME)
    for name in dptopics.__all__:
        assert getattr(dptopics, name).__module__.startswith("dptopics.")


def test_the_public_names_are_listed():
    assert set(dptopics.__all__) <= set(dir(dptopics))
    assert "__version__" in dir(dptopics)


@pytest.mark.parametrize(
    "code",
    [
        "import dptopics; dir(dptopics)",
        "from dptopics import Vocabulary, Guarantee, TextSettings, Release; Vocabulary.of(['knee'])",
    ],
)
def test_reading_needs_no_compiler(code):
    """Who only looks at what was released does not wait for the compiler, scikit-learn or SciPy."""
    code += "; import sys; print(*{name.split('.')[0] for name in sys.modules})"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.split())
    assert "dptopics" in loaded
    assert not loaded & {"numba", "llvmlite", "sklearn", "scipy", "dp_accounting", "pyarrow", "pandas"}


def test_the_command_line_says_the_defaults_of_the_library():
    import inspect

    from dptopics import plan
    from dptopics.cli.fit import fit
    from dptopics.cli.options import expanded

    (option,) = inspect.signature(expanded(fit)).parameters["vocabulary_share"].annotation.__metadata__
    assert option.show_default == f"{plan.USUAL_SHARE}; beside common words {plan.EXTENDED_SHARE}"
