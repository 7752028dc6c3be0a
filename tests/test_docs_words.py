"""Pages and public docstrings are in plain English: they have none of the forms to avoid.

Each form is a word with a plainer one beside it, or a sentence whose subject comes late.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import symgrad as sg

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

#: What to avoid, and what to write.
FORMS = {
    r"\banew\b": "again",
    r"\bseldom\b": "rarely",
    r"\bkin\b": "the related things by name",
    r"\bbesides\b": "in addition to",
    r"\bwithout a word\b": "silently",
    r"\bby (?:it|them)sel(?:f|ves)\b": "automatically, or separately",
    r"\bmended\b": "fixed",
    r"\bcarr(?:y|ied|ies) out\b": "execute",
    r"\bwhole[ -]numbers?\b": "integer",
    r"\btruth values?\b": "boolean",
    r"\bof (?:its|their|one's|our|your) own\b": "separate, another, or the owner's name",
    # "An array of NumPy's", not "the order of NumPy's additions".
    r"\bof ours\b": "symgrad's",
    r"\bof (?:NumPy|SciPy|PyTorch|SymPy|symgrad|Numba)'s(?=[.,;:)]| (?:that|is|and)\b)": "X's",
    r"\bslopes?\b": "derivative",
    # A sentence, list item or cell whose subject is a clause. Questions are fine.
    r"(?:^[-*|# \d.]*|[.!?:;|] )What\b[^?\n|]*(?=[.\n|]|$)": "name the subject",
    r"(?:^[-*|# \d.]*|[.!?] )Of (?:\w+ ){5}": "name the subject first",
}


def prose(text: str) -> str:
    """Return a page without code, comments and the addresses of links."""
    text = re.sub(r"^ *(```+|~~~+).*?^ *\1", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"`[^`]*`", "`code`", text)
    text = re.sub(r"^\| whole numbers \|", "|", text, flags=re.MULTILINE)  # the name of an attack
    return re.sub(r"\]\([^)]*\)", "]", text)


def offences(text: str) -> list[str]:
    """Return each form that a text has, with what to write instead."""
    return [
        f"{' '.join(found[0].split())!r}: write {instead}"
        for form, instead in FORMS.items()
        for found in re.finditer(form, text, re.MULTILINE)
    ]


def name(path: Path) -> str:
    """Return a page's name in the table."""
    return path.relative_to(ROOT).as_posix().removeprefix("docs/")


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_words_of_a_page(path: Path) -> None:
    assert offences(prose(path.read_text(encoding="utf-8"))) == []


#: Public modules whose docstrings are symgrad's, not NumPy's or SciPy's.
MODULES = (
    "dask",
    "errors",
    "extend",
    "scipy.integrate",
    "scipy.ndimage",
    "scipy.signal",
    "testing",
)


def docstrings(value: object) -> str:
    """Return the docstrings of a public name, and of its methods if it is a class."""
    texts = [inspect.getdoc(value) or ""]
    if inspect.isclass(value):
        texts += [
            inspect.getdoc(member) or ""
            for key, member in vars(value).items()
            if not key.startswith("_")
        ]
    kept = "\n".join(texts)
    kept = re.sub(r"^ *\w+:$", "", kept, flags=re.MULTILINE)  # names of parameters
    kept = re.sub(r"^ *(?:>>>|\.\.\.).*$", "", kept, flags=re.MULTILINE)
    return re.sub(r"``[^`]*``", "``code``", kept)


@pytest.mark.parametrize("public", sorted(sg.__all__))
def test_words_of_a_docstring(public: str) -> None:
    if inspect.ismodule(getattr(sg, public)):
        pytest.skip("its functions have tests where they are")
    assert offences(docstrings(getattr(sg, public))) == []


@pytest.mark.parametrize("module", MODULES)
def test_words_of_the_docstrings_of_a_module(module: str) -> None:
    values = vars(import_module(f"symgrad.{module}"))
    found = {"": offences(docstrings(import_module(f"symgrad.{module}")))}
    for key, value in values.items():
        if not key.startswith("_") and getattr(value, "__module__", "").startswith("symgrad"):
            found[key] = offences(docstrings(value))
    assert {key: forms for key, forms in found.items() if forms} == {}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("What is given is used.", 1),
        ("- What it is. What is it?", 1),
        ("| a | What they are |", 1),
        ("The result is computed anew, without a word.", 2),
        ("Of three ways to do it one is right.", 1),
        ("Of course. It shows what is inside.", 0),
        ("The order of SciPy's sums, and arrays of SciPy's.", 1),
    ],
)
def test_forms(text: str, count: int) -> None:
    assert len(offences(text)) == count
