"""``sg.draw``: pictures of tensors' computations, of functions and of Programs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .._core.base.argument_checks import refuse_kernel, shown
from .._core.base.sizes import evaluate_dim
from .._core.base.state import within
from .._core.graph import leaf_value
from .._core.op import Bodied
from .._core.program import Program, concrete
from .._show._draw import SUFFIXES, Drawing
from .._show._graph_view import View
from .._show._graph_view_fold import LIMIT
from .._show._graph_view_program import program_view, traced
from ..errors import ArgumentError
from ._mode import enable_grad
from ._origin import variables
from ._tensor import Tensor, plain, wrap
from ._view import view_of


def draw(
    what: Tensor | Program | Callable[..., Any],
    *args: Any,
    file: str | os.PathLike[str] | None = None,
    gradient: Any = None,
    limit: int = LIMIT,
    **names: Any,
) -> Drawing:
    """Draw a computation: values on nodes, local derivatives on edges, gradients in orange.

    Parameters
    ----------
    what:
        A tensor, whose record is drawn; a function or a :class:`Program`, drawn with the
        values of the arguments that follow; a Program without them, drawn as formulas.
    *args : array_like
        The arguments. A last one that is a file name is taken for ``file``.
    file:
        Where to write the picture: a name ending in .dot, .svg, .png, .pdf, or in .html for
        a page that steps through the computation one op at a time.
    gradient : array_like
        For a tensor of several elements the weight of each, as for ``backward``; 1 if not
        given.
    limit:
        Pictures of more nodes are folded, by the user's functions or by level.
    **names : Tensor
        Tensors by the names they get. Others have their ``name``, or that of the variable
        that holds them where ``draw`` is called. For functions: keyword arguments.

    Returns
    -------
    Drawing
        With ``.dot``, ``.html``, ``.svg()``, ``.png()``, ``.save(file)``; notebooks show it.

    Raises
    ------
    ArgumentError
        If ``what`` is none of these, or the file's name ends otherwise.
    MissingExtraError, MissingProgramError
        If the file's format needs Graphviz and it is not installed.

    Notes
    -----
    Drawing runs one backward pass, with its hooks, that writes no ``.grad`` and frees nothing.
    Where ``.grad`` holds something else than this pass's gradient, it is shown too. After a
    ``backward()`` that freed the record, structure, leaves and ``.grad`` remain to be drawn.

    Examples
    --------
    >>> import symgrad as sg
    >>> x = sg.tensor(1.0, requires_grad=True)
    >>> z = (x * 2 + 2) / 5
    >>> picture = sg.draw(z)
    >>> picture
    <drawing of z, 7 nodes>
    >>> "gradient 0.4" in picture.dot
    True
    """
    if file is None and args and _is_file(args[-1], isinstance(what, Tensor)):
        *args, file = args  # type: ignore[assignment]
    refuse_kernel(what, "draw")
    if isinstance(what, Tensor):
        if args:
            raise ArgumentError("a tensor is drawn with the values it has: sg.draw(t, 'walk.html')")
        view = view_of([what], _called(what, names), gradient)
    elif isinstance(what, Program):
        view = _of_program(what, args)
    elif callable(what):
        program, values = traced(what, [plain(x) for x in args], names)
        view = _of_program(program, values)
    else:
        raise ArgumentError(
            f"draw takes a tensor, a Program, or a function and its arguments, not "
            f"{type(what).__name__}"
        )
    drawing = Drawing(view, limit)
    if file is not None:
        drawing.save(file)
    return drawing


def _is_file(value: Any, anything: bool) -> bool:
    """Tell whether an argument is a file's name; one with another ending if nothing else fits."""
    if isinstance(value, str):
        return anything or value.lower().endswith(SUFFIXES)
    return isinstance(value, os.PathLike)


# ---------------------------------------------------------------- names


def _called(tensor: Tensor, given: Mapping[str, Tensor]) -> dict[int, str]:
    """Return what tensors and their ops are called: by keyword, or as variables of the caller."""
    found: dict[int, str] = {}
    for scope in (given, variables()):
        for name, value in scope.items():
            if isinstance(value, Tensor) and value.name in (None, name):
                found.setdefault(id(value), name)
                if value._fn is not None:
                    found.setdefault(id(value._fn), name)
    if tensor.name is not None and tensor._fn is not None:
        found[id(tensor._fn)] = tensor.name
    return found


# ---------------------------------------------------------------- programs and functions


def _of_program(program: Program, values: Sequence[Any]) -> View:
    if not values:
        return program_view(program)
    if len(values) != len(program.inputs):
        raise ArgumentError(
            f"the program has {len(program.inputs)} inputs "
            f"({', '.join(n.name for n in program.inputs)}), {len(values)} values were given"
        )
    arrays = []
    for node, value in zip(program.inputs, values, strict=True):
        try:
            arrays.append(np.asarray(getattr(value, "_data", value), node.dtype))
        except (TypeError, ValueError):
            raise ArgumentError(f"{node.name} is of numbers, not {shown(value)}") from None
    if any(isinstance(n.op, Bodied) for n in program.steps):
        return program_view(program, arrays)  # loops: their results are no tensors
    return _replayed(program, arrays)


def _replayed(program: Program, arrays: Sequence[Any]) -> View:
    """Return the view of the program's ops on tensors."""
    sizes = program.bind_sizes(arrays)
    computed: dict[Any, Any] = {
        leaf: leaf_value(leaf, lambda d: evaluate_dim(d, sizes)) for leaf in program.leaves
    }
    names: dict[int, str] = {}
    kept = []  # names go by id: what they name has to stay
    for node, array in zip(program.inputs, arrays, strict=True):
        tensor = wrap(array)
        tensor._requires = array.dtype.kind == "f"
        tensor.name = node.name
        computed[node] = tensor
        kept.append(tensor)
    with enable_grad(), np.errstate(all="ignore"):
        for node in program.steps:
            params = {k: concrete(v, sizes) for k, v in node.items}
            with within(where=node.where):
                made = node.op(*(computed[x] for x in node.operands), **params)
            computed[node] = made
            if isinstance(made, Tensor):
                names[id(made)] = names[id(made._fn)] = program.names[node]
            kept.append(made)
    outputs = [computed[x] for x in program.outputs]
    tensors = [x if isinstance(x, Tensor) else wrap(np.asarray(x)) for x in outputs]
    return view_of(tensors, names)


def _draw_program(self: Program, *values: Any, file: Any = None, limit: int = LIMIT) -> Drawing:
    """Draw the program; see :func:`symgrad.draw`.

    Parameters
    ----------
    *values:
        A value for each input; without them the picture shows formulas.
    file, limit:
        As for :func:`symgrad.draw`.
    """
    return draw(self, *values, file=file, limit=limit)


Program.draw = _draw_program  # type: ignore[attr-defined]
