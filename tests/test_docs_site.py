"""The site: every public name is in the reference, every page in the navigation; it builds."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import symgrad as sg

DOCS = Path(__file__).resolve().parents[1] / "docs"


def entries(page: Path, directive: str) -> list[str]:
    """Return what is listed under a directive on a page."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(rf"{directive}.*?\n(.*?)```", text, re.DOTALL)
    lines = (line.strip() for block in blocks for line in block.splitlines())
    return [line for line in lines if line and not line.startswith(":")]


def test_the_reference_lists_every_public_name_once() -> None:
    listed = entries(DOCS / "reference" / "index.md", r"\.\. autosummary::")
    names = [name for name in listed if name in sg.__all__]
    assert sorted(names) == sorted(sg.__all__)
    modules = {name.partition(".")[0] for name in listed if name not in sg.__all__}
    assert modules == set(dir(sg)) & modules


def test_every_page_is_in_the_navigation() -> None:
    seen: set[Path] = set()
    waiting = [(DOCS / "index.md").resolve()]
    while waiting:
        page = waiting.pop()
        if page in seen:
            continue
        seen.add(page)
        for name in entries(page, r"\{toctree\}"):
            waiting += [found.resolve() for found in page.parent.glob(f"{name}.md")]
    assert {p.relative_to(DOCS) for p in DOCS.rglob("*.md")} == {p.relative_to(DOCS) for p in seen}


@pytest.mark.slow
def test_it_builds_without_a_warning(tmp_path: Path) -> None:
    for module in ("sphinx", "myst_parser", "numpydoc", "pydata_sphinx_theme", "sphinx_copybutton"):
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install -e '.[docs]'")
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", str(tmp_path / "trees"),
         str(DOCS), str(tmp_path / "site")],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr[-4000:]
    assert "symgrad.grad" in (tmp_path / "site/reference/generated/symgrad.grad.html").read_text()
