"""A NumPy function as a differentiable function of PyTorch's tensors."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .._core.base.fork_safety import undisturbed
from ..errors import DTypeError, MissingExtraError, UnsupportedError
from ._flat import Bridge, Flat, Nest, UnfitLeafError


def to_torch(f: Callable[..., Any]) -> TorchFunction:
    """Return a NumPy function as a function of PyTorch tensors, which autograd differentiates.

    The value and all derivatives are compiled by symgrad. Tensors on the CPU are read where they
    lie, and results share their memory with the arrays that were computed.

    Parameters
    ----------
    f:
        A NumPy function of arrays, numbers and containers of them, or one that symgrad made. It
        returns arrays and numbers, nested as needed.

    Returns
    -------
    TorchFunction
        Call it like ``f``, with tensors of any shapes among the arguments: tensors may require
        gradients, all else is constant. Its results are tensors, nested as those of ``f``.
        ``backward()`` works to any order, and so do ``torch.func.grad``, ``vjp``, ``jvp``,
        ``jacrev``, ``jacfwd``, ``hessian`` and ``vmap``.

    Raises
    ------
    MissingExtraError
        If PyTorch is not installed.
    ArgumentError, DTypeError
        When called, for tensors that are not on the CPU or not dense, for element types that
        NumPy does not have, and for results that are neither arrays nor numbers.
    UnsupportedError
        When called where PyTorch records a graph: ``torch.func.linearize``, ``make_fx``,
        ``torch.jit.trace``.

    Notes
    -----
    A ``torch.autograd.Function`` whose backward pass is one again. Complex gradients follow
    PyTorch's convention, the conjugate of JAX's. Element types are NumPy's: the result of float32
    tensors is of float32, unless ``f`` computes with arrays of float64. ``f`` is traced again for
    each derivative: what it captures should be the same in both passes.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> import torch  # doctest: +SKIP
    >>> area = sg.to_torch(lambda p: np.sqrt(np.prod(p)))  # doctest: +SKIP
    >>> p = torch.tensor([2.0, 8.0], requires_grad=True)  # doctest: +SKIP
    >>> area(p).backward()  # doctest: +SKIP
    >>> p.grad  # doctest: +SKIP
    tensor([1.0000, 0.2500])
    """
    return TorchFunction(f)


class TorchFunction(Bridge):
    """A NumPy function of PyTorch tensors; made by :func:`symgrad.to_torch`."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self._tensor, self._call, self._compiling, self._outside = _loaded()
        super().__init__(f, to_torch)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._compiling():  # in torch.compile, which would compile the frames of symgrad
            return self._outside(self, args, kwargs)
        return super().__call__(*args, **kwargs)

    def _applied(self, flat: Flat, leaves: list[Any]) -> Any:
        for k, leaf in enumerate(leaves):
            if isinstance(leaf, self._tensor):
                _check(leaf, k)
        nested = _Nested()
        results = self._call.apply(flat, nested, *leaves)
        return nested.nest.pack(results)


class _Nested:
    """How the results of one call are nested, which is known when they are."""

    __slots__ = ("nest",)
    nest: Nest


#: NumPy has none of these, or symgrad computes with none.
_WITHOUT = ("bfloat16", "float16", "complex32", "float8")


#: Modes in which PyTorch records operations, or runs them without numbers.
_RECORDING = ("ProxyTorchDispatchMode", "FakeTensorMode", "FunctionalTensorMode")


def _check(tensor: Any, position: int) -> None:
    if tensor.device.type != "cpu":
        raise UnfitLeafError(
            position,
            f"is on the device {tensor.device}, and the function is compiled for the processor. "
            "Write instead: x.cpu(), whose gradient comes back to the device",
        )
    if str(tensor.layout) != "torch.strided":
        raise UnfitLeafError(position, f"is of layout {tensor.layout}. Write instead: x.to_dense()")
    name = str(tensor.dtype).removeprefix("torch.")
    if name.startswith(_WITHOUT):
        raise UnfitLeafError(
            position,
            f"has element type {name}. Write instead: x.float(), whose gradient is of type {name}",
            DTypeError,
        )


