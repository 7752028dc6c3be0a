"""How the site is made of the pages and docstrings: ``sphinx-build -W docs docs/_build``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from docutils import nodes

import symgrad

sys.path.insert(0, str(Path(__file__).parent))

import reference_pages

project = "symgrad"
author = copyright = "symgrad developers"  # noqa: A001 - Sphinx's name for it
version = release = symgrad.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "reference_pages",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
root_doc = "index"
exclude_patterns = ["_build", "paper"]  # the paper is a journal's to render
templates_path = ["_templates"]

# Pages: the headings' names are those of GitHub, so that links work there and here.
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]
# Notebooks show the outputs that are kept in them; tests/test_notebooks.py executes them.
nb_execution_mode = "off"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# The reference: types stand in numpydoc's sections, where reference_pages.py writes them.
autodoc_typehints = "none"
add_module_names = False
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"  # beside a page there is room for the method's name
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autosummary_context = {
    # Modules whose functions have pages; those of the others are NumPy's and PyTorch's, in a list.
    "paged": [
        "dask",
        "errors",
        "integrate",
        "interpolate",
        "ndimage",
        "optimize",
        "signal",
        "sparse",
        "testing",
    ],
    "shown": {name: reference_pages.shown(name) for name in reference_pages.INTERNAL},
    "brief": {"Tensor": reference_pages.brief()},
    "constants": reference_pages.constants(),
}

# Every reference leads somewhere; tables of NumPy's, SciPy's and PyTorch's names have no pages.
nitpicky = True
nitpick_ignore_regex = [
    ("py:obj", r"symgrad\.(numpy|scipy\.\w+|torch|Tensor)\..*"),
    ("py:(class|func)", r"(symgrad\.)?scipy\..*|linspace|randn?|manual_seed|set_default_dtype"),
]

html_theme = "pydata_sphinx_theme"
html_title = f"symgrad {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "images/logo-mark.svg"
html_sidebars = {"index": []}  # its sections are all on the page
html_theme_options = {
    "logo": {
        "image_light": "images/logo.svg",
        "image_dark": "images/logo.svg",
        "alt_text": project,
    },
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],  # pages without sections have the room
    "footer_start": ["copyright"],
    "footer_end": [],
}
linkcheck_anchors = False


def _scipys_own(app, what, name, obj, options, lines):
    """Refer to SciPy's page where a function is SciPy's own: its references lead into its site."""
    if getattr(obj, "__module__", None) and obj.__module__.startswith("scipy."):
        page = (
            f"https://docs.scipy.org/doc/scipy/reference/generated/{name[len('symgrad.') :]}.html"
        )
        lines[1:] = ["", f"`SciPy's own <{page}>`__; in traced code a loop of the program."]


def _fit_code(app, doctree, docname):
    """Mark blocks with long lines: sentences and formulas wrap, code and tables get smaller."""
    for block in doctree.findall(
        lambda x: isinstance(x, (nodes.literal_block, nodes.doctest_block))
    ):
        text = block.astext()
        lengths = [len(line) for line in text.splitlines()]
        widest = max(lengths, default=0)
        table = re.search(r"\S {3}", text) is not None and sum(n > 80 for n in lengths) > 1
        printed = block.get("language") in ("text", "sh", "bash", "output")
        if printed and widest > 80 and not table:
            block["classes"].append("wrapped")
        elif widest > 84:
            block["classes"].append("wide")


def setup(app):
    """Connect what Sphinx calls."""
    # Before numpydoc, which takes the sections apart.
    app.connect("autodoc-process-docstring", _scipys_own, priority=400)
    app.connect("doctree-resolved", _fit_code)
