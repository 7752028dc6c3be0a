"""The record: all that is known of an op, in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import sympy as sp

from .._late import LateFields, LateFunction, resolved
from ._lowering import Exact, Lowering
from ._params import Param

Kind = Literal[
    "map", "view", "reduce", "scan", "contract", "assemble", "gather", "scatter",
    "routine", "loop", "branch", "result", "tape", "leaf",
]  # fmt: skip

#: Kinds of ops that take one result out of a loop or a branch.
PROJECTIONS = ("result", "tape")


@dataclass(frozen=True, eq=False, kw_only=True)
class Op(LateFields):
    """What symgrad knows of one operation.

    Parameters
    ----------
    name:
        CamelCase name, unique in the registry; the class name of its nodes.
    kind:
        How the passes treat it; see the module's table.
    evaluate:
        The NumPy reference: ``evaluate(*arrays, **params) -> ndarray``.
    in_order:
        As ``evaluate``, where the bits of that depend on how arrays lie in memory: what tensors
        compute with, and programs whose rounding is promised.
    functions:
        NumPy and SciPy functions that mean exactly this op.
    doc:
        One line for the op table.
    sympy:
        For maps: the SymPy form, a function of SymPy expressions.
    params:
        The types of the static parameters by name; no node has others. Those of families are
        known by ``orders`` and ``slopes``.
    partials:
        For maps: ``partials(y, *xs) -> tuple`` of derivatives, elementwise; an entry may be
        None (identically zero). None as a whole needs ``reason``.
    reason:
        Why ``partials`` (or another required field) is absent on purpose.
    types:
        For maps that are no ufunc: ``types(*dtypes) -> (operand dtypes, result dtype)``;
        for others ``types(*dtypes, **params) -> result dtype`` (default: first operand's).
    shape:
        For others: ``shape(*operand_shapes, **params) -> shape``.
    element:
        For others: ``element(index, *operands, **params) -> SymPy``: the element formula;
        ``operands[k][i, j]`` stands for an element.
    reading:
        For routines: the element formula in terms of ``Inverse(a[p, q], i, j, (p, 0, n - 1),
        (q, 0, n - 1))``, ``Det`` and ``LogAbsDet``, which can be differentiated and read, but
        not computed with. For maps without ``sympy``: the form to read, in terms of functions
        that SymPy does not know.
    exact:
        For routines: how the result is computed in multiple precision, so that it can be verified.
    precise:
        For maps that SymPy has no form of, the same: ``precise(context, guess, *operands,
        **params)``; see ``symgrad._ops.precisely``.
    transpose:
        For ops linear in operands ``linear``: ``transpose(ct, *operands, **params)`` gives
        one cotangent for each operand (None where not linear).
    vjp, jvp:
        For the rest: ``vjp(ct, y, *operands, **params)`` and
        ``jvp(tangents, y, *operands, **params)`` with None for zero tangents.
        For loops and branches they work on nodes: ``vjp(cts, node, wanted)`` takes the
        cotangents of the node's results as a mapping from the result nodes and gives one
        node or None for each operand; ``jvp(tangents, node)`` gives a function from a result
        node to its tangent, or None; ``batch(size, operands, flags, node)`` one to its
        counterpart, and whether that has a batch axis.
    parts:
        ``parts(*operands, **params)``: the op on traced operands of which one is complex, in
        real operations on ``real`` and ``imag``; a tuple ``(real, imag)`` is a complex result.
        Ops with ``transpose`` need none: they act on each part.
    taken:
        For ops that choose: ``taken(y, *operands, **params)`` gives for each operand None, or
        ``(condition, truth)``: the operand reaches the result only where ``condition`` is
        ``truth``. The partials need to hold only there, and derivatives are cut off elsewhere
        by selection, so that nan and infinities of the side not taken never get through.
    support:
        For others: ``support(mask, *operands, **params)``: where the operands' cotangents can
        differ from 0 if that of the result is 0 outside of the boolean ``mask``. Ops that only
        move elements need none.
    batch:
        ``batch(size, batched, *operands, **params)``: the op with a leading batch axis on
        the operands flagged in ``batched``; the result has it in front.
    merge:
        ``merge([(operands, params), ...]) -> (operands, params)``: the sum of several
        results of this op as one op. The reverse pass uses it so that a thousand reads of
        ``x[i]`` cost one array, not a thousand.
    over:
        For scatters: whether the second operand is an array that the elements are written over,
        or added to; else it is zeros.
    stacked:
        For scatters: ``stacked(*operands, **params)``: the sum of the results for operands
        with a leading axis more.
    place:
        For assemblies and scatters: ``place(part, index, *operands, **params)``: where the
        element ``index`` of operand ``part`` goes in the result.
    results:
        For loops and branches: ``results(node, index, kind)``: shape and element type of a
        result, as a projection of ``kind`` ("result" or "tape") gives it.
    fits:
        ``fits(node)`` says how operands, bodies and parameters do not go together, or returns
        None: of loops and branches, and where the shape rule takes operands as they come.
    alias:
        For views: the result has the operand's elements in the same (C) order, so that it
        is the same memory.
    lower:
        For maps: one of Instr, Intrinsic, Libm, Cython, Composed, Emit. For routines: Routine
        or Composed.
    portable:
        For maps that SciPy computes: the op as a NumPy formula in ops of the C library, for C.
    source:
        ``source(*operands, **params) -> str``: the op as one expression of NumPy code.
        An operand formats as its name (or as a number) and has ``shape`` and ``dtype``.
        Not needed by maps whose ``evaluate`` is a function of NumPy or SciPy: they are
        spelled by its name.
    helpers:
        Functions, plain NumPy, that the code calls; a program's source contains them.
    combine:
        For reductions: name of the combining step ("add", "multiply", "maximum", ...). For
        assemblies and scatters "last": elements are written over instead of added.
    domain:
        For maps: one SymPy set for each operand, where the rule holds.
    samples:
        For maps: ``(low, high)`` or one pair for each operand, for tests and plots.
    convention:
        The value chosen where the derivative does not exist, in words.
    orders:
        For families of maps that are closed under differentiation: the highest ``order``, a static
        parameter of the op and of its functions.
    slopes:
        For maps that compute their first derivatives better than rules can write them: of how many
        operands. The op and its functions have a static parameter ``slope``: 0, or the number of
        the operand, from 1, by which it is differentiated.
    ulp:
        Largest error of the lowered float64 result in units in the last place.
    exact_form:
        False if the SymPy form differs from the NumPy function at isolated points.
    """

    name: str
    kind: Kind
    evaluate: Callable[..., Any]
    in_order: Callable[..., Any] | None = None
    functions: tuple[Callable[..., Any], ...] = field(default_factory=tuple)
    doc: str = ""
    sympy: Callable[..., Any] | None = None
    params: Mapping[str, Param] = field(default_factory=dict)
    partials: Callable[..., Any] | None = None
    reason: str | None = None
    types: Callable[..., Any] | None = None
    shape: Callable[..., Any] | None = None
    element: Callable[..., Any] | None = None
    reading: Callable[..., Any] | None = None
    exact: Exact | None = None
    precise: Callable[..., Any] | None = None
    transpose: Callable[..., Any] | None = None
    linear: tuple[int, ...] | None = None
    vjp: Callable[..., Any] | None = None
    jvp: Callable[..., Any] | None = None
    parts: Callable[..., Any] | None = None
    taken: Callable[..., Any] | None = None
    support: Callable[..., Any] | None = None
    batch: Callable[..., Any] | None = None
    merge: Callable[..., Any] | None = None
    over: bool = False
    stacked: Callable[..., Any] | None = None
    place: Callable[..., Any] | None = None
    results: Callable[..., Any] | None = None
    fits: Callable[..., str | None] | None = None
    alias: bool = False
    lower: Lowering | None = None
    portable: Callable[..., Any] | None = None
    source: Callable[..., str] | None = None
    helpers: tuple[Callable[..., Any], ...] = ()
    combine: str | None = None
    domain: tuple[sp.Set, ...] = ()
    samples: tuple[Any, ...] = ()
    convention: str | None = None
    orders: int = 0
    slopes: int = 0
    ulp: float = 4.0
    exact_form: bool = True

    LATE: ClassVar = ("evaluate", "functions")

    def __call__(self, *operands: Any, **params: Any) -> Any:
        """Apply the op: to traced or eager operands through their hook, else with NumPy."""
        for operand in operands:
            bind = getattr(type(operand), "__symgrad_bind__", None)
            if bind is not None:
                return bind(self, operands, params)
        return self.reference(*operands, **params)

    @property
    def reference(self) -> Callable[..., Any]:
        """What tensors compute with."""
        return self.in_order or self.evaluate

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    @property
    def ufunc(self) -> np.ufunc | None:
        """The NumPy ufunc whose type rules the op follows, if it has one."""
        head = self.head
        return head if isinstance(head, np.ufunc) else None

    @property
    def head(self) -> Callable[..., Any] | None:
        """The first of the functions, None if there is none; no other is imported for it."""
        given = self.given("functions")
        return resolved(given[0]) if given else None

    @property
    def is_late(self) -> bool:
        """Tell whether the first of the functions is one whose module may not be imported yet."""
        given = self.given("functions")
        return bool(given) and isinstance(given[0], LateFunction)

    def means(self, function: Callable[..., Any]) -> bool:
        """Tell whether ``function``, one of NumPy's, is the first of the functions."""
        given = self.given("functions")
        return bool(given) and given[0] is function

    @property
    def arity(self) -> int:
        """Number of operands of a map."""
        return len(self.domain)
