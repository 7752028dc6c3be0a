"""The tensor: numbers, and a record of where they came from.

An op applied to a tensor is the op of the compiler: its record computes the result on the
arrays at once, and a node remembers what its derivative rule will read.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .._graph import user_line
from .._graph._types import check_dtype
from .._op import Op, registry
from .._ops import CAST, getitem
from .._trace import Traced
from .._trace._arrays import ArrayMethods, add_operators, call
from ..errors import ArgumentError, BackwardError, DTypeError, ShapeError, UnsupportedError
from ._engine import run
from ._inplace import InPlace
from ._mode import default, mode
from ._node import AccumulateGrad, Backward, Cell, Node, backward_class, clock, plan, set_wrap
from ._show import tensor_text

_OPS = registry.ops
_STOP = _OPS["StopGradient"]
_NONE: dict[str, Any] = {}
ndarray, asarray, new = np.ndarray, np.asarray, object.__new__


class Tensor(InPlace, ArrayMethods):
    """An array that can tell its derivative; made by :func:`symgrad.tensor` and by ops.

    NumPy functions, operators and methods apply to it; a result that depends on a tensor
    with ``requires_grad`` remembers how it was computed, and :meth:`backward` sends
    gradients that way back.

    Attributes
    ----------
    name:
        The name in formulas and pictures, or None.
    """

    __slots__ = (
        "__weakref__", "_acc", "_cell", "_data", "_fn", "_grad", "_requires", "name",
    )  # fmt: skip
    _data: np.ndarray[Any, Any]
    _fn: Backward | None
    _requires: bool
    _cell: Cell | None
    _grad: Tensor | None
    _acc: weakref.ref[AccumulateGrad] | None
    name: str | None
    __hash__ = object.__hash__

    def __init__(self, data: Any, requires_grad: bool = False, name: str | None = None) -> None:
        self._data = _array(data)
        self._fn = self._cell = self._grad = self._acc = None
        self._requires = False
        self.name = name
        if requires_grad:
            self.requires_grad = True

    # ---------------------------------------------------------------- applying ops

    @staticmethod
    def __symgrad_bind__(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Tensor:
        return bind(op, operands, params)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs:
            handler = _QUICK.get(ufunc) or registry.handlers.get(ufunc)
            if handler is not None:
                for x in inputs:
                    if isinstance(x, Traced):
                        return NotImplemented
                return handler(*inputs)
        if not _required(inputs) and (ufunc not in registry.handlers or kwargs.get("out")):
            return _plainly(getattr(ufunc, method), inputs, kwargs)
        return super().__array_ufunc__(ufunc, method, *inputs, **kwargs)

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if any(issubclass(t, Traced) for t in types):
            return NotImplemented
        if func is np.copy:
            return self.clone()
        if func not in registry.handlers:
            if func in _REPORTS:
                return _plainly(func, args, kwargs)
            if not _required((args, kwargs)):
                return _plainly(func, args, kwargs)
        return call(func, args, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if self._requires:
            raise BackwardError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead: a plain array would lose the way back to the inputs."
            )
        return np.array(self._data, dtype, copy=copy)

    def __getitem__(self, index: Any) -> Any:
        return getitem(self, plain(index))

    # ---------------------------------------------------------------- what it is

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self._data.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type, a NumPy dtype."""
        return self._data.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._data.ndim  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        """The number of elements, as in NumPy."""
        return self._data.size  # type: ignore[no-any-return]

    @property
    def data(self) -> Tensor:
        """The numbers without the record; writing to it is seen by the tensor."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        array = np.asarray(getattr(value, "_data", value), self._data.dtype)
        if array.shape != self._data.shape:
            raise ShapeError(
                f"data of shape {array.shape} was given to a tensor of shape {self.shape}"
            )
        self.memory().written = next(clock)
        self._data = array.copy() if array.base is not None else array

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to the tensor; can be set on leaves."""
        return self._requires

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if self._fn is not None:
            if value:
                return
            raise BackwardError(
                "you can only change requires_grad flags of leaf variables: use t.detach()"
            )
        if value and self._data.dtype.kind != "f":
            raise DTypeError(
                "only tensors of floating point type can require gradients, not "
                f"{self._data.dtype}: write sg.tensor([1.0, 2.0]) or t.astype(float)"
            )
        self._requires = bool(value)

    @property
    def grad_fn(self) -> Backward | None:
        """The local derivative of the op that made the tensor; None for a leaf."""
        return self._fn

    @property
    def is_leaf(self) -> bool:
        """Whether the tensor was made by the user, or needs no gradient."""
        return self._fn is None

    @property
    def grad(self) -> Tensor | None:
        """The gradient accumulated so far, or None."""
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise ArgumentError(f".grad is a tensor or None, not {type(value).__name__}")
            if value.shape != self.shape:
                raise ShapeError(
                    f"a gradient of shape {value.shape} was given to a tensor of shape {self.shape}"
                )
        self._grad = value

    @property
    def retains_grad(self) -> bool:
        """Whether the gradient of a tensor that is no leaf is kept in ``.grad``."""
        fn = self._fn
        return bool(fn and fn.extra and any(r() is self for r in fn.extra.retained))

    # ---------------------------------------------------------------- numbers

    def item(self) -> Any:
        """Return the only element as a Python number.

        Raises
        ------
        ShapeError
            If there is not exactly one element.
        """
        if self._data.size != 1:
            raise ShapeError(
                f"a Tensor with {self._data.size} elements cannot be converted to Scalar: "
                "sum it, index it, or use tolist()"
            )
        return self._data.item()

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers."""
        return self._data.tolist()

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return the array, which shares the tensor's memory.

        Raises
        ------
        BackwardError
            If the tensor requires a gradient: write ``t.detach().numpy()``.
        """
        self.__array__(copy=False)
        return self._data

    def __bool__(self) -> bool:
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self._data.dtype.kind not in "iu":
            raise TypeError("only integer tensors of a single element can be an index")
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __repr__(self) -> str:
        notes = []
        kind = self._data.dtype
        if kind != default.dtype and kind not in (np.dtype(np.int64), np.dtype(bool)):
            notes.append(f"dtype={kind.name}")
        if self._fn is not None:
            notes.append(f"grad_fn=<{self._fn.name()}>")
        elif self._requires:
            notes.append("requires_grad=True")
        return tensor_text(self._data, notes)

    def __format__(self, spec: str) -> str:
        if self._data.ndim == 0:
            return format(self._data.item(), spec)
        return format(repr(self), spec)

    # ---------------------------------------------------------------- the record

    def detach(self) -> Tensor:
        """Return a tensor with the same memory and without the record."""
        cell = self.memory()
        made = wrap(self._data)
        made._cell, made.name = cell, self.name
        return made

    def clone(self) -> Tensor:
        """Return a copy, through which gradients flow."""
        if self._data.dtype.kind != "f":
            return wrap(self._data.copy())
        return bind(_OPS["Positive"], (self,), {})

    def memory(self) -> Cell:
        """Return the record of writes to the tensor's memory."""
        if self._cell is None:
            self._cell = Cell()
        return self._cell

    def edge(self) -> Node | None:
        """Return the node that a gradient of the tensor goes to."""
        if self._fn is not None:
            return self._fn
        if not self._requires:
            return None
        node = self._acc() if self._acc is not None else None
        if node is None:
            node = AccumulateGrad(self)
            self._acc = weakref.ref(node)
        return node

    def retain_grad(self) -> None:
        """Keep the gradient in ``.grad``, though the tensor is no leaf.

        Raises
        ------
        BackwardError
            If the tensor requires no gradient.
        """
        if not self._requires:
            raise BackwardError("can't retain_grad on Tensor that has requires_grad=False")
        if self._fn is not None and not self.retains_grad:
            self._fn.extras().retained.append(weakref.ref(self))

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Handle:
        """Call ``hook(gradient)`` whenever the tensor's gradient is computed.

        Parameters
        ----------
        hook:
            May return another gradient to go on with, of the same shape.

        Returns
        -------
        Handle
            Its ``remove()`` takes the hook away.

        Raises
        ------
        BackwardError
            If the tensor requires no gradient.
        """
        node = self.edge()
        if node is None:
            raise BackwardError("cannot register a hook on a tensor that doesn't require gradient")
        handle = Handle(node, next(clock))
        node.extras().hooks[handle.key] = hook
        return handle

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
    ) -> None:
        """Compute the derivative with respect to the leaves and add it to their ``.grad``.

        Parameters
        ----------
        gradient:
            The weight of each element, of the tensor's shape; can be left out for a tensor
            of one element (1).
        retain_graph:
            Whether the buffers are kept for another call.
        create_graph:
            Whether the derivative can be differentiated again.

        Raises
        ------
        BackwardError
            If nothing requires a gradient, the buffers have been freed, a value was
            overwritten, or the gradient is missing or of another shape. Every ``.grad``
            is as it was then.
        """
        node = self.edge()
        if node is None:
            raise BackwardError(
                "element 0 of tensors does not require grad and does not have a grad_fn: make "
                "an input with requires_grad=True"
            )
        given = seed(self, gradient, create_graph)
        retain = create_graph if retain_graph is None else retain_graph
        run([node], [given], retain_graph=retain, create_graph=create_graph)

    def _accumulate(self, array: Any, tensor: Tensor | None) -> None:
        """Add a gradient: an array, or a tensor that has a record itself."""
        if tensor is not None:
            with_record = tensor if self._grad is None else bind(
                _OPS["Add"], (self._grad, tensor), {}
            )  # fmt: skip
            self._grad = with_record
        elif self._grad is None:
            self._grad = wrap(np.array(array, self._data.dtype))
        elif self._grad._requires:
            self._grad = wrap(self._grad._data + array)
        else:
            np.add(self._grad._data, array, out=self._grad._data)
            self._grad.memory().written = next(clock)

    # ---------------------------------------------------------------- methods

    def __neg__(self) -> Any:
        return bind(_OPS["Negative"], (self,), {})

    def __abs__(self) -> Any:
        return bind(_OPS["Absolute"], (self,), {})

    def __invert__(self) -> Any:
        return bind(_OPS["Invert"], (self,), {})

    def astype(self, dtype: Any, **_: Any) -> Any:
        """Return the tensor converted to another element type; itself if it has that type."""
        wanted = check_dtype(np.dtype(dtype), "astype")
        return self if wanted == self._data.dtype else bind(CAST, (self,), {"dtype": wanted.name})

    def copy(self, order: str = "C") -> Any:
        """Return a copy, through which gradients flow."""
        return self.clone()

    def __copy__(self) -> Tensor:
        return self.__deepcopy__(None)

    def __deepcopy__(self, memo: Any) -> Tensor:
        make, args = self.__reduce__()
        return make(*args)  # type: ignore[no-any-return]

    def __reduce__(self) -> Any:
        if self._fn is not None:
            raise BackwardError(
                "only leaf tensors can be copied deeply or pickled: use t.detach() or t.clone()"
            )
        return Tensor, (self._data.copy(), self._requires, self.name)


