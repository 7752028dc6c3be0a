"""A NumPy function as an op of PyTensor's, with its gradient: PyMC samples models that have it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.base.fork_safety import undisturbed
from ..errors import ArgumentError, DTypeError, MissingExtraError, ShapeError, SymgradError
from ._flat import Bridge, Flat, Kind, UnfitLeafError, places_of, with_constants

#: The length of axes whose length PyTensor does not know, in the trace that tells the types.
UNKNOWN = 3


def to_pytensor(f: Callable[..., Any]) -> PyTensorFunction:
    """Return a NumPy function as a function of PyTensor variables, with its gradient.

    The value and all derivatives are compiled by symgrad. In a model of PyMC's, NUTS samples
    what is computed by it: the solution of a differential equation, a root, a filter.

    Parameters
    ----------
    f:
        A NumPy function of real arrays, numbers and containers of them, or one that symgrad
        made. It is pure, and returns arrays and numbers, nested as needed.

    Returns
    -------
    PyTensorFunction
        Call it like ``f``, with variables of PyTensor's, and so of PyMC's, among the arguments.
        Arrays are constants of the graph, all else is a constant of ``f``. Its results are
        variables, nested as those of ``f``. ``pytensor.grad``, ``Rop`` and ``vectorize_graph``
        work, to any order.

    Raises
    ------
    MissingExtraError
        If PyTensor is not installed.
    ArgumentError, DTypeError
        When called, for complex variables, for those that are no arrays, for results that are
        neither arrays nor numbers, and if the types of results cannot be told.

    Notes
    -----
    PyTensor asks for the types of results before there are values, so ``f`` is traced with ones
    in place of the variables. Axes of unknown length are taken for 3 long; where ``f`` needs
    another length, ``pytensor.tensor.specify_shape(x, (20,))`` says so.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> import pytensor, pytensor.tensor as pt  # doctest: +SKIP
    >>> area = sg.to_pytensor(lambda p: np.sqrt(np.prod(p)))  # doctest: +SKIP
    >>> p = pt.dvector("p")  # doctest: +SKIP
    >>> slope = pytensor.function([p], pytensor.grad(area(p), p))  # doctest: +SKIP
    >>> slope(np.array([2.0, 8.0]))  # doctest: +SKIP
    array([1.  , 0.25])
    """
    return PyTensorFunction(f)


class PyTensorFunction(Bridge):
    """A NumPy function of PyTensor variables; made by :func:`symgrad.to_pytensor`."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self._library, self._op = _loaded()
        super().__init__(f, to_pytensor)

    def _applied(self, flat: Flat, leaves: list[Any]) -> Any:
        variables, constants = [], []
        for k, leaf in enumerate(leaves):
            if isinstance(leaf, list):  # of numbers
                leaf = np.asarray(leaf)
            if isinstance(leaf, self._library.graph.basic.Variable | np.ndarray | np.generic):
                variables.append(self._variable(leaf, k))
            else:
                constants.append((k, leaf))
        try:
            kinds, nest = flat.kinds(with_constants([_example(x) for x in variables], constants))
        except SymgradError as error:
            if all(None not in x.type.shape for x in variables):
                raise
            raise ArgumentError(
                f"to_pytensor: the types of the results are not known. Where axes of unknown "
                f"length are taken for {UNKNOWN} long, tracing ends in this: {error}. Write "
                "instead: pytensor.tensor.specify_shape(x, (20,)), with the lengths of x"
            ) from error
        assert nest is not None
        known = all(None not in x.type.shape for x in variables)
        if not known:
            kinds = [Kind((None,) * len(x.shape), x.dtype) for x in kinds]  # type: ignore[arg-type]
        found = self._op(flat, tuple(constants), tuple(kinds))(*variables, return_list=True)
        return nest.pack(found)

    def _variable(self, leaf: Any, position: int) -> Any:
        tensor = self._library.tensor
        if isinstance(leaf, self._library.graph.basic.Variable) and not isinstance(
            leaf.type, tensor.TensorType | self._library.scalar.ScalarType
        ):
            raise UnfitLeafError(position, f"is a variable of type {leaf.type}, which is no array")
        found = tensor.as_tensor_variable(leaf)
        if found.type.dtype.startswith("complex"):
            raise UnfitLeafError(
                position,
                "is complex, and PyTensor has no gradients of complex variables. Write instead: "
                "a function of the real and the imaginary part",
                DTypeError,
            )
        return found


def _example(variable: Any) -> Any:
    shape = [UNKNOWN if size is None else size for size in variable.type.shape]
    return np.ones(shape, variable.type.dtype)


