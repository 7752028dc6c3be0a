"""Gradients of tensors as values, and what else PyTorch has under this name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._tensor._engine import levels, run
from .._tensor._history import seed
from .._tensor._mode import enable_grad, no_grad, set_grad_enabled
from .._tensor._node import Node, wrap
from .._tensor._tensor import Tensor
from ..errors import ArgumentError, BackwardError
from ._create import Variable

#: What there is in the place of what is not here.
_INSTEAD = {
    "Function": "give the function its rule by sg.custom_vjp, which holds for tensors too",
    "functional": "use sg.jacobian, sg.hessian, sg.vjp, sg.jvp of a function of arrays",
    "gradcheck": "sg.verify(f, *args) compares values and derivatives with exact ones",
    "gradgradcheck": "sg.verify(sg.grad(f), *args) compares derivatives with exact ones",
}


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Tensor | None, ...]:
    """Return the gradients of outputs with respect to inputs; no ``.grad`` is written.

    Parameters
    ----------
    outputs:
        A tensor, or several, whose gradients are added.
    inputs:
        A tensor, or several: leaves or intermediate ones.
    grad_outputs:
        The weight of each element of each output; can be left out for one-element outputs.
    retain_graph:
        Whether the buffers are kept; as ``create_graph`` if not given.
    create_graph:
        Whether the gradients can be differentiated again.
    allow_unused:
        Whether an input that the outputs do not depend on gives None, and no error.

    Returns
    -------
    tuple
        One gradient for each input.

    Raises
    ------
    BackwardError
        As :meth:`Tensor.backward`, and for unused inputs.
    ArgumentError
        If the inputs and outputs are no tensors.

    Examples
    --------
    >>> import symgrad.torch as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> (slope,) = torch.autograd.grad(x**3, x, create_graph=True)
    >>> slope
    tensor(12., grad_fn=<MulBackward0>)
    >>> torch.autograd.grad(slope, x)
    (tensor(12.),)
    """
    ends, starts = _tensors(outputs, "outputs"), _tensors(inputs, "inputs")
    weights = _weights(ends, grad_outputs, "grad_outputs")
    targets = [tensor.edge() for tensor in starts]
    if None in targets:
        raise BackwardError(_NOT_REQUIRED)
    roots, given = _started(ends, weights, create_graph)
    retain = create_graph if retain_graph is None else retain_graph
    # Looked at before anything is freed.
    reachable = {node for level in levels(roots) for node in level}
    if not allow_unused and any(node not in reachable for node in targets):
        raise BackwardError(
            "One of the differentiated Tensors appears to not have been used in the graph. Set "
            "allow_unused=True if this is the desired behavior."
        )
    found = run(
        roots, given, retain_graph=retain, create_graph=create_graph,
        targets=[node for node in targets if node is not None],
    )  # fmt: skip
    results = [found.get(node) if node is not None else None for node in targets]
    return tuple(r if r is None or isinstance(r, Tensor) else wrap(np.array(r)) for r in results)


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> None:
    """Add the gradients of several tensors to the ``.grad`` of the leaves, in one pass.

    Parameters
    ----------
    tensors:
        A tensor, or several.
    grad_tensors:
        The weight of each element of each; can be left out for tensors of one element.
    retain_graph, create_graph:
        As for :meth:`Tensor.backward`.

    Raises
    ------
    BackwardError
        As :meth:`Tensor.backward`.

    Examples
    --------
    >>> import symgrad.torch as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> torch.autograd.backward([x * x, 3 * x])
    >>> x.grad
    tensor(7.)
    """
    ends = _tensors(tensors, "tensors")
    roots, given = _started(ends, _weights(ends, grad_tensors, "grad_tensors"), create_graph)
    retain = create_graph if retain_graph is None else retain_graph
    run(roots, given, retain_graph=retain, create_graph=create_graph)


def _weights(ends: Sequence[Tensor], given: Any, what: str) -> list[Any]:
    """Return the weights of the outputs, None for those that are left out."""
    if given is None or isinstance(given, (Tensor, np.ndarray)):
        if given is not None and len(ends) > 1:
            raise ArgumentError(f"{what} needs one entry for each output")
        return [given] * len(ends)
    weights = list(given)
    if len(weights) != len(ends):
        raise ArgumentError(f"{len(weights)} {what} were given for {len(ends)} outputs")
    return weights


def _started(
    ends: Sequence[Tensor], weights: Sequence[Any], create_graph: bool
) -> tuple[list[Node], list[Any]]:
    """Return the nodes of the outputs, and the gradients to start from."""
    roots: list[Node] = []
    for tensor in ends:
        node = tensor.edge()
        if node is None:
            raise BackwardError(_NOT_REQUIRED)
        roots.append(node)
    return roots, [seed(t, w, create_graph) for t, w in zip(ends, weights, strict=True)]


_NOT_REQUIRED = (
    "one of the tensors does not require grad and does not have a grad_fn: make inputs with "
    "requires_grad=True"
)


def _tensors(value: Any, what: str) -> list[Tensor]:
    found = [value] if isinstance(value, Tensor) else list(value)
    for tensor in found:
        if not isinstance(tensor, Tensor):
            raise ArgumentError(f"{what} are tensors, not {type(tensor).__name__}")
    return found


if not TYPE_CHECKING:  # else every name would be known to be there

    def __getattr__(name: str) -> Any:
        hint = f": {_INSTEAD[name]}" if name in _INSTEAD else ""
        raise AttributeError(f"module 'symgrad.torch.autograd' has no attribute {name!r}{hint}")


__all__ = ["Variable", "backward", "enable_grad", "grad", "no_grad", "set_grad_enabled"]
