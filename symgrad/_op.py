"""The op record and the registry.

An op is one record in one place. The record knows the NumPy functions it answers to, its
SymPy form, its derivative rule, its shape and type rule, its element formula, its lowering
and where to sample it in tests. The passes (reverse, forward, batch, rewrite, schedule,
lower) know no op by name: they read the record.

There are few *kinds* of op, and each pass treats a kind in one way:

=========  ==========================================================================
map        elementwise with broadcasting; gives ``partials``
view       one operand, each result element is one operand element; linear
reduce     folds axes away
scan       runs along one axis, each result element depends on the one before
contract   sums products over named indices (pairwise einsum)
assemble   writes its operands into regions of a zero array; linear
gather     reads elements at computed positions; linear in its first operand
scatter    adds elements at computed positions; the transpose of gather
routine    a library's computation on whole vectors or matrices (the last axes)
loop       runs a body again and again; its results are projected out of it
branch     runs one of several bodies; its results are projected out of it
result     one result of a loop or a branch
tape       what a loop wrote down in each step, for another loop to read
leaf       inputs, literals, constants, sizes
=========  ==========================================================================

Rules are plain NumPy over the operands and the result. So one rule runs on traced values
(compiled adjoints, derivatives of derivatives), on arrays (eager), and on SymPy symbols
(where the tests prove it against ``sympy.diff``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from importlib import import_module
from typing import Any, Literal, NoReturn

import numpy as np
import scipy.special as sc
import sympy as sp

from .errors import DefinitionError, UnsupportedError

Kind = Literal[
    "map", "view", "reduce", "scan", "contract", "assemble", "gather", "scatter",
    "routine", "loop", "branch", "result", "tape", "leaf",
]  # fmt: skip

#: Kinds of ops that take one result out of a loop or a branch.
PROJECTIONS = ("result", "tape")

Real = sp.Reals
Positive = sp.Interval.open(0, sp.oo)
NonZero = sp.Union(sp.Interval.open(-sp.oo, 0), Positive)


# ---------------------------------------------------------------- how a map op is lowered


@dataclass(frozen=True)
class Instr:
    """One LLVM instruction, by class of element type: float, signed, unsigned, boolean."""

    f: str | None = None
    i: str | None = None
    u: str | None = None
    b: str | None = None


@dataclass(frozen=True)
class Intrinsic:
    """An LLVM floating-point intrinsic such as ``llvm.fabs``, overloaded on the type."""

    name: str


@dataclass(frozen=True)
class Libm:
    """A function of the C mathematics library; SIMD variants are used where they exist."""

    name: str


@dataclass(frozen=True)
class Cython:
    """A function of ``scipy.special.cython_special``, called by its address (float64).

    Of a function with several ``results``, which it writes to memory, the op is one ``part``.
    """

    name: str
    part: int = 0
    results: int = 1


@dataclass(frozen=True)
class Composed:
    """Lowered as a NumPy formula in other ops; in loops by the SIMD function of a name.

    The functions are those of ``symgrad._lower._simd``.
    """

    formula: Callable[..., Any]
    simd: str = ""


@dataclass(frozen=True)
class Emit:
    """Lowered by a function ``(emitter, dtype, *values) -> value`` that writes LLVM IR."""

    function: Callable[..., str]


@dataclass(frozen=True)
class Routine:
    """Lowered by a function that writes LLVM IR for one vector or matrix of a batch.

    ``write(call, **params)`` is given what ``symgrad._lower._routines.Call`` is: pointers to
    the operands and the result in memory, and their sizes. ``core``, or ``core(**params)``,
    says how many of the last axes of each operand, and of the result, belong to one call; the
    axes before them are the batch, the same for all. None: one call for everything. With
    ``pairs`` elements are complex numbers, pairs of reals along the last axis, and the routines
    are those for them.
    """

    write: Callable[..., None]
    core: tuple[int, ...] | Callable[..., tuple[int, ...]] | None
    pairs: bool = False


@dataclass(frozen=True)
class Exact:
    """A routine in multiple precision; see ``symgrad._ops.exactly``.

    Parameters
    ----------
    compute:
        ``compute(context, read, like, **params)``: the elements of one call's result.
    reads:
        The operands that the result is a function of.
    core:
        How many of the last axes of the first operand belong to one call.
    symmetric:
        Whether the first operand stands for a symmetric matrix.
    vectors:
        ``vectors(shape, **params)``: the ranges of the result's elements, of a call for an operand
        of this shape, that are orthonormal vectors: their errors are relative to length 1.
    """

    compute: Callable[..., list[Any]]
    reads: tuple[int, ...] = (0,)
    core: int = 2
    symmetric: bool = False
    vectors: Callable[..., tuple[range, ...]] | None = None


Lowering = Instr | Intrinsic | Libm | Cython | Composed | Emit | Routine


# ---------------------------------------------------------------- the record


@dataclass(frozen=True, eq=False, kw_only=True)
class Op:
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
        not computed with.
    exact:
        For routines: how the result is computed in multiple precision, so that it can be verified.
    precise:
        For maps that SymPy has no form of, the same: ``precise(context, guess, *operands)``; see
        ``symgrad._ops.precisely``.
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
        For loops and branches: ``fits(node)`` says how operands and bodies do not go together,
        or returns None.
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
    ulp:
        Largest error of the lowered float64 result in units in the last place.
    exact_form:
        False if the SymPy form differs from the NumPy function at isolated points.
    """

    name: str
    kind: Kind
    evaluate: Callable[..., Any]
    in_order: Callable[..., Any] | None = None
    functions: tuple[Callable[..., Any], ...] = ()
    doc: str = ""
    sympy: Callable[..., Any] | None = None
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
    ulp: float = 4.0
    exact_form: bool = True

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
        head = self.functions[0] if self.functions else None
        return head if isinstance(head, np.ufunc) else None

    @property
    def arity(self) -> int:
        """Number of operands of a map."""
        return len(self.domain)


