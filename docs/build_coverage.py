"""Write docs/coverage.md, what becomes of every function of NumPy and SciPy.

NumPy's are from the registry, SciPy's from the namespaces and the table of reasons. Run
``python docs/build_coverage.py`` after a change; tests/test_coverage.py compares, and walks the
namespaces for functions that are missing.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import scipy

import symgrad.special  # noqa: F401  # its records
from symgrad._core.op import Composite, Map, Op, registry
from symgrad._core.ops.np_common import DECLARED
from symgrad._core.ops.np_refused import REFUSED
from symgrad.scipy._coverage import FATES, fate

PAGE = Path(__file__).with_name("coverage.md")

INTRO = """\
# NumPy's and SciPy's functions

<!-- Made by docs/build_coverage.py from the registry; do not edit. -->

Every function of `numpy`, `numpy.linalg`, `numpy.fft` and of SciPy's modules, and what becomes of it when it is called on traced values. `symgrad.numpy` and `symgrad.scipy` offer all of them, and arrays that can be assigned to; a function that was written for them is [traced with them](code-as-it-stands.md).

- **differentiable**: values and derivatives, to any order; [the op table](ops.md) has the rules.
- **without a derivative**: computed in the program, but piecewise constant, whole or boolean.
- **writes**: assigns to its argument, an array made by `symgrad.numpy` or a copy of a traced one.
- **passed**: takes no arrays that could be traced, and is NumPy's own.
- **refused**: an error that says why.

Click the counts of a module to see its names; the browser's search within the page opens those where it finds something.
"""  # noqa: E501

_MADE = "makes an array from numbers and sizes; of traced values with symgrad.numpy"
_WINDOW = "makes an array of constants; its length is that of the example"
_TYPES = "is about element types"
_TEXT = "makes text of numbers"
_FILE = "reads numbers from elsewhere"
_DATES = "is about dates"
_SETTING = "is about settings of NumPy"
_INDEX = "makes index arrays from sizes"

#: Names of NumPy functions that take no arrays to trace, and what they do: they are as they are.
PASSED: dict[str, str] = {
    **dict.fromkeys(
        ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "zeros", "ones",
         "empty", "full", "eye", "identity", "tri", "arange", "linspace", "logspace",
         "fromfunction", "fromiter", "require"), _MADE,
    ),
    **dict.fromkeys(("bartlett", "blackman", "hamming", "hanning", "kaiser", "fft.fftfreq",
                     "fft.rfftfreq"), _WINDOW),
    **dict.fromkeys(
        ("promote_types", "isdtype", "issubdtype", "mintypecode", "typename"), _TYPES,
    ),
    **dict.fromkeys(("base_repr", "binary_repr", "format_float_positional",
                     "format_float_scientific"), _TEXT),
    **dict.fromkeys(("from_dlpack", "frombuffer", "fromfile", "fromregex",
                     "fromstring", "genfromtxt", "load", "loadtxt"), _FILE),
    **dict.fromkeys(("busday_count", "busday_offset", "datetime_as_string", "datetime_data",
                     "is_busday"), _DATES),
    **dict.fromkeys(
        ("get_include", "get_printoptions", "getbufsize", "geterr", "geterrcall", "info",
         "printoptions", "set_printoptions", "setbufsize", "seterr", "seterrcall", "show_config",
         "show_runtime", "test"), _SETTING,
    ),
    **dict.fromkeys(("indices", "diag_indices", "mask_indices", "tril_indices", "triu_indices"),
                    _INDEX),
    "broadcast_shapes": "is about shapes",
    "einsum_path": "is about shapes",
    "isfortran": "is about memory",
    "iterable": "is about Python objects",
    "nested_iters": "is about plain arrays",
    "frompyfunc": "makes a function of Python objects; symgrad.define makes one that is traced",
}  # fmt: skip

SPACES = {"np": "numpy", "np.linalg": "numpy.linalg", "np.fft": "numpy.fft"}


def named(function: Any) -> str | None:
    """Return a NumPy function as it is written, None for what is not NumPy's."""
    name = getattr(function, "__name__", "")  # none: classes of SciPy 1.16's own
    for prefix, module in (("np.linalg", np.linalg), ("np.fft", np.fft), ("np", np)):
        if getattr(module, name, None) is function:
            return f"{prefix}.{name}"
    return None