def _op(flat: Flat, constants: tuple[Any, ...], kinds: tuple[Kind, ...]) -> Any:
    """Return an op, for pickles: its class is made when PyTensor is imported."""
    return _loaded()[1](flat, constants, kinds)


@functools.cache
def _loaded() -> tuple[Any, Any]:
    """Return PyTensor, and the class of ops that are functions of leaves."""
    with undisturbed():
        try:
            import pytensor  # noqa: PLC0415
            from pytensor.gradient import DisconnectedType  # noqa: PLC0415
            from pytensor.graph.basic import Apply  # noqa: PLC0415
            from pytensor.graph.op import Op  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtraError("pytensor", "pytensor", "to_pytensor") from error

    tensor = pytensor.tensor

    def real(variable: Any) -> bool:
        return str(variable.type.dtype).startswith("float")

    def connected(variable: Any) -> bool:
        return not isinstance(variable.type, DisconnectedType)

    class NumPyOp(Op):  # type: ignore[misc]
        """A function of the variables among the leaves.

        Parameters
        ----------
        flat:
            The function of all leaves.
        constants:
            Those that are no variables: position and value.
        kinds:
            The kinds of the results; an unknown size is None.
        """

        def __init__(self, flat: Flat, constants: tuple[Any, ...], kinds: tuple[Kind, ...]) -> None:
            self.flat, self.constants, self.kinds = flat, constants, kinds

        def __reduce__(self) -> tuple[Any, ...]:
            return _op, (self.flat, self.constants, self.kinds)

        def make_node(self, *inputs: Any) -> Any:
            given = [tensor.as_tensor_variable(x) for x in inputs]
            types = [tensor.TensorType(str(x.dtype), shape=x.shape) for x in self.kinds]
            return Apply(self, given, [kind() for kind in types])

        def perform(self, node: Any, inputs: Sequence[Any], output_storage: Any) -> None:
            found, _ = self.flat(with_constants(inputs, self.constants))
            for storage, array, kind in zip(output_storage, found, self.kinds, strict=True):
                fits = len(array.shape) == len(kind.shape) and all(
                    told in (None, size) for told, size in zip(kind.shape, array.shape, strict=True)
                )
                if not fits:
                    raise ShapeError(
                        f"to_pytensor: a result of shape {kind.shape} was announced to PyTensor, "
                        f"where the function was traced with ones, and now its shape is "
                        f"{array.shape}: shapes must not depend on values"
                    )
                storage[0] = np.asarray(array, kind.dtype)

        def _places(self, wrt: Sequence[int]) -> tuple[int, ...]:
            return places_of(wrt, self.flat.count, (k for k, _ in self.constants))

        def connection_pattern(self, node: Any) -> list[list[bool]]:
            return [[real(x) and real(y) for y in node.outputs] for x in node.inputs]

        def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
            wrt = [k for k, x in enumerate(inputs) if real(x)]
            seeds = [
                (x if connected(x) else y.zeros_like()).astype(y.type.dtype)
                for x, y in zip(cotangents, outputs, strict=True)
                if real(y)
            ]
            flat = self.flat.pullback(self._places(wrt), len(seeds))
            kinds = tuple(Kind(inputs[k].type.shape, np.dtype(inputs[k].type.dtype)) for k in wrt)
            op = NumPyOp(flat, self.constants, kinds)
            found = dict(zip(wrt, op(*inputs, *seeds, return_list=True), strict=True))
            return [found.get(k, DisconnectedType()()) for k in range(len(inputs))]

        def pushforward(self, inputs: Any, outputs: Any, tangents: Any) -> list[Any]:
            wrt = [k for k, x in enumerate(tangents) if real(inputs[k]) and connected(x)]
            moved = [tangents[k].astype(inputs[k].type.dtype) for k in wrt]
            flat = self.flat.pushforward(self._places(wrt))
            kinds = tuple(kind for kind in self.kinds if kind.real)
            op = NumPyOp(flat, self.constants, kinds)
            found = iter(op(*inputs, *moved, return_list=True))
            return [next(found) if x.real else DisconnectedType()() for x in self.kinds]

        # Of PyTensor before 3, under the names of that.

        def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
            return self.pullback(inputs, outputs, output_grads)

        def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
            still = DisconnectedType()()
            tangents = [still if x is None else x for x in eval_points]
            found = self.pushforward(inputs, self.make_node(*inputs).outputs, tangents)
            return [x if connected(x) else None for x in found]

    return pytensor, NumPyOp
