"""The documentation builds as a site, without a warning and without a network, and nothing is missing in it."""

import os
import re
import subprocess
import sys
import zlib

import pytest
from markdown_pages import PAGES, ROOT, name

import dptopics

DOCS = ROOT / "docs"


def test_the_site_builds_and_is_whole(tmp_path):
    """What ``make docs`` builds. One test, since building takes a while."""
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "--builder", "html"]
    paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*command, str(DOCS), str(tmp_path)], capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": paths},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    every_page_can_be_reached_from_the_first_one(tmp_path)
    the_site_loads_nothing_from_elsewhere(tmp_path)
    the_reference_has_every_public_name_with_its_docstring(tmp_path)
    docstrings_are_read_as_they_were_meant(tmp_path)
    every_command_is_described(tmp_path)


def html(site, page):
    return (site / page).with_suffix(".html").read_text("utf-8")


def every_page_can_be_reached_from_the_first_one(site):
    first = html(site, "index")
    for page in PAGES[1:]:
        place = page.relative_to(DOCS).with_suffix("")
        assert (site / place).with_suffix(".html").is_file(), name(page)
        assert place.name == "index" or f'href="{place.as_posix()}.html"' in first, f"{name(page)} is in no menu"


def the_site_loads_nothing_from_elsewhere(site):
    for page in site.rglob("*.html"):
        loaded = re.findall(r"<(?:script|link|img|iframe)[^>]*?(?:src|href)=[\"']([^\"']+)", page.read_text("utf-8"))
        assert loaded
        assert not [address for address in loaded if "//" in address], page


def the_reference_has_every_public_name_with_its_docstring(site):
    inventory = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    objects = {line.split(" ")[0] for line in zlib.decompress(inventory).decode().splitlines()}
    assert {f"dptopics.{public}" for public in dptopics.__all__} <= objects
    for public in dptopics.__all__:
        assert getattr(dptopics, public).__doc__


def docstrings_are_read_as_they_were_meant(site):
    page = html(site, "reference/api")
    assert "system-message" not in page
    # A sentence with a colon that was taken for a type.
    assert not re.findall(r"<dt[^>]*>Type<span", page)


def every_command_is_described(site):
    page = html(site, "reference/commands")
    for command in ("fit", "vocabulary", "audit claim", "officer sign", "ledger create", "local randomize", "report"):
        assert f">dptopics {command}<a" in page
    assert "--accept-unproven" in page
    assert "Privacy loss of this release." in page


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_work_on_a_plain_file_tree_too(page):
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if "//" not in target:
            assert (page.parent / target).exists(), f"{name(page)} links to {target}"
