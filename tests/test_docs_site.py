"""The site: every public name is in the reference, every page in the navigation; it builds."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import zlib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import symgrad as sg
from tests.shared import script

DOCS = Path(__file__).resolve().parents[1] / "docs"


#: The site's extension that says what the reference shows.
pages = script("reference_pages")


def entries(page: Path, directive: str) -> list[str]:
    """Return what is listed under a directive on a page."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(rf"{directive}.*?\n(.*?)```", text, re.DOTALL)
    lines = (line.strip() for block in blocks for line in block.splitlines())
    return [line for line in lines if line and not line.startswith(":")]


def test_the_reference_lists_every_public_name_once() -> None:
    listed = entries(DOCS / "reference" / "index.md", r"\.\. autosummary::")
    results = set(pages.RESULTS)
    names = [name for name in listed if name in {*sg.__all__, *results}]
    assert sorted(names) == sorted([*sg.__all__, *results])
    modules = {name.partition(".")[0] for name in listed} - {*names}
    assert modules == set(dir(sg)) & modules


@pytest.mark.parametrize("name", sorted(pages.INTERNAL))
def test_members_of_classes_have_entries(name: str) -> None:
    """Each public member has a docstring and an entry, or is listed as internal."""
    kind = getattr(sg, name, None) or getattr(import_module(pages.RESULTS[name]), name)
    shown = {member for _, member in pages.shown(name)}
    assert [m for m in shown if not (inspect.getdoc(getattr(kind, m)) or "").strip()] == []
    assert [m for m in pages.INTERNAL[name].split() if not hasattr(kind, m)] == []


@pytest.mark.parametrize("name", ["Function", "SparseFunction"])
def test_methods_of_compiled_functions_are_on_pages(name: str) -> None:
    """A method that no page has is internal."""
    words = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    assert [m for _, m in pages.shown(name) if not re.search(rf"\w\.{m}\b", words)] == []


def test_results_of_public_functions_have_pages() -> None:
    """What a public function is annotated to return is a public class, or one of RESULTS."""
    known = {*sg.__all__, *pages.RESULTS}
    missing = set()
    for name in sg.__all__:
        value = getattr(sg, name)
        if inspect.isfunction(value):
            returned = str(inspect.signature(value).return_annotation)
            missing |= set(re.findall(r"\b[A-Z]\w+", returned)) - known
    builtin = {"AbstractContextManager", "Any", "Callable", "Expr", "None", "Path", "R", "T"}
    assert missing - builtin == set()


def test_types_of_parameters_are_those_of_the_annotations() -> None:
    lines = inspect.getdoc(sg.grad).splitlines()
    pages.add_types(None, "function", "symgrad.grad", sg.grad, None, lines)
    assert {"f : callable", "argnums : int or tuple of int or None", "has_aux : bool"} <= {*lines}


def test_every_page_is_in_the_navigation() -> None:
    seen: set[Path] = set()
    waiting = [(DOCS / "index.md").resolve()]
    while waiting:
        page = waiting.pop()
        if page in seen:
            continue
        seen.add(page)
        for name in entries(page, r"\{toctree\}"):
            for kind in ("md", "ipynb"):
                waiting += [found.resolve() for found in page.parent.glob(f"{name}.{kind}")]
    pages = {*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")} - {*(DOCS / "paper").iterdir()}
    assert {p.relative_to(DOCS) for p in pages} == {p.relative_to(DOCS) for p in seen}


@pytest.mark.slow
def test_it_builds_without_a_warning(tmp_path: Path) -> None:
    for module in ("sphinx", "myst_nb", "numpydoc", "pydata_sphinx_theme", "sphinx_copybutton"):
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install -e '.[docs]'")
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", str(tmp_path / "trees"),
         str(DOCS), str(tmp_path / "site")],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr[-4000:]
    inventory = (tmp_path / "site" / "objects.inv").read_bytes().split(b"\n", 4)[4]
    indexed = {line.split()[0] for line in zlib.decompress(inventory).decode().splitlines()}
    names = {f"symgrad.{name}" for name in (*sg.__all__, *pages.RESULTS)}
    members = {f"symgrad.{name}.{m}" for name in pages.INTERNAL for _, m in pages.shown(name)}
    brief = {f"symgrad.Tensor.{name}" for name in pages.brief()}  # rows of a table
    assert (names | members) - brief - indexed == set()
    listed = (tmp_path / "site" / "reference" / "generated" / "symgrad.Tensor.html").read_text()
    assert [name for name in pages.brief() if f">{name}<" not in listed] == []
    hidden = {f"symgrad.{n}.{m}" for n, ms in pages.INTERNAL.items() for m in ms.split()}
    assert hidden & indexed == set()
