"""Entering records in the registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import sympy as sp

from .._state import now
from ..errors import DefinitionError
from ._lowering import Lowering
from ._params import Param, optional, up_to
from ._record import Kind, Op
from ._registry import Composite, registry

Real = sp.Reals
Positive = sp.Interval.open(0, sp.oo)
# Simplified as it stands; to find that out SymPy takes as long as importing a large module.
NonZero = sp.Union(sp.Interval.open(-sp.oo, 0), Positive, evaluate=False)


def define(
    *functions: Callable[..., Any],
    name: str,
    sympy: Callable[..., Any] | None,
    lower: Lowering,
    domain: tuple[sp.Set, ...],
    samples: tuple[Any, ...],
    partials: Callable[..., Any] | None = None,
    reason: str | None = None,
    evaluate: Callable[..., Any] | None = None,
    **fields: Any,
) -> Op:
    """Define an elementwise op and enter it in the registry.

    Raises
    ------
    DefinitionError
        If a field is missing without a ``reason``, or the name or a function is taken.
    """
    if partials is None and reason is None and sympy is None:
        raise DefinitionError(
            f"{name}: give partials=, or a SymPy form to derive them from, "
            "or say in reason= why it has no derivative"
        )
    if evaluate is None and not functions:
        raise DefinitionError(f"{name}: give evaluate= or a NumPy function")
    if not domain or not samples:
        raise DefinitionError(f"{name}: give domain= and samples=")
    fields.setdefault("params", _of_family(fields))
    op = Op(
        name=name,
        kind="map",
        evaluate=evaluate or functions[0],
        functions=functions,
        sympy=sympy,
        partials=partials,
        reason=reason,
        lower=lower,
        domain=domain,
        samples=samples if isinstance(samples[0], tuple) else (samples,) * len(domain),
        **fields,
    )
    registry.add(op)
    return op


def _of_family(fields: Mapping[str, Any]) -> dict[str, Param]:
    """Return the parameter of a family of maps; the function itself goes without it."""
    named = {"order": fields.get("orders", 0), "slope": fields.get("slopes", 0)}
    return {name: optional(up_to(highest)) for name, highest in named.items() if highest}


#: The highest derivative of families of maps.
HIGHEST = 16

REQUIRED = {
    "view": ("shape", "element", "transpose", "batch"),
    "reduce": ("shape", "element", "batch", "combine"),
    "scan": ("shape", "element", "batch"),
    "contract": ("shape", "element", "vjp", "jvp", "batch"),
    "assemble": ("shape", "element", "transpose", "batch", "place"),
    "gather": ("shape", "element", "transpose", "batch"),
    "scatter": ("shape", "element", "transpose", "batch", "place"),
    "routine": ("shape", "element", "batch", "lower"),
    "loop": ("vjp", "jvp", "batch", "results", "fits"),
    "branch": ("vjp", "jvp", "batch", "results", "fits"),
    "result": (),
    "tape": (),
}


def define_array(name: str, kind: Kind, evaluate: Callable[..., Any], **fields: Any) -> Op:
    """Define an op of another kind than map and enter it in the registry."""
    op = Op(name=name, kind=kind, evaluate=evaluate, **fields)
    missing = [f for f in REQUIRED[kind] if getattr(op, f) is None]
    has_rule = op.transpose or (op.vjp and op.jvp)
    if missing or not (has_rule or op.reason):
        missing += [] if has_rule or op.reason else ["transpose, vjp and jvp, or reason"]
        raise DefinitionError(f"{name}: a {kind} op also needs {', '.join(missing)}")
    registry.add(op)
    return op


def composite(
    *functions: Callable[..., Any],
    samples: Callable[..., Any],
    name: str | None = None,
    convention: str | None = None,
    differentiable: bool = True,
    textbook: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter the decorated function as symgrad's version of NumPy's ``functions``.

    The function has NumPy's signature (the parts of it that make sense for traced values)
    and is written in NumPy and in ops. ``samples(rng)`` yields ``(args, kwargs)``. ``textbook`` is
    the same as people define it, without care for overflow: for formulas that are read.
    """

    def enter(computed: Callable[..., Any]) -> Callable[..., Any]:
        function = computed
        if textbook is not None:

            @wraps(computed)
            def function(*args: Any, **kwargs: Any) -> Any:
                return (textbook if now().reading else computed)(*args, **kwargs)

        doc = (function.__doc__ or "").strip().split("\n")[0]
        registry.add(
            Composite(
                name or function.__name__.strip("_"),
                function,
                functions,
                samples,
                doc,
                convention,
                differentiable,
            )
        )
        return function

    return enter
