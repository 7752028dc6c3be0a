"""Public docstrings have numpydoc's sections: parameters with types, results, errors, an example.

Functions that stand in for SciPy's have SciPy's parameters, and the reference refers to its page
for them: their own docstrings say what is different, with an example.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

import pytest

import symgrad as sg
from tests.shared import script

pages = script("reference_pages")

#: Modules whose functions are symgrad's, and those whose functions stand in for SciPy's, as far as
#: they have pages: lists show the others, which are as SciPy's without exception.
OWN = ("dask", "extend", "testing")
STANDING_IN = (
    "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse",
    "sparse.linalg", "stats",
)  # fmt: skip

#: Functions that refuse nothing.
RAISE_NOTHING = {
    "get_kept_memory", "get_num_threads", "stop_gradient",
    "extend.as_sympy", "extend.is_traced", "extend.topological",
}  # fmt: skip


def own() -> Iterator[tuple[str, Any]]:
    """Yield symgrad's public functions and classes; errors have no sections."""
    for name in sg.__all__:
        yield name, getattr(sg, name)
    for module in OWN:
        names = pytest.importorskip(f"symgrad.{module}")
        for name in names.__all__:
            if callable(value := getattr(names, name)):
                yield f"{module}.{name}", value


def standing_in() -> Iterator[tuple[str, Any, Any]]:
    """Yield what stands in for functions and classes of SciPy's, and those, or None."""
    for module in STANDING_IN:
        names, original = import_module(f"symgrad.scipy.{module}"), import_module(f"scipy.{module}")
        for name in names.__all__:
            value = getattr(names, name)
            there = inspect.getmodule(inspect.unwrap(value)) if callable(value) else None
            if there is not None and there.__name__.startswith("symgrad."):
                yield f"{module}.{name}", value, getattr(original, name, None)


class Entry(NamedTuple):
    """A parameter, a result or an error: name or type, and words."""

    head: str
    words: str


def sections(value: Any) -> dict[str, list[Entry]]:
    """Return the sections of a docstring, with the types that the reference adds."""
    lines = (inspect.getdoc(value) or "").splitlines()
    pages.add_types(None, "function", "", value, None, lines)
    found: dict[str, list[Entry]] = {}
    titles = [k for k, line in enumerate(lines[1:]) if re.fullmatch("-{3,}", line)]
    for k, end in pairwise([*titles, len(lines)]):
        text = "\n".join(lines[k + 2 : end])
        parts = re.split(r"^(?=\S)", text, flags=re.MULTILINE)
        found[lines[k]] = [Entry(*x.strip().partition("\n")[::2]) for x in parts if x.strip()]
    return found


def parameters(value: Any) -> list[str]:
    """Return the names of the parameters that a caller gives."""
    try:
        found = inspect.signature(value).parameters
    except (TypeError, ValueError):
        return []
    return [name for name in found if not name.startswith("_")]


def documented(found: dict[str, list[Entry]]) -> dict[str, tuple[str, str]]:
    """Return type and description of each parameter that a docstring has."""
    known = {}
    for entry in found.get("Parameters", []):
        names, _, kind = entry.head.partition(":")
        for name in names.split(","):
            known[name.strip(" *")] = kind.strip(), entry.words
    return known


def has_example(value: Any) -> bool:
    return ">>>" in (inspect.getdoc(value) or "")


def lacking(name: str, value: Any) -> list[str]:
    """Return the parts that the docstring of a function of symgrad's lacks."""
    found, missing = sections(value), []
    known = documented(found)
    for parameter in parameters(value):
        kind, words = known.get(parameter, ("", ""))
        if not words:
            missing.append(f"parameter {parameter}")
        elif not kind:
            missing.append(f"type of {parameter}")
    results = [*found.get("Returns", []), *found.get("Yields", [])]
    returned = inspect.signature(value).return_annotation
    if returned not in ("None", "NoReturn", None) and not results:
        missing.append("Returns")
    if not all(entry.words for entry in results):
        missing.append("Returns: type and description")
    if "Raises" not in found and name not in RAISE_NOTHING:
        missing.append("Raises")
    if not has_example(value):
        missing.append("Examples")
    return missing


FUNCTIONS = [(name, value) for name, value in own() if not inspect.isclass(value)]
CLASSES = [(name, value) for name, value in own() if inspect.isclass(value)]
ORIGINALS = list(standing_in())


@pytest.mark.quick
@pytest.mark.parametrize(("name", "value"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_functions_have_all_sections(name: str, value: Any) -> None:
    assert lacking(name, value) == []


@pytest.mark.quick
@pytest.mark.parametrize(("name", "value"), CLASSES, ids=[name for name, _ in CLASSES])
def test_classes_say_what_they_are(name: str, value: Any) -> None:
    """With an example; records of ``extend`` have theirs in ``define``, which takes them."""
    assert (inspect.getdoc(value) or "").strip()
    assert has_example(value) or name.startswith("extend.")


@pytest.mark.quick
@pytest.mark.parametrize("case", ORIGINALS, ids=[name for name, *_ in ORIGINALS])
def test_stand_ins_have_an_example_and_say_what_is_added(case: tuple[str, Any, Any]) -> None:
    _, value, original = case
    assert has_example(value)
    if original is None or not inspect.isfunction(value):  # distributions, classes
        return
    # SciPy's own wrappers take anything, and keep the parameters in what they wrap.
    known = {*parameters(original), *parameters(inspect.unwrap(original))}
    if known <= {"args", "kwargs"}:
        return
    # ``**options`` are those of SciPy's that a function passes on as they are.
    known.add("options")
    told = documented(sections(value))
    assert [x for x in parameters(value) if x not in known and not told.get(x, ("", ""))[1]] == []
