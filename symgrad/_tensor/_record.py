"""Recording: an op applied to tensors computes at once and remembers how to go back.

An op on tensors is the op of the compiler: its record computes the result on the arrays, and
a node keeps what its derivative rule will read. There is one way for all ops, :func:`bind`. What
can be found once is found once: what an op needs each time (:class:`Step`), and which op, with
which parameters, a NumPy function comes to (:func:`planned`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import ContextVar
from functools import lru_cache, partial
from operator import itemgetter, methodcaller
from typing import Any

import numpy as np

from .._core.graph import check_dtype, resolve
from .._core.op import Op, registry
from .._core.ops import CAST
from .._core.ops.contract import contracted
from .._core.ops.movement import by_rows
from .._core.ops.regions import slices
from ..errors import IndexingError, ShapeError
from ._composites import backward_class, rule_for
from ._mode import recording
from ._node import Backward, Kind, Rule, Value
from ._origin import Cell, clock, misfit, origin, placed

STOP = registry.ops["StopGradient"]

Run = Callable[..., Any]

#: Products of matrices and vectors.
PRODUCTS = (("ij", "jk", "ik"), ("ij", "j", "i"), ("j", "jk", "k"), ("j", "j", ""))


def _product(general: Run, x: Any, y: Any) -> Any:
    """Multiply matrices and vectors: as ``matmul`` would, where no size is 1."""
    if (
        x.dtype is y.dtype and x.dtype.kind == "f" and x.flags.forc and y.flags.forc
        and 1 not in x.shape and 1 not in y.shape
    ):  # fmt: skip
        return x.dot(y)
    return general(x, y)


def _joined(shape: Any, regions: Any, disjoint: bool) -> Run | None:
    """Return what joins arrays that lie behind each other along an axis."""
    for axis in range(len(shape)):
        end = 0
        for region in regions:
            start, step, size = region[axis]
            others = (*region[:axis], *region[axis + 1 :])
            if (
                (start, step) != (end, 1)
                or size is None
                or others != tuple((0, 1, n) for n in (*shape[:axis], *shape[axis + 1 :]))
            ):
                break
            end += size
        else:
            if end == shape[axis]:
                return lambda *xs: np.concatenate(xs, axis)
    return None


#: NumPy's direct call for an op with its parameters, where the record's goes by several: the
#: same loop and the same bits. An element is a view as well, hence the Ellipsis.
DIRECT: dict[str, Callable[..., Run | None]] = {
    "Slice": lambda region: itemgetter((*slices(region), ...)),
    "Reshape": lambda shape: methodcaller("reshape", shape),
    "Transpose": lambda axes: methodcaller("transpose", axes),
    "Sum": lambda axes: partial(np.add.reduce, axis=axes),
    "Max": lambda axes: partial(np.maximum.reduce, axis=axes),
    "Min": lambda axes: partial(np.minimum.reduce, axis=axes),
    "Gather": lambda axes, at: (
        (lambda x, *places: x[places]) if at == 0 and axes == (*range(len(axes)),) else None
    ),
    "Contract": lambda **letters: (
        partial(_product, partial(contracted, **letters))
        if tuple(letters.values()) in PRODUCTS
        else None
    ),
    "Assemble": _joined,
}


class Step:
    """An op with its parameters, ready to be applied.

    Attributes
    ----------
    run:
        Computes the result of arrays and numbers.
    shares:
        Whether the result may share the operand's memory.
    as_it_lies:
        Whether arrays are taken however they lie in memory.
    mixes, fitting:
        Whether operands of different types, and bytes, are converted first; types for which
        nothing is to do.
    copies:
        Whether arrays are copied for the way back, because they may be written to.
    cls, rules:
        The class of nodes, None if no derivative flows; its rules by mask: a bit for each operand
        that wants a gradient, and one above them.
    """

    __slots__ = (
        "as_it_lies",
        "cls",
        "copies",
        "fitting",
        "mixes",
        "op",
        "params",
        "rules",
        "run",
        "shares",
    )

    def __init__(self, op: Op, params: dict[str, Any]) -> None:
        self.op, self.params = op, params
        own = registry.ops.get(op.name) is op  # not one of tensors' own, of several steps
        direct = DIRECT[op.name](**params) if own and op.name in DIRECT else None
        self.run: Run = direct or (partial(op.reference, **params) if params else op.reference)
        self.shares = op.kind == "view" or op is STOP
        self.as_it_lies = self.shares or op.kind == "contract"  # BLAS takes rows and columns
        self.mixes = op.kind == "map"
        self.copies = True
        self.cls = backward_class(op)
        self.rules: dict[int, Rule] = {}
        self.fitting: set[tuple[Any, ...]] = set()

    def rule(self, mask: int, count: int) -> Rule:
        """Return the rule for gradients of some of so many operands."""
        assert self.cls is not None
        made = self.rules[mask] = rule_for(self.cls, mask, count, self.params)
        return made


_new, ndarray, asarray = object.__new__, np.ndarray, np.asarray
#: The steps of ops without parameters.
_steps: dict[Op, Step] = {}

#: What is applied, with operands and result, while it is being found what a function comes to.
_log: ContextVar[list[tuple[Step, tuple[Any, ...], Any]] | None] = ContextVar("log", default=None)


def bind(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Return the result of an op on tensors, arrays and numbers, and record it."""
    if params:
        return apply(Step(op, params), operands)
    step = _steps.get(op)
    if step is None:
        step = _steps[op] = Step(op, params)
    return apply(step, operands)


