"""The interface for programs on the compiler: ops, functions and rewrites of another package.

Public names of :mod:`symgrad` differentiate and compile functions. This module is for packages
that teach the compiler something new. It is semi-public: names stay within a minor version, and
the log of changes tells of each change.

An elementwise op is a record (:class:`Map`) with facets beside it: how it is computed
(:class:`Code`), where tests sample it (:class:`Evidence`), and its words (:class:`Words`).
:func:`define` enters them together. Then the op is traced, differentiated in every mode, batched,
compiled and printed like those of NumPy, and checked by :func:`symgrad.verify` if SymPy has a form.

A function that can be written in terms of others needs no op: :func:`composite` lets it stand for
a function of another package. An identity between formulas that loses fewer digits, or costs less,
on one side is a :func:`rewrite`. Solvers are functions on public names:
:func:`symgrad.while_loop` iterates, :func:`symgrad.implicit_root` differentiates.

Records
    :class:`Op`, :class:`Map`; derivative rules :class:`Partials` and :class:`NoRule`; domains
    ``Real``, ``Positive``, ``NonZero``.
Facets
    :class:`Code` with :class:`Instr`, :class:`Intrinsic`, :class:`Libm`, :class:`Composed` or
    :class:`Emit`, whose function writes with a :class:`Builder`; :class:`Evidence`;
    :class:`Words`; :class:`Zeros`; :class:`Recurrence`.
Entering
    :func:`define`, :func:`composite`, :func:`rewrite`, :func:`forget`, :func:`refuse`,
    :func:`op`.
Traced values and graphs
    :class:`Traced`, :func:`is_traced`, :func:`as_array`, :class:`Node`, :func:`as_node`,
    :func:`topological`, :func:`as_sympy`.

Source of the design: an extension interface in one file, as in HIPS autograd's ``extend.py`` and
in ``equinox.internal``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from ._core.graph import Node, as_sympy, topological
from ._core.op import (
    Builder,
    Code,
    Composed,
    Emit,
    Evidence,
    Facet,
    Instr,
    Intrinsic,
    Libm,
    Map,
    NonZero,
    NoRule,
    Op,
    Partials,
    Positive,
    Real,
    Recurrence,
    Words,
    Zeros,
    refuse,
    registry,
)
from ._core.op import composite as _enter_composite
from ._core.op import define as _enter
from ._core.ops.np_common import as_array, is_traced
from ._core.rewrite import ENTERED, Identity, Shortcut, leave
from ._core.rewrite import enter as _enter_identity
from ._core.trace import Traced, as_node
from .errors import DefinitionError

__all__ = [
    "Builder", "Code", "Composed", "Emit", "Evidence", "Instr", "Intrinsic", "Libm", "Map",
    "NoRule", "Node", "NonZero", "Op", "Partials", "Positive", "Real", "Recurrence", "Traced",
    "Words", "Zeros", "as_array", "as_node", "as_sympy", "composite", "define", "forget",
    "is_traced", "op", "refuse", "rewrite", "topological",
]  # fmt: skip

K = TypeVar("K", bound=Op)

#: Points for each operand at which a rewrite is tried out.
POINTS = 65


def define(record: K, *facets: Facet) -> K:
    """Enter an op, in the place of an earlier one of the same name from outside of symgrad.

    Parameters
    ----------
    record:
        The op: a :class:`Map`. Its ``functions`` are those of NumPy, SciPy or another package
        that mean exactly this op; a call of them on a traced value makes a node of it.
    facets:
        :class:`Code` and :class:`Evidence`, and others as needed.

    Returns
    -------
    Op
        The record. Call it on arrays, numbers and traced values.

    Raises
    ------
    DefinitionError
        If a facet is missing, or symgrad has an op of the name, or another op its functions.

    Notes
    -----
    Kernels with ops from outside are found on disk by their machine code, so an op whose rule or
    code has changed never gets an earlier kernel.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> from symgrad.extend import Code, Composed, Evidence, Map, Partials, Real, define
    >>> bump = define(
    ...     Map("Bump", evaluate=lambda x: 1 / (1 + x * x), domain=(Real,),
    ...         rule=Partials(lambda y, x: (-2 * x * y * y,))),
    ...     Code(Composed(lambda x: 1 / (1 + x * x)), source=lambda x: f"(1 / (1 + {x}**2))"),
    ...     Evidence(samples=(-3, 3)),
    ... )
    >>> sg.grad(bump)(1.0)
    np.float64(-0.5)
    """
    registry.complete()  # a name that is taken is taken, loaded or not
    if registry.users.pop(record.name, None) is not None:
        registry.remove(record.name)
    _enter(record, *facets)
    registry.users[record.name] = record
    registry.changes += 1
    return record


#: Names of composites from outside, of those that were taken out too.
_composites: set[str] = set()


def composite(
    *functions: Callable[..., Any], name: str | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let the decorated function stand for others where they are called on traced values.

    Parameters
    ----------
    functions:
        Functions of another package, which nothing else stands for yet.
    name:
        Its name; by default that of the decorated function.

    Returns
    -------
    callable
        A decorator, for a function with the signature of ``functions``, written in NumPy and in
        ops.

    Raises
    ------
    DefinitionError
        If a composite of the name has been entered before in this process.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> from symgrad.extend import composite, forget
    >>> def table_lookup(x):  # of another package, say, in C
    ...     return float(x) ** 2
    >>> @composite(table_lookup, name="table_lookup")
    ... def _(x):
    ...     return x**2
    >>> sg.grad(lambda x: table_lookup(x))(3.0)
    np.float64(6.0)
    >>> forget("table_lookup")
    """

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        found = name or function.__name__.strip("_")
        if found in _composites:
            raise DefinitionError(
                f"the composite {found!r} has been entered before in this process: code that was "
                "adapted goes on calling the first. Restart it, or choose another name and function"
            )
        _enter_composite(*functions, name=found)(function)
        _composites.add(found)
        registry.changes += 1
        return function

    return enter


