"""From an eager computation back to the compiler: its record as a function and a Program."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._core.base.state import within
from .._core.graph import Input
from .._core.program import Program, schedule
from .._core.trace import Traced, as_node
from ..errors import ArgumentError, BackwardError
from ._engine import ordered
from ._node import AccumulateGrad, Backward
from ._tensor import Tensor


class Record:
    """The recorded ops behind a tensor, with the leaves that they start from.

    Attributes
    ----------
    inputs:
        The leaf tensors by name: first those named by keyword, then in the order of use.
    """

    def __init__(self, tensor: Tensor, names: Mapping[str, Tensor]) -> None:
        nodes: list[Backward] = []
        if tensor._fn is not None:
            nodes = [n for n in ordered([tensor._fn]) if isinstance(n, Backward)][::-1]
        place = {node: k for k, node in enumerate(nodes)}
        leaves: dict[int, Tensor] = {}
        # The operands are taken now: backward() frees what the nodes hold.
        self.steps: list[tuple[Backward, list[tuple[str, Any]]]] = []
        for node in nodes:
            if node.saved is None:
                raise BackwardError(
                    "the record has been freed by backward(): ask for the program before, or "
                    "use backward(retain_graph=True)"
                )
            sources: list[tuple[str, Any]] = []
            for edge, x in zip(node.edges, node.saved, strict=True):
                leaf = edge.variable if isinstance(edge, AccumulateGrad) else x
                if isinstance(edge, Backward):
                    sources.append(("step", place[edge]))
                elif isinstance(leaf, Tensor):
                    leaves.setdefault(id(leaf), leaf)
                    sources.append(("leaf", id(leaf)))
                else:
                    sources.append(("constant", x))
            self.steps.append((node, sources))
        if not nodes:
            leaves[id(tensor)] = tensor
        self.inputs = _named(leaves, names)

    def replay(self, values: Mapping[str, Any]) -> Any:
        """Compute the ops again on other values: arrays, tensors, traced values."""
        leaves = {id(leaf): values[name] for name, leaf in self.inputs.items()}
        done: list[Any] = []
        for node, sources in self.steps:
            operands = [
                done[x] if kind == "step" else leaves[x] if kind == "leaf" else x
                for kind, x in sources
            ]
            with within(where=node.where):
                done.append(node.op(*operands, **node.params))
        return done[-1] if done else next(iter(leaves.values()))

    def program(self) -> Program:
        """Return the ops as a Program of the leaves."""
        inputs = [Input(name, t.shape, t.dtype) for name, t in self.inputs.items()]
        result = self.replay({n.name: Traced(n) for n in inputs})
        return schedule(inputs, [as_node(result)])


def _named(leaves: dict[int, Tensor], names: Mapping[str, Tensor]) -> dict[str, Tensor]:
    rest = dict(leaves)
    found: dict[str, Tensor] = {}
    for name, tensor in names.items():
        if rest.pop(id(tensor), None) is None:
            raise ArgumentError(
                f"{name}= is no leaf of this computation: name the tensors that it starts from"
            )
        found[name] = tensor
    taken = {*found, *(t.name for t in rest.values() if t.name is not None)}
    for tensor in rest.values():
        stem, count = tensor.name or "x", 0
        chosen = tensor.name
        while chosen is None or chosen in found:
            candidate = f"{stem}{count}"
            chosen, count = None if candidate in taken else candidate, count + 1
        taken.add(chosen)
        found[chosen] = tensor
    return found


def program(self: Tensor, **names: Tensor) -> Program:
    """Return the ops that made the tensor as a :class:`Program`.

    Its inputs are the leaf tensors; its steps are the ops that ran, with the user's lines.

    Parameters
    ----------
    **names:
        Leaf tensors by the names they get, in the order of the program's inputs. Others
        are called by their ``name``, or ``x0``, ``x1``, ... .

    Returns
    -------
    Program

    Raises
    ------
    BackwardError
        If ``backward()`` has freed the record.
    ArgumentError
        If a named tensor is no leaf of this computation.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> x = sg.tensor(2.0, requires_grad=True, name="x")
    >>> p = (np.sin(x) * x).program()
    >>> p.outputs[0]
    x*sin(x)
    >>> p(2.0) == (np.sin(x) * x).item()
    np.True_
    """
    return Record(self, names).program()


def as_function(self: Tensor, **names: Tensor) -> Callable[..., Any]:
    """Return the ops that made the tensor as a NumPy function of the leaf tensors.

    The function can be compiled and differentiated like one that was written by hand:
    ``sg.grad(t.as_function())`` is the compiled counterpart of ``t.backward()``.

    Parameters
    ----------
    **names:
        The names of the parameters: each keyword with the leaf that it stands for.

    Examples
    --------
    >>> import symgrad as sg
    >>> x = sg.tensor(2.0, requires_grad=True)
    >>> f = (x**3).as_function()
    >>> float(sg.grad(f)(2.0))
    12.0
    """
    record = Record(self, names)

    def replay(*values: Any) -> Any:
        if len(values) != len(record.inputs):
            raise ArgumentError(
                f"the computation starts from {len(record.inputs)} tensors "
                f"({', '.join(record.inputs)}), {len(values)} values were given"
            )
        given = [v if hasattr(v, "dtype") else np.float64(v) for v in values]
        return record.replay(dict(zip(record.inputs, given, strict=True)))

    kind = inspect.Parameter.POSITIONAL_ONLY
    parameters = [inspect.Parameter(name, kind) for name in record.inputs]
    replay.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    replay.__name__ = "recorded"
    return replay


Tensor.program = program  # type: ignore[attr-defined]
Tensor.as_function = as_function  # type: ignore[attr-defined]
