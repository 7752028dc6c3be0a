"""Write docs/accuracy.md: a certificate for every differentiable elementwise op.

Run ``python docs/build_accuracy.py``; it takes a minute or two. The figures depend on the
processor and the C library, so tests/test_docs_accuracy.py compares only what does not.
"""

from __future__ import annotations

import inspect
import math
import platform
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

import symgrad as sg
from symgrad._compile._cache import OWN
from symgrad._op import Op
from symgrad._ops.logic import CONDITION
from symgrad.errors import UnsupportedError

PAGE = Path(__file__).with_name("accuracy.md")
POINTS = 8
#: Ops whose exact derivatives take mpmath minutes.
SLOW = frozenset(("Binom", "K1e", "Kve"))

INTRO = """\
# Accuracy

<!-- Made by docs/build_accuracy.py; do not edit. -->

The certificate of every elementwise op that has a derivative: value and derivatives of the compiled kernel against exact values, in units in the last place, at {points} random points of the op's sample interval, its ends and corners. [What the certificate means](certificate.md) explains the columns. **condition** is that of the worst derivative: where it is large, the op's own conditioning explains the error, and **/cond** is what is left for the code. The step that loses most is named where it is more than 4 ulp off. *not finite*: SymPy's formula has no value at 0, where the op has one.

The aim: at most 4 ulp with vector mathematics, except where conditioning explains more. Figures differ by processor and C library; these are of {machine}, NumPy {numpy}.

| op | interval | value | derivative | condition | /cond | loses digits |
| --- | --- | ---: | ---: | ---: | ---: | --- |
"""  # noqa: E501


def covered() -> Iterator[Op]:
    """Yield the ops that the page lists."""
    for op in sorted(OWN, key=lambda op: op.name):
        real = [d for d in op.domain if d.is_subset(sp.Reals) and not d.is_subset(sp.Integers)]
        if op.kind != "map" or op.reason is not None or op.sympy is None or not real:
            continue
        # A form that SymPy only has a name for has no exact values.
        opaque = op.sympy(*sp.symbols(f"x:{op.arity}")) if op.arity == 1 else sp.S.Zero
        if not opaque.has(sp.core.function.AppliedUndef):
            yield op


def function_of(op: Op) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """Return the op as a function of its real operands, example arguments, and the domain."""
    names = [f"x{k}" for k in range(op.arity)]
    middle: list[Any] = [0.5 * (low + high) for low, high in op.samples]
    fixed: dict[int, Any] = {}
    for k, domain in enumerate(op.domain):
        if domain is CONDITION:
            fixed[k] = True
        elif domain.is_subset(sp.Integers):
            fixed[k] = math.ceil(middle[k])
    free = [k for k in range(op.arity) if k not in fixed]

    def f(*xs: Any) -> Any:
        operands = [fixed.get(k, 0.0) for k in range(op.arity)]
        for k, x in zip(free, xs, strict=True):
            operands[k] = x
        params = {"dtype": "float64"} if op.name == "Cast" else {}
        return op(*operands, **params)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    f.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(names[k], kind) for k in free]
    )
    f.__name__ = op.name
    domain = {names[k]: tuple(map(float, op.samples[k])) for k in free}
    return f, tuple(float(middle[k]) for k in free), domain


def certified(op: Op, points: int = POINTS) -> Any:
    """Return the certificate of an op."""
    f, args, domain = function_of(op)
    return sg.verify(f, *args, domain=domain, points=points, limit=math.inf)


def row(op: Op, points: int = POINTS) -> str:
    """Return an op's line of the table."""
    intervals = ", ".join(f"[{low:g}, {high:g}]" for low, high in op.samples)
    if op.name in SLOW:
        return f"| {op.name} | {intervals} | - | - | - | - | exact values take too long |"
    try:
        found = certified(op, points)
    except UnsupportedError:  # a function that mpmath does not have
        return f"| {op.name} | {intervals} | - | - | - | - | no exact values |"
    value, *slopes = found.rows
    slopes = [s for s in slopes if s.worst is not None and not math.isnan(s.max_ulp)]
    worst = max(slopes, key=lambda r: r.max_ulp, default=value)
    condition = 0.0 if worst.worst is None else worst.worst.condition
    loss = ""
    if found.loss is not None and found.loss.after > 4:
        loss = f"`{found.loss.step}`"
    cells = (op.name, intervals, shown(value.max_ulp), shown(worst.max_ulp),
             f"{condition:.2g}", shown(worst.max_scaled), loss)  # fmt: skip
    return f"| {' | '.join(cells)} |"


def shown(ulp: float) -> str:
    """Return an error for the table."""
    return f"{ulp:.2f}" if ulp < 1e4 else f"{ulp:.1e}" if math.isfinite(ulp) else "not finite"


def page() -> str:
    """Return the page."""
    head = INTRO.format(points=POINTS, machine=platform.machine(), numpy=np.__version__)
    with np.errstate(all="ignore"):
        return head + "\n".join(row(op) for op in covered()) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