def forget(name: str) -> None:
    """Take out an op, a composite or a rewrite that has been entered from outside of symgrad.

    Functions that were compiled with it stay as they are.

    Parameters
    ----------
    name:
        The name with which it was entered.

    Raises
    ------
    DefinitionError
        If nothing from outside has the name.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrad.extend import forget, rewrite
    >>> rewrite("cosh(x) - sinh(x)", lambda x: np.cosh(x) - np.sinh(x), lambda x: np.exp(-x),
    ...         [(-1, 1)])
    >>> forget("cosh(x) - sinh(x)")
    """
    if name in ENTERED:
        leave(name)
    elif registry.users.pop(name, None) is not None or (
        name in _composites and name in registry.composites
    ):
        registry.remove(name)
    else:
        raise DefinitionError(f"nothing from outside of symgrad has the name {name!r}")


def op(name: str) -> Op:
    """Return the op of a name, as programs print it.

    Parameters
    ----------
    name:
        The op's name, such as ``"Sin"``.

    Returns
    -------
    Op
        Its record.

    Raises
    ------
    DefinitionError
        If there is none.

    Examples
    --------
    >>> from symgrad.extend import op
    >>> op("Sin")
    <op Sin>
    """
    found = registry.named(name)
    if found is None:
        raise DefinitionError(f"there is no op {name!r}; docs/ops.md lists them")
    return found


def rewrite(
    name: str,
    written: Callable[..., Any],
    computed: Callable[..., Any],
    samples: Sequence[tuple[float, float]],
    partials: Callable[..., tuple[Any, ...]] | None = None,
    rtol: float = 1e-9,
) -> None:
    """Let one formula be computed in the place of another, wherever it stands in a program.

    Parameters
    ----------
    name:
        The identity in words or symbols: ``"log(sech(x)) = ..."``. One name is one rewrite; a
        second one of the name replaces the first.
    written, computed:
        NumPy functions of the same operands, elementwise: the formula that is looked for, and the
        one that is put in its place. ``x**2`` and ``x*x``, ``1/x`` and ``np.reciprocal(x)``, and
        the order of terms and factors are one to the search.
    samples:
        ``(low, high)`` for each operand, where both are compared when the rewrite is entered: of
        random points, at least one must give two finite numbers, and none two different ones.
    partials:
        ``partials(y, *operands)`` returns the derivatives of the formula with respect to its
        operands; ``y`` is its value. They are compared with finite differences at the samples.
        None: the formula as written is differentiated step by step.
    rtol:
        The largest relative difference of values there. The written formula may lose digits,
        which often is the reason for a rewrite: choose samples where it does not lose many.

    Raises
    ------
    DefinitionError
        If the formulas differ at a point, which the message names, or a partial is wrong there.

    Notes
    -----
    A formula stays as it is where one of its inner steps is used by something that could compare
    or cancel it, and under ``rounding="numpy"``.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrad.extend import rewrite
    >>> rewrite("sin(x)/cos(x) = tan(x)", lambda x: np.sin(x) / np.cos(x), np.tan, [(-1, 1)],
    ...         partials=lambda y, x: (1 + y * y,))
    """
    identity = Identity(name, written, computed, tuple(samples))
    pattern = identity.pattern
    assert pattern is not None
    if len(pattern.free) != len(identity.samples):
        raise DefinitionError(
            f"rewrite {name!r}: {len(pattern.free)} operands, samples of {len(identity.samples)}"
        )
    if not pattern.root.operands:
        raise DefinitionError(f"rewrite {name!r}: the formula is an operand or a number alone")
    rng = np.random.default_rng(0)
    points = [rng.uniform(low, high, POINTS) for low, high in identity.samples]
    value = _compared(name, "the value", points, written, computed, rtol)
    shortcut = None
    if partials is not None:
        shortcut = Shortcut(name, written, partials, identity.samples)
        assert shortcut.pattern is not None  # traced here, while all names in it are there
        for k, (low, high) in enumerate(identity.samples):
            step = 1e-6 * max(abs(low), abs(high))

            def by_differences(*xs: Any, k: int = k, step: float = step) -> Any:
                ends = [[x + h if j == k else x for j, x in enumerate(xs)] for h in (-step, step)]
                return (computed(*ends[1]) - computed(*ends[0])) / (2 * step)

            _compared(
                name, f"partial {k}", points, by_differences,
                lambda *xs, k=k: partials(value, *xs)[k], 1e-4, 1e-6 / step * abs(value).max(),
            )  # fmt: skip
    _enter_identity(identity, shortcut)


def _compared(
    name: str, what: str, points: Sequence[Any], first: Callable[..., Any],
    second: Callable[..., Any], rtol: float, atol: float = 0.0,
) -> Any:  # fmt: skip
    """Return the values of ``second`` at ``points``, compared with those of ``first``."""
    with np.errstate(all="ignore"):
        want, found = (np.broadcast_to(f(*points), (POINTS,)) for f in (first, second))
    # Infinite or nan on one side alone is a difference, too.
    differ = ~np.isclose(found, want, rtol=rtol, atol=atol, equal_nan=True)
    if differ.any() or not np.isfinite(want).any():
        k = int(np.argmax(differ))
        place = ", ".join(f"{x[k]:.6g}" for x in points)
        raise DefinitionError(
            f"rewrite {name!r}: {what} differs at ({place}): {want[k]:.9g} as written, "
            f"{found[k]:.9g} as computed. Correct one of both, or choose samples= where they are "
            "defined"
        )
    return found