class Handle:
    """What :meth:`Tensor.register_hook` returns."""

    def __init__(self, node: Node, key: int) -> None:
        self.node, self.key = node, key

    def remove(self) -> None:
        """Take the hook away."""
        if self.node.extra is not None:
            self.node.extra.hooks.pop(self.key, None)


# ---------------------------------------------------------------- making and recording


def _array(data: Any) -> np.ndarray[Any, Any]:
    return data if isinstance(data, np.ndarray) else np.asarray(data)


def wrap(data: Any) -> Tensor:
    """Return a tensor of an array, which it shares."""
    made: Tensor = Tensor.__new__(Tensor)
    made._data = data if type(data) is np.ndarray else np.asarray(data)
    made._fn = made._cell = made._grad = made._acc = made.name = None
    made._requires = False
    return made


set_wrap(wrap)


def bind(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Tensor:
    """Return the result of an op on tensors, arrays and numbers, and record it."""
    required = False
    values = []
    for x in operands:
        if isinstance(x, Tensor):
            values.append(x._data)
            required = required or x._requires
            if x._cell is not None and x._cell.rebased:
                _check_history(x)
        else:
            values.append(x)
    data = op.evaluate(*values, **params)
    made: Tensor = Tensor.__new__(Tensor)
    made._data = data = data if type(data) is np.ndarray else np.asarray(data)
    made._fn = made._cell = made._grad = made._acc = made.name = None
    made._requires = False
    if op.kind == "view" or op is _STOP:  # it may share the operand's memory
        made._cell = operands[0].memory() if isinstance(operands[0], Tensor) else None
    if required and mode.recording and data.dtype.kind == "f":
        cls = backward_class(op)
        if cls is not None:
            made._fn = _record(cls, made, operands, params)
            made._requires = True
    return made


def _record(
    cls: type[Backward], made: Tensor, operands: tuple[Any, ...], params: dict[str, Any]
) -> Backward:
    edges: list[Node | None] = []
    mask = 0
    for k, x in enumerate(operands):
        edge = x.edge() if isinstance(x, Tensor) and x._requires else None
        edges.append(edge)
        if edge is not None:
            mask |= 1 << k
    rule, needs, reads_result = plan(cls, mask, len(operands), params)
    data = made._data
    node: Backward = cls.__new__(cls)
    saved: list[Any] = []
    for x, edge, needed in zip(operands, edges, needs, strict=True):
        if isinstance(x, Tensor):
            if edge is not None and not needed:
                saved.append((x._data.shape, x._data.dtype))
            else:
                saved.append(x)
        else:
            saved.append(_constant(cls.op, x, data.dtype))
    node.edges, node.saved, node.needs, node.params = tuple(edges), tuple(saved), needs, params
    node.rule, node.extra, node.cell, node.result = rule, None, None, None
    if reads_result:
        node.result = data
        node.cell = made.memory()
    elif made._cell is not None and operands[0]._fn is None:
        made._cell.leaf = True  # a view of a leaf
    node.where = user_line()
    node.seq = next(clock)
    return node


def _binary(op: Op) -> Callable[[Any, Any], Any]:
    """Return :func:`bind` for an elementwise op of two operands, without what it can skip."""
    evaluate, cls = op.evaluate, backward_class(op)

    def apply(x: Any, y: Any) -> Any:
        kind, other = type(x), type(y)
        if kind is Tensor:
            mask = 1 if x._requires else 0
            if other is Tensor:
                if y._requires:
                    mask += 2
                if x._cell is not None or y._cell is not None:
                    return bind(op, (x, y), _NONE)
                data = evaluate(x._data, y._data)
            elif (other is float or other is int) and x._cell is None:
                data = evaluate(x._data, y)
            else:
                return bind(op, (x, y), _NONE)
        elif (kind is float or kind is int) and y._cell is None:
            mask = 2 if y._requires else 0
            data = evaluate(x, y._data)
        else:
            return bind(op, (x, y), _NONE)
        if type(data) is not ndarray:
            data = asarray(data)
        made: Tensor = new(Tensor)
        made._data = data
        made._cell = made._grad = made._acc = made.name = None
        dtype = data.dtype
        if cls is None or mask == 0 or dtype.kind != "f" or not mode.recording:
            made._fn, made._requires = None, False
            return made
        rule, needs, reads_result = cls.plans.get(mask) or plan(cls, mask, 2, _NONE)
        node: Backward = new(cls)
        first = second = None
        if kind is Tensor:
            if mask & 1:
                first = x._fn or x.edge()
            if mask != 2 and not needs[0]:
                x = (x._data.shape, x._data.dtype)
        else:
            x = dtype.type(x)
        if other is Tensor:
            if mask & 2:
                second = y._fn or y.edge()
                if not needs[1]:
                    y = (y._data.shape, y._data.dtype)
        else:
            y = dtype.type(y)
        node.edges, node.saved, node.needs, node.params = (first, second), (x, y), needs, _NONE
        node.rule, node.extra = rule, None
        if reads_result:
            node.result, node.cell = data, made.memory()
        else:
            node.result = node.cell = None
        node.where = user_line()
        node.seq = next(clock)
        made._fn, made._requires = node, True
        return made

    return apply


def _unary(op: Op) -> Callable[[Any], Any]:
    """Return :func:`bind` for an elementwise op of one operand."""
    evaluate, cls = op.evaluate, backward_class(op)

    def apply(x: Any) -> Any:
        if type(x) is not Tensor or x._cell is not None:
            return bind(op, (x,), _NONE)
        data = evaluate(x._data)
        if type(data) is not ndarray:
            data = asarray(data)
        made: Tensor = new(Tensor)
        made._data = data
        made._cell = made._grad = made._acc = made.name = None
        if cls is None or not x._requires or data.dtype.kind != "f" or not mode.recording:
            made._fn, made._requires = None, False
            return made
        rule, needs, reads_result = cls.plans.get(1) or plan(cls, 1, 1, _NONE)
        node: Backward = new(cls)
        node.edges = (x._fn or x.edge(),)
        node.saved = (x if needs[0] else (x._data.shape, x._data.dtype),)
        node.needs, node.params, node.rule, node.extra = needs, _NONE, rule, None
        if reads_result:
            node.result, node.cell = data, made.memory()
        else:
            node.result = node.cell = None
        node.where = user_line()
        node.seq = next(clock)
        made._fn, made._requires = node, True
        return made

    return apply


def _constant(op: Op, x: Any, dtype: np.dtype[Any]) -> Any:
    """A constant operand as the rule reads it: later writes to an array do not reach it."""
    if type(x) in (int, float) and op.kind == "map":
        return dtype.type(x)
    array = np.array(x)
    if op.kind == "map" and array.dtype.kind in "iu":
        array = array.astype(dtype)
    return array


def _check_history(x: Tensor) -> None:
    """Raise if the memory of ``x`` was written by a recorded op on another tensor."""
    assert x._cell is not None
    if (x._fn.seq if x._fn is not None else 0) < x._cell.rebased:
        raise BackwardError(
            f"a tensor of shape {x.shape} shares memory with a view that was written to in "
            "place by a recorded op, so its own record is no longer right. Take the view "
            "again after writing, or write to a clone()."
        )


def seed(output: Tensor, gradient: Any, create_graph: bool) -> Any:
    """Return the gradient of an output to start from, checked."""
    if gradient is None:
        if output._data.size != 1:
            raise BackwardError(
                "grad can be implicitly created only for scalar outputs, not for shape "
                f"{output.shape}: give gradient=, of that shape"
            )
        array = np.ones(output.shape, output.dtype)
        return wrap(array) if create_graph else array
    array = np.asarray(getattr(gradient, "_data", gradient))
    if array.shape != output.shape:
        raise BackwardError(
            f"Mismatch in shape: gradient has a shape of {array.shape} and the output has a "
            f"shape of {output.shape}"
        )
    if array.dtype.kind not in "fiu":
        raise BackwardError(f"gradient has element type {array.dtype}: it must be real")
    if create_graph:
        return (gradient if isinstance(gradient, Tensor) else wrap(array)).astype(output.dtype)
    # Not the given memory itself: a hook or .grad must not change with it.
    return array.astype(output.dtype)


# ---------------------------------------------------------------- plain numbers


#: Functions that report on values and have no derivative.
_REPORTS = frozenset((np.array_equal, np.allclose, np.array_repr, np.array_str, np.array2string))


def plain(value: Any) -> Any:
    """Return a nested argument with arrays in place of tensors."""
    if isinstance(value, Tensor):
        return value._data
    if isinstance(value, (tuple, list)):
        return type(value)(map(plain, value))
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def _required(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value._requires and mode.recording
    if isinstance(value, dict):
        value = tuple(value.values())
    return isinstance(value, (tuple, list)) and any(map(_required, value))


def _plainly(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Carry out a function that symgrad does not differentiate, on the arrays."""
    result = function(*plain(args), **plain(kwargs))
    if isinstance(result, (tuple, list)):
        return type(result)(wrap(r) if isinstance(r, np.ndarray) else r for r in result)
    return wrap(result) if isinstance(result, np.ndarray) else result


def _operator(name: str, swap: bool = False) -> Callable[[Any, Any], Any]:
    apply = _binary(_OPS[name])

    def method(self: Tensor, other: Any) -> Any:
        if isinstance(other, _FOREIGN):
            return NotImplemented
        return apply(self, other)

    def reflected(self: Tensor, other: Any) -> Any:
        if isinstance(other, _FOREIGN):
            return NotImplemented
        return apply(other, self)

    return reflected if swap else method


#: What an operator leaves to the other operand.
_FOREIGN = (str, bytes, type(None), Traced)
add_operators(Tensor, _operator)

#: The short ways for universal functions.
_QUICK: dict[Any, Callable[..., Any]] = {
    function: (_unary if op.arity == 1 else _binary)(op)
    for function, op in registry.handlers.items()
    if isinstance(op, Op) and op.kind == "map" and op.arity in (1, 2) and op is not _STOP
}

__all__ = ["Handle", "Tensor", "UnsupportedError", "bind", "plain", "seed", "wrap"]
