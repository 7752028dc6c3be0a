"""Entering records in the registry."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import sympy as sp

from .._state import now
from ..errors import DefinitionError
from ._facets import Code, Evidence, Facet
from ._kinds import Map, Op, Routine
from ._registry import Composite, registry

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
