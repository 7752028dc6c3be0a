"""A tensor's record: where it came from, its gradient, and the way back."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from .._core.base.argument_checks import as_flag, shown
from ..errors import ArgumentError, BackwardError, DTypeError, ShapeError
from ._engine import run
from ._node import AccumulateGrad, Backward, Node, Value, wrap
from ._origin import clock


class History(Value):
    """The methods of tensors that are about gradients."""

    __slots__ = ()

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
    def grad(self) -> Self | None:
        """The gradient accumulated so far, or None."""
        found: Self | None = self._grad
        return found

    @grad.setter
    def grad(self, value: Self | None) -> None:
        if value is not None:
            if not isinstance(value, History):
                raise ArgumentError(f".grad is a tensor or None, not {type(value).__name__}")
            if value.shape != self._data.shape:
                raise ShapeError(
                    f"a gradient of shape {value.shape} was given to a tensor of shape "
                    f"{self._data.shape}"
                )
        self._grad = value

    @property
    def retains_grad(self) -> bool:
        """Whether the gradient of a tensor that is no leaf is kept in ``.grad``."""
        fn = self._fn
        return bool(fn and fn.extra and any(r() is self for r in fn.extra.retained))

    # ---------------------------------------------------------------- the way back

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

    def register_hook(self, hook: Callable[[Self], Self | None]) -> Handle:
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
        ArgumentError
            If the hook cannot be called.
        BackwardError
            If the tensor requires no gradient.
        """
        if not callable(hook):
            raise ArgumentError(
                f"a hook is a function of the gradient, not {type(hook).__name__}: write "
                "t.register_hook(lambda gradient: ...)"
            )
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
        create_graph = as_flag(create_graph, "backward: create_graph")
        given = seed(self, gradient, create_graph)
        retain = create_graph
        if retain_graph is not None:
            retain = as_flag(retain_graph, "backward: retain_graph", or_none=True)
        run([node], [given], retain_graph=retain, create_graph=create_graph)


class Handle:
    """What :meth:`Tensor.register_hook` returns."""

    def __init__(self, node: Node, key: int) -> None:
        self.node, self.key = node, key

    def remove(self) -> None:
        """Take the hook away."""
        extra = self.node.extra
        if extra is not None:
            extra.hooks.pop(self.key, None)
            if extra.empty and isinstance(self.node, AccumulateGrad):
                self.node.variable._acc = weakref.ref(self.node)


def seed(output: Value, gradient: Any, create_graph: bool) -> Any:
    """Return the gradient of an output to start from, checked."""
    if gradient is None:
        if output._data.size != 1:
            raise BackwardError(
                "grad can be implicitly created only for scalar outputs, not for shape "
                f"{output.shape}: give gradient=, of that shape"
            )
        array = np.empty(output.shape, output.dtype)
        array.fill(1)
        return wrap(array) if create_graph else array
    try:
        array = np.asarray(getattr(gradient, "_data", gradient))
    except ValueError:
        raise ArgumentError(f"gradient is a tensor or an array, not {shown(gradient)}") from None
    if array.shape != output.shape:
        raise BackwardError(
            f"Mismatch in shape: gradient has a shape of {array.shape} and the output has a "
            f"shape of {output.shape}"
        )
    if array.dtype.kind not in "fiu":
        raise BackwardError(f"gradient has element type {array.dtype}: it must be real")
    if create_graph:
        given: Any = gradient if isinstance(gradient, History) else wrap(array)
        return given.astype(output.dtype)
    # Not the given memory itself: a hook or .grad must not change with it.
    return array.astype(output.dtype)
