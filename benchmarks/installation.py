"""Install the built wheel into an empty environment, use it, and say how many packages and megabytes that takes.

python benchmarks/installation.py [--out FILE]     (a few minutes; installs from the package index)
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "installation.json"
EXTRAS = ("", "embeddings")
TABLE = "note,patient\n" + "".join(f"my knee hurts when I run,p{i}\nnew glasses for reading,q{i}\n" for i in range(400))


def run(*command, **options):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, **options).stdout


def installed(python, wheel, extra):
    """Packages, megabytes and seconds of an installation."""
    began = time.perf_counter()
    run(python, "-m", "pip", "install", "--quiet", f"{wheel}[{extra}]" if extra else wheel)
    seconds = time.perf_counter() - began
    packages = json.loads(run(python, "-m", "pip", "list", "--format", "json"))
    folder = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").strip())
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    ours = [one for one in packages if one["name"] not in ("pip", "setuptools", "wheel")]
    return {"packages": len(ours), "megabytes": round(size / 1e6), "seconds": round(seconds, 1)}


def used(python, folder):
    """Seconds of two releases (nothing is compiled for the second); and what is said of a part that is missing."""
    command = python.parent / "dptopics"
    (folder / "notes.csv").write_text(TABLE)
    options = ["--text=note", "--author=patient", "--topics=2", "--epsilon=2", "--delta=1e-6", "--mechanism=mixture"]
    seconds = []
    for out in ("first", "second"):
        began = time.perf_counter()
        run(command, "fit", "notes.csv", *options, "--out", out, cwd=folder)
        seconds.append(round(time.perf_counter() - began, 1))
    run(command, "officer", "verify", "first", cwd=folder)
    missing = subprocess.run([command, "officer", "sign", "--new-key", "k"], cwd=folder, capture_output=True, text=True)
    assert missing.returncode == 2, missing.stderr
    assert "dptopics[officers]" in missing.stderr, missing.stderr
    return dict(zip(("first_release_seconds", "second_release_seconds"), seconds, strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULT)
    out = parser.parse_args().out
    found = {"python": platform.python_version(), "environments": {}}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", folder / "dist", ROOT)
        (wheel,) = (folder / "dist").glob("*.whl")
        found["wheel_kilobytes"] = round(wheel.stat().st_size / 1000)
        run(sys.executable, "-m", "venv", folder / "empty")
        python = folder / "empty" / "bin" / "python"
        for extra in EXTRAS:
            found["environments"][extra or "plain"] = installed(python, wheel, extra)
            if not extra:
                found["environments"]["plain"] |= used(python, folder)
    out.write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
