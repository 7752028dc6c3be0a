"""How the site is made of the pages and docstrings: ``sphinx-build -W docs docs/_build``."""

from __future__ import annotations

import symgrad

project = "symgrad"
author = copyright = "symgrad developers"  # noqa: A001 - Sphinx's name for it
version = release = symgrad.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
root_doc = "index"
exclude_patterns = ["_build"]
templates_path = ["_templates"]

# Pages: the headings' names are those of GitHub, so that links work there and here.
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# The reference: numpydoc's sections say what is passed, so annotations would say it twice.
autodoc_typehints = "none"
numpydoc_show_class_members = False
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autosummary_context = {
    # Modules whose functions have pages; those of the others are NumPy's and PyTorch's, in a list.
    "paged": ["errors", "integrate", "interpolate", "ndimage", "optimize", "signal", "sparse"],
}

html_theme = "pydata_sphinx_theme"
html_title = "symgrad"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "images/logo-mark.svg"
html_theme_options = {
    "logo": {
        "image_light": "images/logo.svg",
        "image_dark": "images/logo.svg",
        "alt_text": project,
    },
    "navbar_align": "left",
    "navbar_end": ["version-switcher", "theme-switcher"],
    "navigation_with_keys": False,
    "show_prev_next": False,
    "show_version_warning_banner": True,
    "switcher": {
        "json_url": "_static/versions.json",
        "version_match": "dev" if "dev" in release else release,
    },
    # Where the site is hosted decides where the list is; it is not fetched while building.
    "check_switcher": False,
}
linkcheck_anchors = False


def _scipys_own(app, what, name, obj, options, lines):
    """Refer to SciPy's page where a function is SciPy's own: its references lead into its site."""
    if getattr(obj, "__module__", None) and obj.__module__.startswith("scipy."):
        page = (
            f"https://docs.scipy.org/doc/scipy/reference/generated/{name[len('symgrad.') :]}.html"
        )
        lines[1:] = ["", f"`SciPy's own <{page}>`__; in traced code a loop of the program."]


def setup(app):
    """Connect what Sphinx calls."""
    # Before numpydoc, which takes the sections apart.
    app.connect("autodoc-process-docstring", _scipys_own, priority=400)