def apply(step: Step, operands: tuple[Any, ...]) -> Any:
    """Return the result of a step on tensors, arrays and numbers, and record it."""
    values = []
    mask, bit = 0, 1
    dtype, mixed = None, False
    for x in operands:
        if isinstance(x, Value):
            value, cell = x._data, x._cell
            if cell is not None:  # it was written to, or does not lie in C order
                if cell.rebased:
                    x.check_record()
                if not step.as_it_lies:
                    value = by_rows(value)
            if x._requires:
                mask |= bit
            kind = value.dtype
        else:
            value, kind = x, dtype
            if type(x) is ndarray:
                value, kind = x if x.flags.c_contiguous else by_rows(x), x.dtype
            elif type(x) is not float and type(x) is not int:
                value, kind = by_rows(x), getattr(x, "dtype", dtype)
        if kind is not dtype:
            mixed = dtype is not None
            dtype = kind
        values.append(value)
        bit += bit
    if step.mixes and (mixed or (dtype is not None and dtype.itemsize == 1)):
        kinds = tuple([getattr(x, "dtype", type(x)) for x in operands])
        if kinds not in step.fitting:
            converted = _converted(step.op, operands, kinds, step.params)
            if converted is not operands:
                return apply(step, converted)
            step.fitting.add(kinds)
    try:
        data = step.run(*values)
    except ValueError as error:
        raise misfit(step.op.name, error) from None
    if type(data) is not ndarray:
        data = asarray(data)
    cell = None
    if step.shares:  # it may do so with the operand's memory
        if isinstance(operands[0], Value):
            cell = operands[0]._cell or operands[0].memory()
    elif not data.flags.c_contiguous:
        data = by_rows(data)
    letter = data.dtype.kind
    if letter == "c":
        check_dtype(data.dtype, f"the result of {step.op.name} on tensors")
    made = _new(Kind.tensor)
    made._data, made._cell = data, cell
    made._fn = made._grad = made._acc = made.name = None
    made._requires = False
    if mask and letter == "f" and step.cls is not None and recording():
        made._fn = _record(step, data, cell, mask | bit, operands)
        made._requires = True
    log = _log.get()
    if log is not None:
        log.append((step, operands, made))
    return made


def _record(
    step: Step, data: Any, cell: Cell | None, mask: int, operands: tuple[Any, ...]
) -> Backward:
    """Return the node of a result."""
    rule = step.rules.get(mask) or step.rule(mask, len(operands))
    behind: list[Any] = []
    saved: list[Any] = []
    for x, kept in zip(operands, rule.saves, strict=True):
        edge = None
        if not isinstance(x, Value):
            if step.copies or type(x) is not ndarray:
                x = _constant(step.op, x, data.dtype)
        elif x._requires:
            edge = x._fn or x
            if not kept:
                x = (x._data.shape, x._data.dtype)
        behind.append(edge)
        saved.append(x)
    node: Backward = _new(step.cls or Backward)
    node.rule, node.params = rule, step.params
    node.behind, node.saved = tuple(behind), tuple(saved)
    node.extra = node.cell = node.result = None
    if rule.reads_result:
        node.result, node.cell = data, cell
    elif cell is not None and type(behind[0]) is Kind.tensor:
        cell.leaf = True  # a view of a leaf
    node.place, node.offset = origin(sys._getframe(2))
    node.seq = next(clock)
    return node