@functools.cache
def _loaded() -> tuple[type, Any, Any, Any]:
    """Return the class of tensors, the differentiable call of a function of leaves, and two more.

    One tells whether the caller is being compiled, and one calls a bridge outside of that.
    """
    with undisturbed():
        try:
            import torch  # noqa: PLC0415
            from torch.utils import _python_dispatch  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtraError("torch", "torch", "to_torch") from error

    def numbers(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        return leaf.detach().resolve_conj().resolve_neg().numpy()

    def refuse_recording() -> None:
        modes = _python_dispatch._get_current_dispatch_mode_stack()
        if torch.jit.is_tracing() or any(type(mode).__name__ in _RECORDING for mode in modes):
            raise UnsupportedError(
                "to_torch: PyTorch is recording operations here (torch.func.linearize, make_fx, "
                "torch.export, torch.jit.trace), and would take the results for constants. Write "
                "instead: torch.func.jvp or vjp; torch.compile, which calls the function between "
                "its graphs"
            )

    def real(tensor: Any) -> bool:
        return bool(tensor.is_floating_point() or tensor.is_complex())

    class Call(torch.autograd.Function):  # type: ignore[misc]
        """``apply(flat, nested, *leaves)``: the results, as a tuple of tensors."""

        @staticmethod
        def forward(flat: Flat, nested: _Nested, *leaves: Any) -> Any:
            refuse_recording()
            found, nested.nest = flat([numbers(leaf) for leaf in leaves])
            return tuple(map(torch.from_numpy, found))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.flat, _, *leaves = inputs
            ctx.constants = [None if isinstance(x, torch.Tensor) else x for x in leaves]
            ctx.places = [k for k, x in enumerate(leaves) if isinstance(x, torch.Tensor)]
            tensors = [leaves[k] for k in ctx.places]
            ctx.save_for_backward(*tensors)
            ctx.save_for_forward(*tensors)
            ctx.real = [real(x) for x in output]
            ctx.mark_non_differentiable(*(x for x in output if not real(x)))

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            leaves = saved(ctx)
            wanted = ctx.needs_input_grad[2:]
            wrt = tuple(k for k in ctx.places if wanted[k] and real(leaves[k]))
            seeds = [x for x, one in zip(cotangents, ctx.real, strict=True) if one]
            pullback = ctx.flat.pullback(wrt, len(seeds), True)
            found = dict(zip(wrt, Call.apply(pullback, _Nested(), *leaves, *seeds), strict=True))
            return None, None, *(found.get(k) for k in range(len(leaves)))

        @staticmethod
        def jvp(ctx: Any, _: Any, __: Any, *tangents: Any) -> Any:
            wrt = tuple(k for k, x in enumerate(tangents) if x is not None)
            moved = (tangents[k] for k in wrt)
            pushforward = ctx.flat.pushforward(wrt)
            found = iter(Call.apply(pushforward, _Nested(), *saved(ctx), *moved))
            return tuple(next(found) if one else None for one in ctx.real)

        @staticmethod
        def vmap(_: Any, in_dims: Any, flat: Flat, nested: _Nested, *leaves: Any) -> Any:
            found = Call.apply(flat.batched(tuple(in_dims[2:])), nested, *leaves)
            return found, (0,) * len(found)

    # PyTorch asks for it in each call, and Python would build it each time: a third of a call.
    forward: Any = Call.forward
    forward.__signature__ = inspect.signature(forward)

    def saved(ctx: Any) -> list[Any]:
        leaves = list(ctx.constants)
        for k, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            leaves[k] = tensor
        return leaves

    def outside(bridge: TorchFunction, args: Any, kwargs: Any) -> Any:
        return Bridge.__call__(bridge, *args, **kwargs)

    # torch.compiler.disable would import the compiler now.
    uncompiled = torch._compile._disable_dynamo(outside)
    return torch.Tensor, Call, torch.compiler.is_compiling, uncompiled
