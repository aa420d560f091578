"""Settings of the documentation site: ``make docs`` builds it, with warnings as errors and without a network.

The pages are plain Markdown that reads on GitHub too. What only the site needs is here: the hidden list of pages that
each folder's README gets, so that a new page in a folder appears by itself.
"""

from pathlib import Path

import dptopics

project = "dptopics"
author = "the dptopics authors"
release = version = dptopics.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
root_doc = "index"
html_theme = "furo"
html_title = f"dptopics {release}"
html_show_copyright = False
html_show_sphinx = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False

myst_heading_anchors = 4  # links such as page.md#a-heading, as GitHub makes them

autodoc_class_signature = "separated"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
nitpicky = False

# Files beside the documentation that its pages link to, and the pages of the site that show them.
BESIDE = {"../SECURITY.md": "project/security.md", "../CHANGELOG.md": "project/changelog.md"}


def add_pages(app, docname, source):  # noqa: D103
    path = Path(app.srcdir, docname)
    if path.name == "README":
        source[0] += "\n\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"
    up = "../" * docname.count("/")
    for file, page in BESIDE.items():
        source[0] = source[0].replace(f"]({up}{file})", f"]({up}{page})")


def setup(app):  # noqa: D103
    app.connect("source-read", add_pages)
