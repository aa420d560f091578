"""What is uploaded: wheel and source archive are well-formed, small, whole, and work from elsewhere."""

import importlib
import json
import re
import shlex
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "docs"))
pages = importlib.import_module("markdown_pages")
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


# Every line by which a page installs dptopics, and every extra that one names.
LINES = {
    command
    for page in pages.PAGES
    for block in pages.blocks(page)
    if block.language in pages.SHELL
    for command in block.commands()
    if command.startswith("pip install") and "venv-pack" not in command  # Spark's, not ours
}
NAMED = {
    one
    for page in pages.PAGES
    for one in re.findall(r"dptopics\[([a-z,]+)\]|whl\[([a-z,]+)\]", page.read_text("utf-8"))
}


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """An environment that has what is installed here, but for dptopics: installing it needs no network."""
    folder = tmp_path_factory.mktemp("fresh") / "environment"
    venv.create(folder, with_pip=False)
    own = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "dptopics" not in path.name and not (own / path.name).exists():
            (own / path.name).symlink_to(path)
    return folder


@pytest.mark.parametrize("line", sorted(LINES))
def test_every_line_that_installs(built, fresh, tmp_path, line):
    """As a reader types it, beside the wheel or in the unpacked archive: all that its extras need is resolved."""
    wheel, source = built
    _, _, wanted = shlex.split(line, comments=True)
    folder = wheel.parent
    if wanted.startswith(".["):
        with tarfile.open(source) as archive:
            archive.extractall(tmp_path, filter="data")
        (folder,) = tmp_path.iterdir()
    pip = [sys.executable, "-m", "pip", f"--python={fresh / 'bin' / 'python'}", "--disable-pip-version-check"]
    offline = [*pip, "install", "--no-index", "--no-build-isolation", wanted]
    ran = subprocess.run(offline, cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "does not provide the extra" not in ran.stderr
    said = subprocess.run([fresh / "bin" / "dptopics", "--help"], cwd=tmp_path, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    assert "fit" in said.stdout


MADE = {
    command.partition("#")[0].strip()
    for page in [*pages.PAGES, ROOT / "CONTRIBUTING.md"]
    for block in pages.blocks(page)
    for command in block.commands()
    if command.startswith("make ")
}


@pytest.mark.parametrize("line", sorted(MADE))
def test_every_line_of_make_has_its_target(line):
    ran = subprocess.run([*shlex.split(line), "--dry-run"], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_every_extra_that_a_page_names_exists(built):
    inside = zipfile.ZipFile(built[0])
    metadata = next(inside.read(name).decode() for name in inside.namelist() if name.endswith("/METADATA"))
    known = set(re.findall(r"^Provides-Extra: (\S+)$", metadata, re.MULTILINE))
    assert {name for pair in NAMED for part in pair for name in part.split(",") if name} <= known
    assert len(LINES) >= 3


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
