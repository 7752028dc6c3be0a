"""Rules of a record's ops, made ready for eager use, and ops that are several of the compiler's.

The rule of an elementwise op gives the derivatives by all operands. Run on traced values it
becomes a small graph, from which only what the wanted gradients need is kept: ``x**3`` needs
no logarithm for the exponent that is a constant, and ``x/5`` does not need its result. That is
done once for each op and set of operands; other ops run their rule as it is.

``softmax`` is a maximum, a difference, an exponential, a sum and a quotient. Tensors compute it
at once and have one node for it; what is traced through it (a program of the record, a backward
pass that becomes a kernel) has the steps. So the compiler's rules are all that there is: the way
back is their graph, evaluated step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from .._core.base.signals import foreseen
from .._core.graph import Input, Literal, Node, apart, topological
from .._core.op import Code, Kind, Linear, Op, Products, registry
from .._core.ops import np_logsumexp, np_statistics
from .._core.ops.reductions import kept, restore
from .._core.trace import Traced, as_node
from .._core.transforms.reverse import pull, pull_back
from .._core.transforms.support import differentiable
from ..errors import SymgradError
from ._node import Backward, Rule


class Formula:
    """A traced graph as a list of calls: on arrays, or on tensors, which record them.

    Parameters
    ----------
    inputs, outputs:
        Nodes; an output that is None stays None.
    weak:
        Whether numbers take the type of what they meet, in place of their own.
    """

    def __init__(
        self, inputs: Sequence[Node], outputs: Sequence[Node | None], weak: bool = False
    ) -> None:
        order = topological([n for n in outputs if n is not None])
        leaves = [n for n in order if not n.operands and n not in inputs]
        numbers = [n.value if isinstance(n, Literal) else n.op.evaluate(**n.params) for n in leaves]
        self.constants = [x.item() if weak else x for x in numbers]
        place = {n: k for k, n in enumerate([*inputs, *leaves])}
        self.calls: list[tuple[Op, Callable[..., Any], list[int], dict[str, Any]]] = []
        for node in order:
            if node not in place:
                read = [place[x] for x in node.operands]
                place[node] = len(place)
                self.calls.append((node.op, node.op.reference, read, dict(node.items)))
        self.results = [None if n is None else place[n] for n in outputs]

    def __call__(self, *inputs: Any, tensors: bool = False) -> list[Any]:
        values = [*inputs, *self.constants]
        for op, evaluate, read, params in self.calls:
            values.append((op if tensors else evaluate)(*[values[k] for k in read], **params))
        return [None if k is None else values[k] for k in self.results]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Composed(Op):
    """The op of such a step.

    Parameters
    ----------
    steps:
        The op as the compiler's steps, on traced values and on tensors.
    taken, support:
        See :class:`Op`.
    reads_result:
        Whether the way back reads the result.
    """

    steps: Callable[..., Any]
    taken: Callable[..., Any] | None = None
    support: Callable[..., Any] | None = None
    reads_result: bool = False
    kind: ClassVar[Kind] = "routine"

    def __call__(self, *operands: Any, **params: Any) -> Any:
        if any(isinstance(x, Traced) for x in operands):
            return self.steps(*operands, **params)
        return super().__call__(*operands, **params)


# ---------------------------------------------------------------- folds


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Fold(Composed):
    """A reduction as one step."""

    kind = "reduce"


def _fold(name: str, call: str, **fields: Any) -> Fold:
    """Return a reduction that is written as ``call`` of the operand and its axes."""
    op = Fold(name, **fields)
    Code(source=lambda x, axes: call.format(x=x, axes=axes)).put(op)
    return op


def _keeping(op: Op, fold: np.ufunc) -> Composed:
    """Return a reduction with ``keepdims=True`` as one step; its rules are the reduction's."""

    def steps(x: Any, axes: tuple[int, ...]) -> Any:
        return np.reshape(op(x, axes=axes), kept(x.shape, axes))

    def evaluate(x: Any, axes: tuple[int, ...]) -> Any:
        return fold.reduce(x, axis=axes, keepdims=True)

    return _fold(
        op.name, f"np.{op.name.lower()}({{x}}, axis={{axes}}, keepdims=True)",
        evaluate=evaluate, steps=steps, rule=op.rule, taken=op.taken, support=op.support,
        reads_result=op.linear is None,
    )  # fmt: skip


