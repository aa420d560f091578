"""Take the picture of a page that README and documentation show: docs/images/page.png.

python benchmarks/screenshots.py    (needs Chromium)
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

from dptopics import PrivateTopics
from dptopics.public.demo import demo_corpus
from dptopics.release import report
from dptopics.release.labels import label

IMAGE = Path(__file__).parents[1] / "docs" / "images" / "page.png"
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
QUIET += ("--disable-component-update", "--disable-sync", "--hide-scrollbars")


def main() -> None:
    demo = demo_corpus()
    fitted = PrivateTopics(n_topics=10, epsilon=1.0, delta=1e-6).fit(demo.texts, authors=demo.authors)
    browser = shutil.which("chromium") or shutil.which("google-chrome") or "chromium"
    with tempfile.TemporaryDirectory() as folder:
        page = report.write(fitted.release_, Path(folder) / "page.html", labels=label(fitted.release_).to_dict())
        shot = [f"--user-data-dir={folder}/profile", "--window-size=1180,1330", f"--screenshot={IMAGE}"]
        subprocess.run([browser, *QUIET, *shot, page.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    main()
