"""What the reference shows: the members of classes, constants of modules, types of parameters.

A Sphinx extension of the site's own. Results of public functions have classes that are in no public
module, since nobody makes them; their pages stand under ``symgrad``.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np

import symgrad

#: Classes of results, which are returned and not made, and the modules that they are in.
RESULTS = {
    "SparseFunction": "symgrad._api._sparse_functions",
    "Report": "symgrad._verify._report",
    "Certificate": "symgrad._verify._certificate",
    "Formula": "symgrad._symbolic._formula",
    "Explanation": "symgrad._show._explanation",
    "Drawing": "symgrad._show._draw",
    "Paths": "symgrad._tensor._paths",
    "Levels": "symgrad._tensor._engine",
    "Op": "symgrad._core.op._kinds",
    "TorchFunction": "symgrad._bridges._torch",
    "JaxFunction": "symgrad._bridges._jax",
    "PyTensorFunction": "symgrad._bridges._pytensor",
}

#: The members of each class that are not for users, inherited ones included.
INTERNAL = {
    "Function": (
        "assigns forgetful laid_aside outermost share state straight taken_up traced_outputs"
    ),
    "SparseFunction": (
        "assigns batched forgetful joined laid_aside lasting outermost share state straight "
        "taken_up traced_outputs"
    ),
    "Report": "notes table",
    "Certificate": "program seed table",
    "Formula": "gave_up notes remarks rows",
    "Explanation": "",
    "Drawing": "",
    "Paths": "",
    "Levels": "count index",
    "Op": (
        "LATE alias aside given linear means merge over parts products reference rule support "
        "sympy taken types"
    ),
    "Program": (
        "admit admits bind_sizes conditions constants fingerprint holds leaves line_text lines "
        "names nested_steps numbers of schedule sizes test"
    ),
    "NLP": "",
    "TorchFunction": "",
    "JaxFunction": "",
    "PyTensorFunction": "",
    "Tensor": "accumulate check_record edge memory name",
}


def shown(name: str) -> list[tuple[str, str]]:
    """Return the members of a class that have entries: the directive and the name of each."""
    kind = getattr(symgrad, name, None) or getattr(import_module(RESULTS[name]), name)
    hidden = INTERNAL[name].split()
    found = []
    for member, value in inspect.getmembers_static(kind):
        if member.startswith("_") or member in hidden:
            continue
        called = isinstance(value, (classmethod, staticmethod, FunctionType))
        found.append(("method" if called else "attribute", member))
    return found


def brief() -> list[str]:
    """Return the methods of tensors that are functions of NumPy or PyTorch: one line says all."""
    functions = {*dir(import_module("symgrad.torch")), *dir(np), *dir(np.ndarray)}
    names = [name for kind, name in shown("Tensor") if kind == "method"]
    return [name for name in names if name in functions or name.rstrip("_") in functions]


def constants() -> dict[str, list[str]]:
    """Return the names of float and None in modules: their docstrings are those of the types."""
    modules = [import_module(f"symgrad.{name}") for name in ("numpy", "torch")]
    return {
        m.__name__: [x for x in dir(m) if isinstance(getattr(m, x, ""), (float, type(None)))]
        for m in modules
    }


# ---------------------------------------------------------------- types of parameters

#: Names of types inside of symgrad, as users know them.
SPELLED = {
    "Callable[..., Any]": "callable", "Keys": "int or tuple of int", "Names": "str or tuple of str",
    "Any": "any", "ArrayLike": "array_like", "np.ndarray": "ndarray", "NDArray[Any]": "ndarray",
    "np.random.Generator": "numpy.random.Generator", "PathLike[str]": "path", "str | Path": "path",
}  # fmt: skip


def spelled(annotation: Any) -> str:
    """Return an annotation as a docstring would say it; nothing for one that says nothing."""
    if annotation is inspect.Parameter.empty:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"\bCallable\[(?:[^][]|\[[^][]*\])*\]", "callable", text)
    for name, words in SPELLED.items():
        text = re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w\[])", words, text)
    text = text.replace(" | ", " or ")
    return "" if text in ("any", "P.args", "P.kwargs", "T", "R") else text


def add_types(
    app: object, what: str, name: str, obj: Any, options: object, lines: list[str]
) -> None:
    """Write the annotations of parameters behind their names, where the docstring has no types."""
    try:
        parameters = inspect.signature(obj).parameters
    except (TypeError, ValueError):
        return
    inside = False
    for k, line in enumerate(lines):
        if k + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[k + 1]):
            inside = line.strip() == "Parameters"
        names = re.fullmatch(r"([*\w]+(?:, [*\w]+)*):", line)
        if inside and names:
            types = {
                spelled(parameters[x].annotation)
                for x in re.findall(r"\w+", names[1])
                if x in parameters
            }
            text = types.pop() if len(types) == 1 else ""
            lines[k] = f"{names[1]} : {text}" if text else names[1]


def titled(lines: list[str]) -> list[int]:
    """Return where the sections of a docstring begin."""
    return [k for k, line in enumerate(lines[1:]) if re.fullmatch(r"-{3,}", line)]


def add_scipys_page(
    app: object, what: str, name: str, obj: Any, options: object, lines: list[str]
) -> None:
    """Refer to SciPy's page for parameters and results, where the docstring has none."""
    original = name.removeprefix("symgrad.")
    module, _, last = original.rpartition(".")
    if not name.startswith("symgrad.scipy.") or what not in ("function", "class"):
        return
    starts = titled(lines)
    if any(lines[k] == "Parameters" for k in starts) or not hasattr(import_module(module), last):
        return
    page = f"https://docs.scipy.org/doc/scipy/reference/generated/{original}.html"
    at = starts[0] if starts else len(lines)
    lines[at:at] = ["", f"Parameters and results are those of `{original} <{page}>`__.", ""]


def setup(app: Any) -> None:
    """Give the classes their public names, and connect what reads docstrings."""
    for name, module in RESULTS.items():
        kind = getattr(import_module(module), name)
        setattr(symgrad, name, kind)
    # Before numpydoc, which takes the sections apart.
    app.connect("autodoc-process-docstring", add_types, priority=300)
    app.connect("autodoc-process-docstring", add_scipys_page, priority=310)
