"""How `make docs` makes a site of these pages. They are Markdown, and read well without it."""

import re

from sphinx.application import Sphinx

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
    """The lists of the front page are the navigation; a page that is in none of them fails."""
    if read != root_doc:
        return
    for chapter, text in CHAPTER.findall(source[0]):
        entries = "\n".join(f"{title} <{page}>" for title, page in PAGE.findall(text))
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {chapter}\n\n{entries}\n```\n"


def setup(app: Sphinx) -> None:
    app.connect("source-read", add_navigation)
