"""Take the picture of a page that README and documentation show: docs/images/page.png.

Beside it lies a hash of the page's code; a test fails when the code is newer than the picture.

python benchmarks/screenshots.py    (needs Chromium)
"""

import shutil
import subprocess
import tempfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from dptopics import PrivateTopics
from dptopics.public.demo import demo_corpus
from dptopics.release import report

ROOT = Path(__file__).parents[1]
IMAGE = ROOT / "docs" / "images" / "page.png"
TAKEN_OF = IMAGE.with_suffix(".sha256")
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars")
QUIET += ("--disable-background-networking", "--disable-component-update", "--disable-sync")
TITLE = "What patients wrote to their clinic"
ABOUT = "20,235 invented messages of a patient portal, the demo of dptopics"


def page_code() -> str:
    """A hash of all that decides how a page looks."""
    files = sorted(path for path in (ROOT / "src/dptopics/release/report").iterdir() if path.is_file())
    return sha256(b"\n".join(path.read_bytes() for path in files)).hexdigest()


def main() -> None:
    demo = demo_corpus()
    made = PrivateTopics(n_topics=12, epsilon=1.0, delta=1e-6).fit(demo.texts, authors=demo.authors).release_
    titled = replace(made, record=replace(made.record, title=TITLE, description=ABOUT))
    browser = shutil.which("chromium") or shutil.which("google-chrome") or "chromium"
    with tempfile.TemporaryDirectory() as folder:
        page = report.write(titled, Path(folder) / "page.html")
        shot = [f"--user-data-dir={folder}/profile", "--window-size=1180,1560", f"--screenshot={IMAGE}"]
        subprocess.run([browser, *QUIET, *shot, page.as_uri()], check=True, capture_output=True)
    TAKEN_OF.write_text(f"{page_code()}\n")


if __name__ == "__main__":
    main()
