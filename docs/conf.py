"""Settings of the documentation site: ``make docs`` builds it, with warnings as errors and without a network.

The pages are plain Markdown that reads on GitHub too. What only the site needs is added here while it is built: the
list of pages that each folder's README gets, so that a new page in a folder appears by itself; the options of the
commands; and the files beside this folder that pages link to.
"""

import re
from pathlib import Path

import typer

import dptopics
from dptopics.cli import app as command_line

project = "dptopics"
author = "the dptopics authors"
release = version = dptopics.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
html_theme = "furo"
html_title = f"dptopics {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
pygments_style = "friendly"

myst_heading_anchors = 4  # links such as page.md#a-heading, as GitHub makes them

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
napoleon_use_rtype = False

ROOT = Path(__file__).parents[1]
SHOWN = {
    "project/changelog": "CHANGELOG.md",
    "project/contributing": "CONTRIBUTING.md",
    "project/security": "SECURITY.md",
}  # page: the file that it shows
ARRAY = re.compile(r"~numpy\.ndarray\[tuple\[~typing\.Any, \.\.\.\], ~numpy\.dtype\[~numpy\.(\w+)\]\]")
PARAMETER = re.compile(r"^(\w[\w, ]*) : ")
PAGES = "\n\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"


def complete(app, docname, source):
    """Add to a page what only the site has."""
    text = source[0]
    up = "../" * docname.count("/")
    if docname in SHOWN:
        text = (ROOT / SHOWN[docname]).read_text("utf-8").replace("](docs/", "](../")
        for page, file in SHOWN.items():
            text = text.replace(f"]({file})", f"]({Path(page).name}.md)")
    for page, file in SHOWN.items():
        text = text.replace(f"]({up}../{file})", f"]({up}{page}.md)")
    # The README is the front page of the repository; the site has its own.
    text = text.replace(f"]({up}../README.md#", f"]({up}index.md#").replace(f"]({up}../README.md)", f"]({up}index.md)")
    if docname == "reference/commands":
        text += "".join(described(typer.main.get_command(command_line), "dptopics"))
    if Path(docname).name == "README":
        text += PAGES
    source[0] = text


def described(command, name):
    """A command's sentence, arguments and options; those of the commands below it, if it is a group."""
    if hasattr(command, "commands"):
        for word, below in sorted(command.commands.items()):
            yield from described(below, f"{name} {word}")
        return
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
    labels = {p: p.metavar or p.name.upper() for p in arguments} | {p: p.opts[-1] for p in options}
    yield f"\n\n## {name}\n\n{command.help}\n\n`{' '.join([name, *(labels[p] for p in arguments), '[OPTIONS]'])}`\n\n"
    yield "| option | meaning |\n|---|---|\n"
    for given, label in labels.items():
        yield f"| `{label}` | {meaning(given)} |\n"


def meaning(option):
    """What it is for, and its default."""
    shown = option.show_default if isinstance(option.show_default, str) else option.default
    default = "" if shown in (None, False, ()) or callable(shown) else f" Default: {shown}."
    needed = " Required." if option.required else ""
    return ((option.help or "") + default + needed).replace("|", "\\|")


def shorter(app, what, name, thing, options, signature, returned):
    """Arrays by the name that the source gives them; defaults that are made anew as an ellipsis."""
    texts = (text and text.replace("<factory>", "...") for text in (signature, returned))
    return tuple(text and ARRAY.sub(r"NDArray[\1]", text) for text in texts)


def listed(app, what, name, thing, options, lines):
    """Parameters written as scikit-learn does, without types: ``name, other : meaning``."""
    if "Parameters" not in lines:
        return
    start = lines.index("Parameters")
    lines[start : start + 2] = ["**Parameters**", ""]
    for place in range(start + 2, len(lines)):
        if not lines[place]:
            return
        lines[place] = PARAMETER.sub(r"- **\1**: ", lines[place]).replace("    ", "  ", 1)


def setup(app):
    """Sphinx calls this."""
    app.connect("autodoc-process-docstring", listed, priority=400)  # before napoleon reads it
    app.connect("source-read", complete)
    app.connect("autodoc-process-signature", shorter)
