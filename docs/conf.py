"""How `make docs` makes a site of these pages. They are Markdown, and read well without it."""

import re
from collections.abc import Iterable
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).parent

project = "Rentroll"
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = ["docs/**.md", "*.md"]  # the pages here lead to those beside this folder
exclude_patterns = [".*", "data", "html*"]
myst_heading_anchors = 4
nitpicky = True
highlight_language = "text"

html_theme = "furo"
html_title = "Rentroll"
html_favicon = "../scheduling/static/rentroll/icon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#22313f", "color-brand-content": "#1f6391"},
    "dark_css_variables": {"color-brand-primary": "#dfe6ec", "color-brand-content": "#81d4fa"},
}

CHAPTER = re.compile(r"^## (.+)\n((?:(?!## ).*\n)*)", re.MULTILINE)
PAGE = re.compile(r"^- \[(.+)\]\((.+)\.md\)", re.MULTILINE)


def add_navigation(app: Sphinx, read: str, source: list[str]) -> None:
    """The lists of the front page are the navigation; to each belongs what else is in the folders it names."""
    if read != root_doc:
        return
    for chapter, text in CHAPTER.findall(source[0]):
        titles = {page: title for title, page in PAGE.findall(text)}
        listed = [f"{title} <{page}>" for page, title in titles.items()]
        others = [page for page in beside(titles) if page not in titles]
        entries = "\n".join(listed + others)
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {chapter}\n\n{entries}\n```\n"


def beside(pages: Iterable[str]) -> list[str]:
    """What lies in their folders, unless that is the one of this file."""
    folders = {page.rpartition("/")[0] for page in pages} - {"", ".."}
    found = (file for folder in sorted(folders) for file in sorted((DOCS / folder).glob("*.md")))
    return [str(file.relative_to(DOCS).with_suffix("")) for file in found]


def setup(app: Sphinx) -> None:
    app.connect("source-read", add_navigation)