def _mean(x: Any, axes: tuple[int, ...], keepdims: bool = False) -> Any:
    return np.add.reduce(x, axis=axes, keepdims=keepdims) / _count(x, axes)


def _count(x: Any, axes: tuple[int, ...]) -> int:
    count = 1
    for k in axes:
        count *= x.shape[k]
    return count


def _from_mean(ct: Any, x: Any, axes: tuple[int, ...]) -> tuple[Any]:
    one = x.dtype.type(1)
    return (restore(ct * (one / x.dtype.type(_count(x, axes))), x, axes),)


_SUM, _MAX, _MIN = (registry.ops[name] for name in ("Sum", "Max", "Min"))
_MEAN = _fold(
    "Mean", "np.mean({x}, axis={axes})",
    evaluate=_mean, steps=lambda x, axes: np.mean(x, axis=axes),
    rule=Linear(_from_mean), support=_SUM.support,
)  # fmt: skip
_KEEPING_MEAN = _fold(
    "Mean", "np.mean({x}, axis={axes}, keepdims=True)",
    evaluate=lambda x, axes: _mean(x, axes, keepdims=True),
    steps=lambda x, axes: np.mean(x, axis=axes, keepdims=True),
    rule=Linear(_from_mean), support=_SUM.support,
)  # fmt: skip

#: NumPy's reductions as steps, without and with ``keepdims``.
FOLDS: dict[Any, tuple[Op, Op]] = {
    np.sum: (_SUM, _keeping(_SUM, np.add)),
    np.mean: (_MEAN, _KEEPING_MEAN),
    np.max: (_MAX, _keeping(_MAX, np.maximum)),
    np.min: (_MIN, _keeping(_MIN, np.minimum)),
}

# ---------------------------------------------------------------- exponentials, variances


@lru_cache(maxsize=512)
def _way_back(op: Composed, shape: Any, dtype: Any, items: Any) -> Formula:
    """Return the gradient of the operand by the gradient of the result, and the operand."""
    x = Input("x", shape, dtype)
    with apart():  # as a kernel of the steps is made
        y = as_node(op.steps(Traced(x), **dict(items)))
        ct = Input("ct", y.shape, y.dtype)
        return Formula([ct, x], pull_back([y], [ct], [x]))


def no_push(*_: Any, **__: Any) -> Any:
    """The other product with the Jacobian: tensors go back alone."""
    raise NotImplementedError


#: A context in which NumPy says nothing.
_SILENT = Context()
_SILENT.run(np.seterr, all="ignore")


def _step(
    name: str, steps: Callable[..., Any], evaluate: Callable[..., Any] | None = None,
    silent: bool = True, **fields: Any,
) -> Composed:  # fmt: skip
    """Return a function of one operand as one step."""
    compute = evaluate or steps

    def silently(x: Any, **params: Any) -> Any:
        return _SILENT.copy().run(compute, x, **params)

    def back(ct: Any, _: Any, x: Any, **params: Any) -> list[Any]:
        # Whatever is being traced around it is none of its concern.
        made = Context().run(_way_back, op, x.shape, x.dtype, tuple(params.items()))
        return made(ct, x, tensors=not isinstance(x, np.ndarray))

    def source(x: Any, **params: Any) -> str:
        return f"{name.lower()}({', '.join([str(x), *(f'{k}={v}' for k, v in params.items())])})"

    op = Composed(
        name, evaluate=silently if silent else compute, steps=steps, rule=Products(back, no_push),
        **fields,
    )  # fmt: skip
    Code(source=source).put(op)
    return op


def _spread(mask: Any, x: Any, axis: Any, keepdims: bool = False, **_: Any) -> tuple[Any]:
    """Return where an operand's gradient can differ from 0, for reductions and the like."""
    if mask.shape == x.shape:
        mask = np.any(mask, axis=axis, keepdims=True)
    elif not keepdims:
        mask = np.reshape(mask, np.any(x, axis=axis, keepdims=True).shape)
    return (np.broadcast_to(mask, x.shape),)


def _softmax(x: Any, axis: Any) -> Any:
    if x.dtype.kind != "f":
        return np_logsumexp.softmax(x, axis=axis)
    away = x - np.maximum.reduce(x, axis, None, None, True)
    np.exp(away, away)
    return np.divide(away, np.add.reduce(away, axis, None, None, True), away)