def _constant(op: Op, x: Any, dtype: np.dtype[Any]) -> Any:
    """A constant operand as the rule reads it: later writes to an array do not reach it."""
    if type(x) in (int, float) and op.kind == "map":
        return dtype.type(x)
    array = np.array(x, order="C")
    if op.kind == "map" and array.dtype.kind in "iu":
        array = array.astype(dtype)
    return array


# ---------------------------------------------------------------- operands of different types


def _converted(
    op: Op, operands: tuple[Any, ...], kinds: tuple[Any, ...], params: dict[str, Any]
) -> tuple[Any, ...]:
    """Return operands in the types that the op computes in: its rule shall read these."""
    wanted = _wanted(op, kinds, tuple(sorted(params.items())) if params else ())
    if wanted is None:
        return operands
    made = tuple([
        CAST(x, dtype=dtype.name) if isinstance(x, Value) and x._data.dtype != dtype else x
        for x, dtype in zip(operands, wanted, strict=True)
    ])  # fmt: skip
    same = all(a is b for a, b in zip(made, operands, strict=True))
    return operands if same else made


@lru_cache(maxsize=1024)
def _wanted(op: Op, kinds: tuple[Any, ...], items: tuple[Any, ...]) -> Any:
    """Return the types that the op computes in, if its operands may have others."""
    types = {k for k in kinds if isinstance(k, np.dtype)}
    numbers = all(isinstance(k, np.dtype) or k in (float, int, bool) for k in kinds)
    # Of bytes and truth values alone NumPy's functions give float16.
    if not numbers or (len(types) < 2 and all(k.itemsize > 1 for k in types)):
        return None
    wanted, _ = resolve(op, kinds, items)
    if all(not isinstance(k, np.dtype) or k == w for k, w in zip(kinds, wanted, strict=True)):
        return None
    return wanted


# ---------------------------------------------------------------- what functions come to

#: How many calls are known; all are forgotten when there are more.
MOST = 4096

#: The step by function, shapes, types and other arguments.
plans: dict[Any, Step] = {}


def planned(key: tuple[Any, ...], tensors: tuple[Any, ...], general: Run, *args: Any) -> Any:
    """Return ``general(*args)``: what a function makes of tensors and other arguments.

    NumPy's functions come to an op through several Python functions, which normalise arguments,
    and which take longer than the sum of a small array. What they come to depends on shapes, types
    and the other arguments alone, so it is noted where it is one op of the tensors, and next time
    the op is applied at once.

    Parameters
    ----------
    key:
        The function and its other arguments, with their types: True is not 1.
    tensors:
        The tensors among its arguments.
    general, args:
        Compute the result.
    """
    made: Any
    if len(tensors) == 1:
        data = tensors[0]._data
        made = (key, data.shape, data.dtype)
    else:
        made = (key, *[(t._data.shape, t._data.dtype) for t in tensors])
    try:
        known = plans.get(made)
    except TypeError:  # an array, a list: it may have changed next time
        made = known = None
    if known is not None:
        return apply(known, tensors)
    outer = _log.get()
    log: list[tuple[Step, tuple[Any, ...], Any]] = []
    _log.set(log)
    try:
        result = general(*args)
    except (ShapeError, IndexingError) as error:
        placed(error)
        raise
    finally:
        _log.set(outer)
        if outer is not None:
            outer += log
    if made is not None and len(log) == 1 and log[0][2] is result and _is_fixed(key):
        step, operands, _ = log[0]
        if [*map(id, operands)] == [*map(id, tensors)] and all(
            t._data.dtype.kind == "f"
            for t in tensors  # others may be read as indices
        ):
            if len(plans) >= MOST:
                plans.clear()
            plans[made] = step
    return result


def in_function() -> bool:
    """Tell whether a function of NumPy's is carried out, whose result is given its own memory."""
    return _log.get() is not None


def called(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], general: Callable[[], Any]
) -> Any:
    """Return what a call comes to, of arguments of which some are tensors."""
    tensors = tuple([x for x in args if type(x) is Kind.tensor])
    others = [x if type(x) is not Kind.tensor else Kind.tensor for x in args]
    types = (*map(type, others), *map(type, kwargs.values()))
    return planned((function, types, *others, *kwargs.items()), tensors, general)


_FIXED = (int, float, str, type, np.generic, np.dtype, np.ufunc, Op, *map(type, (map, np.sum, len)))


def _is_fixed(x: Any) -> bool:
    """Tell whether a value stays as it is: no tensor in a tuple, which may be written to."""
    if isinstance(x, tuple):
        return all(map(_is_fixed, x))
    return x is None or x is Ellipsis or isinstance(x, _FIXED)