@dataclass(frozen=True, eq=False)
class Composite:
    """A NumPy function that is written in terms of others: no node of its own.

    ``samples`` yields ``(args, kwargs)`` examples for the tests that run over the registry.
    """

    name: str
    function: Callable[..., Any]
    functions: tuple[Callable[..., Any], ...]
    samples: Callable[[np.random.Generator], Iterator[tuple[tuple[Any, ...], dict[str, Any]]]]
    doc: str = ""
    convention: str | None = None
    differentiable: bool = True


@dataclass(eq=False)
class Registry:
    """All records, by name and by the functions they answer to.

    ``steps`` are those that only kernels have: programs are not written in them.
    """

    ops: dict[str, Op] = field(default_factory=dict)
    steps: dict[str, Op] = field(default_factory=dict)
    composites: dict[str, Composite] = field(default_factory=dict)
    handlers: dict[Callable[..., Any], Callable[..., Any]] = field(default_factory=dict)

    def add(self, record: Op | Composite) -> None:
        """Enter a record; a name or a function can be taken only once."""
        if record.name in self.ops or record.name in self.composites:
            raise DefinitionError(f"op {record.name!r} is defined twice")
        handler = record if isinstance(record, Op) else record.function
        fresh = dict.fromkeys(record.functions)
        for function in fresh:
            if function in self.handlers:
                raise DefinitionError(f"{_name(function)} is claimed twice, by {record.name}")
        for function in fresh:
            self.handlers[function] = handler
        if isinstance(record, Op):
            self.ops[record.name] = record
        else:
            self.composites[record.name] = record

    def named(self, name: str) -> Op | None:
        """Return the op of a name, as a saved program has it; None if there is none."""
        if name not in self.ops:
            for home in HOMES:
                import_module(home)
        return self.ops.get(name)

    def handler(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return what carries out ``function`` on traced or eager values."""
        try:
            return self.handlers[function]
        except (KeyError, TypeError):
            refuse(function)


#: The packages that define ops. Reading a program may be the first thing that a process does.
HOMES = ("symgrad._ops", "symgrad._control")

registry = Registry()


def _name(function: Any) -> str:
    module = getattr(function, "__module__", None)
    name = getattr(function, "__name__", repr(function))
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):  # np.add.at
        return f"{_name(owner)}.{name}"
    if isinstance(function, np.ufunc):
        module = "scipy.special" if getattr(sc, name, None) is function else "numpy"
    return f"{module}.{name}" if module else name


def refuse(function: Callable[..., Any], why: str = "") -> NoReturn:
    """Raise the error for a function that symgrad does not differentiate."""
    raise UnsupportedError(
        f"{_name(function)} cannot be traced{': ' + why if why else ''}. "
        "Write it with functions of the op table (docs/ops.md), or keep it outside of the "
        "differentiated function."
    )


# ---------------------------------------------------------------- definitions


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


_READ: ContextVar[bool] = ContextVar("read", default=False)


@contextmanager
def for_reading() -> Iterator[None]:
    """Trace functions as textbooks define them: what comes of it is read, not computed with."""
    before = _READ.set(True)
    try:
        yield
    finally:
        _READ.reset(before)


def is_read() -> bool:
    """Tell whether what is traced is for reading."""
    return _READ.get()


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
                return (textbook if is_read() else computed)(*args, **kwargs)

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