SOFTMAX = _step(
    "Softmax", lambda x, axis: np_logsumexp.softmax(x, axis=axis), _softmax, support=_spread
)
LOG_SOFTMAX = _step(
    "LogSoftmax", lambda x, axis: np_logsumexp.log_softmax(x, axis=axis), support=_spread
)
LOGSUMEXP = _step(
    "Logsumexp", lambda x, axis, keepdims: np_logsumexp.logsumexp(x, axis=axis, keepdims=keepdims),
    support=_spread,
)  # fmt: skip
VAR = _step("Var", lambda x, **how: np_statistics.var(x, **how), silent=False, support=_spread)
STD = _step("Std", lambda x, **how: np_statistics.std(x, **how), silent=False, support=_spread)


#: PyTorch's names of ``grad_fn`` where they differ from the records'.
_TORCH = {
    "Multiply": "Mul", "Divide": "Div", "Subtract": "Sub", "Power": "Pow", "Negative": "Neg",
    "Absolute": "Abs", "Positive": "Clone", "Arctan2": "Atan2",
    "Arcsin": "Asin", "Arccos": "Acos", "Arctan": "Atan", "Arcsinh": "Asinh",
    "Arccosh": "Acosh", "Arctanh": "Atanh", "Expit": "Sigmoid",
    "Reshape": "View", "Broadcast": "Expand", "Transpose": "Permute", "Cast": "ToCopy",
    "Contract": "Bmm",
}  # fmt: skip

#: Ops whose rule reads the result alone, and that are inner steps of shortcuts, which read the
#: operand: ``exp(x)`` overflows, ``x`` does not.
KEPT = frozenset(("Exp", "Expit", "Expm1", "Sqrt"))

_classes: dict[Op, type[Backward] | None] = {}


def backward_class(op: Op) -> type[Backward] | None:
    """Return the class of ``op``'s nodes, or None if no derivative flows through it."""
    try:
        return _classes[op]
    except KeyError:
        made = None
        if differentiable(op):
            name = f"{_TORCH.get(op.name, op.name)}Backward0"
            fields = {"__slots__": (), "op": op, "rules": {}, "__doc__": f"Back from {op.name}."}
            made = type(name, (Backward,), fields)
        return _classes.setdefault(op, made)


def rule_for(cls: type[Backward], mask: int, count: int, params: dict[str, Any]) -> Rule:
    """Return the rule for gradients of some operands; made when first asked for.

    ``mask`` has a bit for each operand that requires a gradient.
    """
    key: Any = (mask, count)
    if params and cls.op.kind == "map":
        key = (mask, count, *sorted(params.items()))
    found = cls.rules.get(key)
    if found is None:
        wanted = [bool(mask >> k & 1) for k in range(count)]
        # Whatever is being traced around it is none of its concern.
        found = cls.rules[key] = Context().run(_rule_of, cls.op, wanted, params)
    return found


def _rule_of(op: Op, wanted: Sequence[bool], params: Mapping[str, Any]) -> Rule:
    """Return the rule of ``op`` for gradients of the wanted operands."""
    needs, reads_result = _read_by(op, wanted)
    plain = Rule(needs, needs, reads_result)
    if op.kind != "map" or op.linear is not None:
        return plain
    inputs = [Input(f"x{k}", (), np.float64) for k in range(len(wanted) + 2)]
    ct, y, *xs = map(Traced, inputs)
    try:
        parts = pull(op, ct, y, xs, params, wanted)
    except foreseen(SymgradError, TypeError, ValueError):
        return plain  # a rule that does not trace
    formula = Formula(inputs, [None if p is None else as_node(p) for p in parts], weak=True)
    used = {k for _, _, read, _ in formula.calls for k in read} | set(formula.results)
    needs, reads_result = tuple(k + 2 in used for k in range(len(wanted))), 1 in used
    saves = tuple(needed or op.name in KEPT for needed in needs)
    return Rule(needs, saves, reads_result, formula)


def _read_by(op: Op, wanted: Sequence[bool]) -> tuple[tuple[bool, ...], bool]:
    """Return what the rule of an op may read: operands, result."""
    if op.linear is not None:  # it reads the operands in which it is not
        linear = op.linear.places(len(wanted))
        return tuple(k not in linear for k in range(len(wanted))), False
    if op.kind == "contract":  # linear in each: for the one it reads the other
        return (wanted[1], wanted[0]), False
    return (True,) * len(wanted), getattr(op, "reads_result", True)
