"""Entering records in the registry."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import sympy as sp

from .._state import now
from ..errors import DefinitionError
from ._facets import Code, Evidence, Facet, Words
from ._kinds import (
    Assemble,
    BranchOp,
    Contract,
    Gather,
    Kind,
    LoopOp,
    Map,
    Op,
    Reduce,
    Result,
    Routine,
    Scan,
    Scatter,
    Tape,
    View,
)
from ._registry import Composite, registry
from ._rules import Linear, NoRule, Partials, Products

Real = sp.Reals
Positive = sp.Interval.open(0, sp.oo)
# Simplified as it stands; to find that out SymPy takes as long as importing a large module.
NonZero = sp.Union(sp.Interval.open(-sp.oo, 0), Positive, evaluate=False)


K = TypeVar("K", bound=Op)


def define(op: K, *facets: Facet) -> K:
    """Enter an op in the registry, and what stands beside its record.

    Raises
    ------
    DefinitionError
        If a facet that ops of this kind need is missing, or the name or a function is taken.
    """
    given = {type(facet): facet for facet in facets}
    code, evidence = given.get(Code), given.get(Evidence)
    if isinstance(op, (Map, Routine)) and not (isinstance(code, Code) and code.lower):
        raise DefinitionError(f"{op.name}: give Code, how it is lowered")
    if isinstance(op, Map):
        if not (isinstance(evidence, Evidence) and evidence.samples):
            raise DefinitionError(f"{op.name}: give Evidence, where it is sampled")
        given[Evidence] = evidence.over(op.arity)
    registry.add(op)
    for facet in given.values():
        facet.put(op)
    return op


def define_step(op: K, code: Code) -> K:
    """Enter an op that only kernels have: programs are not written in it."""
    registry.steps[op.name] = op
    code.put(op)
    return op


_KINDS: dict[str, Any] = {
    cls.kind: cls
    for cls in (Map, View, Reduce, Scan, Contract, Assemble, Gather, Scatter, Routine, LoopOp,
                BranchOp, Result, Tape)
}  # fmt: skip


def flat(kind: str, **fields: Any) -> tuple[Op, list[Facet]]:
    """Sort flat fields."""
    facets: list[Facet] = []
    for cls in (Code, Evidence, Words):
        own = {f.name: fields.pop(f.name) for f in dataclasses.fields(cls) if f.name in fields}
        if own:
            facets.append(cls(**own))
    partials, reason = fields.pop("partials", None), fields.pop("reason", None)
    transpose, linear = fields.pop("transpose", None), fields.pop("linear", None)
    vjp, jvp = fields.pop("vjp", None), fields.pop("jvp", None)
    if kind in ("assemble", "scatter") and fields.pop("combine", None):
        fields["last"] = True
    if reason is not None:
        fields["rule"] = NoRule(reason)
    elif transpose is not None:
        fields["rule"] = Linear(transpose, linear)
    elif partials is not None:
        fields["rule"] = Partials(partials)
    elif vjp is not None:
        fields["rule"] = Products(vjp, jvp)
    return _KINDS[kind](**fields), facets


def define_map(*functions: Callable[..., Any], **fields: Any) -> Map:
    """Define an elementwise op and enter it in the registry."""
    op: Any
    op, facets = flat("map", functions=functions, **fields)
    define(op, *facets)
    return op  # type: ignore[no-any-return]


def define_array(name: str, kind: Kind, evaluate: Callable[..., Any], **fields: Any) -> Any:
    """Define an op of another kind than map and enter it in the registry."""
    op, facets = flat(kind, name=name, evaluate=evaluate, **fields)
    define(op, *facets)
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
