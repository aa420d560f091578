"""What is uploaded: wheel and source archive are well-formed, small, whole, and work from elsewhere."""

import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LARGEST_WHEEL = 12_000_000  # 6.7 MB of them word vectors, 2.7 what MiniLM says of the atlas


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, source


def test_the_package_index_would_take_them(built):
    ran = subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *built], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout


def test_they_hold_everything_and_little_else(built):
    wheel, source = built
    assert wheel.stat().st_size < LARGEST_WHEEL
    assert source.stat().st_size < 2 * LARGEST_WHEEL
    inside = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "src" / "dptopics"
    files = {p for p in package.rglob("*") if p.is_file() and "__pycache__" not in p.parts and p.suffix != ".nbi"}
    files = {p for p in files if p.suffix not in (".nbc", ".pyc")}
    assert {p.relative_to(package.parent).as_posix() for p in files} <= inside
    assert any(name.endswith("/NOTICE") for name in inside)  # some of it is others' work
    with tarfile.open(source) as archive:
        assert any(name.endswith("/NOTICE") for name in archive.getnames())
        assert not {name for name in archive.getnames() if "/tests/" in name or "/results/" in name}


def test_the_wheel_works_from_elsewhere(built, tmp_path):
    """Unpacked into a folder of its own, with nothing of this repository in reach."""
    zipfile.ZipFile(built[0]).extractall(tmp_path / "site")
    code = (
        "import dptopics, pathlib; assert 'site' in pathlib.Path(dptopics.__file__).parts; "
        "from dptopics.public.demo import demo_corpus; from dptopics.cli import main; "
        "from dptopics.release import report; print(len(demo_corpus().texts))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "site"), "PATH": ""},
        capture_output=True, text=True,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 20_000


# What an installation without extras has not.
EXTRAS = (
    "python_calamine", "cryptography", "duckdb", "gensim", "jieba", "fugashi", "matplotlib", "onnx",
    "onnxruntime", "pandas", "polars", "psycopg", "pyspark", "pythainlp", "safetensors", "simplemma", "sqlalchemy",
    "starlette", "tokenizers", "tomotopy", "uvicorn", "wordfreq", "yaml",
)  # fmt: skip
NOTES = "notes.csv --text note --author patient"
FIT = f"fit {NOTES} --epsilon 8 --delta 1e-6 --out"
PLAIN = """
import contextlib, io, json, sys
for name in {extras}:
    sys.modules[name] = None  # importing it fails
from dptopics.cli import main
ran = []
for command in {commands}:
    sys.argv = ["dptopics", *command.split()]
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        try:
            code = main()
        except SystemExit as stop:
            code = stop.code
    ran.append((code or 0, " ".join(said.getvalue().split())))
print(json.dumps(ran))
"""


def plain(folder, *commands):
    """Exit code and errors of commands where only what every installation has can be imported, in one process."""
    code = PLAIN.format(extras=EXTRAS, commands=commands)
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return zip(commands, json.loads(done.stdout), strict=True)


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bare")
    rows = "".join(f"my knee hurts when I run,p{i}\nnew glasses for reading,q{i}\n" for i in range(300))
    (folder / "notes.csv").write_text("note,patient\n" + rows)
    (folder / "notes.xlsx").write_bytes(b"PK")
    for _, (code, said) in plain(folder, f"{FIT} release --topics 2"):
        assert code == 0, said
    return folder


def test_everything_usual_works_without_extras(bare):
    for command, (code, said) in plain(
        bare,
        "show release",
        "show release --tree",
        "officer verify release",
        "officer approve release",
        "mechanisms",
        "report release --out r.html",
        "ledger create a.ledger --epsilon 9 --delta 1e-5",
        f"vocabulary {NOTES} --epsilon 2 --delta 1e-6 --ledger a.ledger --out words",
        "ledger show a.ledger",
        "transform release notes.csv --text note --out t.csv",
        f"ngrams {NOTES} --n 2 --epsilon 2 --delta 1e-6 --out pairs",
    ):
        assert code == 0, (command, said)


MISSING = {
    "officer registry release": "officers",
    "officer sign --new-key key": "officers",
    "label release": "embeddings",
    f"{FIT} e --mechanism embedded": "embeddings",
    f"{FIT} e --lemmas": "lemmas",
    f"{FIT} e --language japanese": "languages",
    f"{FIT} e --engine spark": "spark",
    "fit notes.xlsx --text note --epsilon 8 --delta 1e-6 --out e": "excel",
    "fit --sql x --database sqlite:///a.db --text note --epsilon 8 --delta 1e-6 --out e": "sql",
}


def test_what_is_missing_says_how_to_get_it(bare):
    for command, (code, said) in plain(bare, *MISSING):
        assert code == 2, (command, said)
        assert f"dptopics[{MISSING[command]}]" in said, (command, said)