def names(record: Op | Composite) -> Iterator[str]:
    """Yield NumPy's names for a record, whatever version is installed."""
    answered = record.functions if isinstance(record, Map | Composite) else ()
    found = [n for n in map(named, answered) if n is not None]
    first = found[0] if found else f"np.{record.name}"
    yield from dict.fromkeys((*DECLARED.get(first, ()), *found))


def fates() -> dict[str, tuple[str, str]]:
    """Return for each name what becomes of the function, and why."""
    found: dict[str, tuple[str, str]] = {}
    for record in (*registry.ops.values(), *registry.composites.values()):
        for name in names(record):
            if isinstance(record, Composite) and record.convention == "writes into its argument":
                fate = "writes"
            elif not record.differentiable:
                fate = "without a derivative"
            else:
                fate = "differentiable"
            found[name] = (fate, "")
    for name, why in REFUSED.items():
        found[f"np.{name}"] = ("refused", why)
    for name, why in PASSED.items():
        found[f"np.{name}"] = ("passed", why)
    return found


def scipy_names(module: str) -> list[str]:
    """Return SciPy's public functions, classes and distributions, and what is symgrad's alone."""
    original = importlib.import_module(f"scipy.{module}")
    found = {name: getattr(original, name, None) for name in original.__all__}
    return sorted(
        name for name, value in found.items()
        if callable(value) and not isinstance(value, ModuleType)
        and not (isinstance(value, type) and issubclass(value, Exception))
    )  # fmt: skip


def scipy_fates(module: str) -> dict[str, tuple[str, str]]:
    """Return for each name of one of SciPy's modules what becomes of it, and why."""
    ours = set(importlib.import_module(f"symgrad.scipy.{module}").__all__)
    original = importlib.import_module(f"scipy.{module}")
    ours |= {n for n in scipy_names(module) if registry.find(getattr(original, n)) is not None}
    every = dict.fromkeys([*scipy_names(module), *ours])
    ours -= {n for _, _, names in FATES[module] for n in names.split()}  # not SciPy's, nor traced
    return {n: ("differentiable", "") if n in ours else fate(module, n) for n in sorted(every)}


def section(inside: dict[str, tuple[str, str]]) -> Iterator[str]:
    """Yield the lines on what becomes of the names of one module, under their counts."""
    counts = Counter(fate for fate, _ in inside.values())
    kinds = ("differentiable", "without a derivative", "writes", "passed", "refused")
    told = ", ".join(f"{counts[kind]} {kind}" for kind in kinds if counts[kind])
    yield from ("<details>", f"<summary>{told}</summary>", "")
    yield from _lists(inside)
    yield from ("</details>", "")


def _lists(inside: dict[str, tuple[str, str]]) -> Iterator[str]:
    for kind in ("differentiable", "without a derivative", "writes"):
        chosen = sorted(n for n, (f, _) in inside.items() if f == kind)
        if chosen:
            yield from (f"**{kind}** ({len(chosen)}): {', '.join(f'`{n}`' for n in chosen)}", "")
    for kind in ("passed", "refused"):
        reasons: dict[str, list[str]] = {}
        for name, (f, why) in sorted(inside.items()):
            if f == kind:
                reasons.setdefault(why, []).append(f"`{name}`")
        if reasons:
            yield f"| {kind} | {'what it does' if kind == 'passed' else 'why'} |"
            yield "| --- | --- |"
            yield from (f"| {', '.join(listed)} | {why} |" for why, listed in reasons.items())
            yield ""


SCIPY = """\
## SciPy

Names of SciPy {version}. Those methods of distributions are differentiable that have a formula in terms of [the ops](ops.md): densities, and, where one is known, shares, quantiles, means, variances and entropies, by all parameters. Solvers are differentiated by the implicit function theorem.

"""  # noqa: E501


def page() -> str:
    """Return the text of docs/coverage.md."""
    lines = [INTRO, ""]
    every = fates()
    for prefix, module in SPACES.items():
        inside = {n: v for n, v in every.items() if n.rpartition(".")[0] == prefix}
        lines += [f"## {module}", "", *section(inside)]
    version = ".".join(scipy.__version__.split(".")[:2])
    lines.append(SCIPY.replace("{version}", version))
    for module in FATES:
        lines += [f"### scipy.{module}", "", *section(scipy_fates(module))]
    return "\n".join(line.rstrip() for line in lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
