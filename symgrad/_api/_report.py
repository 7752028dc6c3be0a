"""``report``: one page on one function."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from .._core.base.argument_checks import as_path
from .._core.graph import source_name
from .._show._draw import Drawing
from .._show._graph_view_program import program_view
from .._show._report import Contents, Line, report_page
from .._symbolic import Formula
from .._verify import Certificate, Check, Cost, Report, Row
from .._verify._certificate import BOUND
from ..errors import ArgumentError, UnsupportedError
from ._call import Call
from ._certificates import cost_of, gradient_of, middle
from ._formulas import formula
from ._matrices import jacobian
from ._transforms import value_and_grad
from ._verify import Domain, verify
from ._verify_kernels import Kernels, chosen_leaves, name_of

#: Programs of more steps are not drawn.
DRAWN = 400


def report(
    f: Callable[..., Any],
    *args: Any,
    path: str | os.PathLike[str] | None = None,
    domain: Domain | None = None,
    points: int = 32,
    limit: float = 16.0,
) -> Path:
    """Write a page on a function: formula, derivative, program, graph, certificate, cost.

    Parameters
    ----------
    f:
        A NumPy function.
    *args : array_like
        Example arguments.
    path:
        The HTML file to write, which needs nothing beside it, and no network; None: a file of the
        function's name in the working directory, ``energy.html``.
    domain:
        As for :func:`symgrad.verify`; without one, the certificate is for ``args``, and with
        one, arguments that are numbers need not be given.
    points:
        How many points of the domain are chosen at random.
    limit:
        The allowed error in ulp.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    VerificationError
        If the kernels are further off than ``limit`` allows: there is no page then.
    ArgumentError
        If ``path`` does not end in ``.html``.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "tanh.html")
    >>> sg.report(np.tanh, 0.5, path=file, domain=(-3.0, 3.0), points=4) == file
    True
    """
    target = Path(_file_name(f)) if path is None else as_path(path, "report: path")
    if target.suffix.lower() not in (".html", ".htm"):
        raise ArgumentError(f"a report is a page: path={str(path)!r} should end in .html")
    args = args or (() if domain is None else middle(f, domain))
    found: Report | Certificate = verify(f, *args, domain=domain, points=points, limit=limit)
    call = Call(f, args, dynamic=False)
    chosen = chosen_leaves(call, None)
    kernels = Kernels(call, chosen)
    function, derivatives = _formulas(f, args, call, chosen)
    derived = value_and_grad if kernels.together else jacobian
    program = derived(_flat(call), argnums=tuple(chosen)).program(*call.leaves)
    cost = cost_of(call, gradient_of(call, chosen, kernels))
    # The costs have a section of their own.
    shown = replace(found, cost=None) if isinstance(found, Certificate) else found
    filename, source = _source(f)
    graph = ""
    if len(program.steps) <= DRAWN:
        view = program_view(program, call.leaves, numbers=False)
        graph = Drawing(replace(view, title="value and gradient, step by step")).html
    text = report_page(
        Contents(
            name_of(f), _signature(call), function, derivatives, filename, source,
            program, graph, _facts(found, cost), shown.table().html(),
            None if cost is None else (cost.function, cost.gradient, BOUND),
            {"symgrad": __version__, "NumPy": np.__version__},
        )
    )  # fmt: skip
    target.write_text(text, encoding="utf-8")
    return target


def _file_name(f: Callable[..., Any]) -> str:
    """Return a file name made of a function's; that of a lambda expression is ``f.html``."""
    name = re.sub(r"\W+", "_", name_of(f)).strip("_")
    return f"{name or 'report'}.html"


def _flat(call: Call) -> Callable[..., Any]:
    """Return the function of the flat arguments, with their names."""

    def flat(*leaves: Any) -> Any:
        args, _ = call.tree.unflatten(leaves)
        return call.function(*args)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    flat.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(n, kind) for n in call.names]
    )
    return flat


def _signature(call: Call) -> str:
    shapes = []
    for name, leaf in zip(call.names, call.leaves, strict=True):
        shape = np.shape(leaf)
        shapes.append(f"{name}{list(shape)}" if shape else name)
    return f"({', '.join(shapes)})"


def _formulas(f: Callable[..., Any], args: Any, call: Call, chosen: list[int]) -> tuple[str, str]:
    """Return function and derivatives as HTML; empty where they are too large to read."""
    try:
        made = formula(f, *args).html(style=False)
    except UnsupportedError:
        return "", ""
    parts: list[Formula] = []
    for name in dict.fromkeys(call.names[k] for k in chosen):
        try:
            slope = formula(f, *args, wrt=name if len(call.names) > 1 else 0)
        except (UnsupportedError, ArgumentError):
            continue
        if parts and _agree(parts[-1], slope):  # what a name means is said once
            parts[-1] = replace(
                parts[-1], equations=parts[-1].equations + slope.equations,
                gave_up=parts[-1].gave_up or slope.gave_up,
                notes=tuple(dict.fromkeys(parts[-1].notes + slope.notes)),
            )  # fmt: skip
        else:
            parts.append(slope)
    return made, "\n".join(p.html(style=False) for p in parts)


def _agree(*found: Formula) -> bool:
    """Tell whether no name means two things in formulas."""
    meanings = {(p.name, str(p.formula)) for f in found for e in f.equations for p, _ in e.parts}
    return len({name for name, _ in meanings}) == len(meanings)


def _source(f: Any) -> tuple[str, tuple[Line, ...]]:
    try:
        lines, first = inspect.getsourcelines(inspect.unwrap(f))
        filename = source_name(inspect.getsourcefile(f) or "")
    except (OSError, TypeError):
        return "", ()
    return filename, tuple(Line(first + k, text.rstrip("\n")) for k, text in enumerate(lines))


def _facts(found: Report | Certificate, cost: Cost | None) -> list[tuple[str, str, bool | None]]:
    """Return what is to be seen at a glance, with its meaning, and whether it is good."""
    rows: Any = found.checks if isinstance(found, Report) else found.rows
    most = max(rows, key=lambda r: r.max_ulp)
    said = "largest error of a value or a derivative"
    # Above 16 ulp, what rounding alone may do where the problem magnifies it.
    condition = 0.0 if most.worst is None else most.worst.condition
    if 16 < most.max_ulp <= condition:
        said += f"; rounding alone may make {condition:.0f} there"
    error = f"{most.max_ulp:.2f}" if most.max_ulp < 1e4 else f"{most.max_ulp:.1e}"
    compared = sum(r.checked if isinstance(r, Check) else r.compared for r in rows)
    facts: list[tuple[str, str, bool | None]] = [
        (f"{error} ulp", said, most.max_ulp <= max(16, condition)),
        (str(compared), "numbers compared with exact ones", None),
    ]
    slopes = [r for r in rows if r.name != "value"]
    if slopes and all(isinstance(r, Row) and r.proved for r in slopes):
        facts.append(("proved", "the formula is identically the derivative", True))
    if cost is not None:
        ratio = cost.gradient / max(cost.function, 1)
        facts.append((f"{ratio:.2f} ×", "the function's operations, for both", ratio <= BOUND))
    return facts
