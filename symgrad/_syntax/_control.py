"""Control flow: loops and branches that stay rolled. JAX's names and argument orders.

Outside of a traced function these are plain Python loops and branches: they mean there
exactly what they compute inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from .._core.base.argument_checks import (
    as_bytes,
    as_count,
    as_flag,
    as_function,
    as_items,
    as_truth,
)
from .._core.base.broadcast import show
from .._core.base.sizes import Dimension, Size, as_dim, as_size, same
from .._core.base.state import now
from .._core.control import build_branch, build_count, build_scan, build_while
from .._core.graph import Node
from .._core.trace import LEAF, Traced, as_leaf, flatten, is_table, known_number, truth_of
from ..errors import ArgumentError, ShapeError
from ._decisions import with_branches

T = TypeVar("T")


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: Any = None,
    reverse: bool = False,
    *,
    memory: int | str | None = None,
) -> tuple[Any, Any]:
    """Carry a value along the leading axis of arrays; stack what each step returns.

    Parameters
    ----------
    f:
        ``f(carry, x) -> (carry, y)``; called once, on traced values.
    init : array_like or nested
        The first carry: nested tuples, lists, dicts, dataclasses of arrays and numbers.
        Every step returns a carry of the same structure, shapes and element types.
    xs : array_like or nested
        Arrays with equal leading axes, nested likewise; ``x`` has their elements. None:
        there are ``length`` steps without anything to read.
    length : int
        The number of steps; follows from ``xs`` where there are any.
    reverse:
        Whether to go from the last element to the first.
    memory:
        How many bytes reverse mode may use for what it keeps of the steps, a number or text
        such as ``"100 MB"``; None: as many as make it fastest. Fewer make it compute steps
        again: once more for ``2 sqrt(n)`` of the carries; in less, where ``s`` carries fit,
        ``r`` times more if ``n`` is up to ``C(s + r, s)``, by the binomial schedule.

    Returns
    -------
    (carry, ys)
        The last carry, and every ``y`` with a leading axis of the number of steps.

    Raises
    ------
    ArgumentError, ShapeError, DTypeError
        If ``f`` returns no pair, or changes the structure, shapes or types of the carry; if
        the leading axes differ.

    Notes
    -----
    The binomial schedule: A. Griewank, A. Walther, Algorithm 799: revolve, ACM Transactions on
    Mathematical Software 26, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> def compound(rates):
    ...     grow = lambda capital, rate: (capital * (1 + rate), capital)
    ...     return sg.scan(grow, 100.0, rates)
    >>> sg.compile(compound)(np.array([0.1, 0.2, 0.05]))
    (np.float64(138.6), array([100., 110., 132.]))
    """
    as_function(f, "scan: f")
    reverse = as_flag(reverse, "scan: reverse")
    limit = as_bytes(memory, "scan")
    count = _steps(xs, length)
    if now().guards is not None:
        return build_scan(with_branches(f), init, xs, as_dim(count), reverse, limit)
    carry, rows = init, []
    leaves, tree = flatten(xs)
    for i in reversed(range(count)) if reverse else range(count):
        element = tree.unflatten([None if x is None else x[i] for x in leaves])
        carry, y = f(carry, element)
        rows.append(y)
    if reverse:
        rows.reverse()
    return carry, _stacked(rows)


def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, T], T],
    init_val: T,
    *,
    memory: int | str | None = None,
) -> T:
    """Run ``value = body_fun(i, value)`` for ``i`` from ``lower`` up to below ``upper``.

    Parameters
    ----------
    lower, upper : int
        Integers; traced ones, too, though a loop whose bounds depend on arrays writes down
        its steps for reverse mode in memory that grows.
    body_fun:
        Called once, on traced values; returns a value of the same structure, shapes and
        element types.
    init_val : array_like or nested
        The first value.
    memory:
        How many bytes reverse mode may use; see :func:`scan`.

    Returns
    -------
    any
        The last value, with the structure of ``init_val``.

    Raises
    ------
    ArgumentError, ShapeError, DTypeError
        If the body changes the structure, shapes or types of the value.
    TraceError, UnsupportedError
        If it cannot be traced.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> newton = lambda a: sg.fori_loop(0, 6, lambda i, x: 0.5 * (x + a / x), 1.0)
    >>> sg.value_and_grad(newton)(2.0)
    (np.float64(1.414214), np.float64(0.353553))
    """
    as_function(body_fun, "fori_loop: body_fun")
    limit = as_bytes(memory, "fori_loop")
    lower, upper = _bound(lower, "lower"), _bound(upper, "upper")
    if now().guards is None:
        value = init_val
        for i in range(lower, upper):
            value = body_fun(i, value)
        return value
    if isinstance(lower, Traced) or isinstance(upper, Traced):
        _, found = while_loop(
            lambda state: state[0] < upper,
            lambda state: (state[0] + 1, body_fun(state[0], state[1])),
            (lower, init_val),
            memory=limit,
        )
        result: T = found
        return result
    count = upper - lower if upper > lower else 0
    counted: T = build_count(with_branches(body_fun), lower, init_val, as_dim(count), limit)
    return counted


def while_loop(
    cond_fun: Callable[[T], Any],
    body_fun: Callable[[T], T],
    init_val: T,
    *,
    memory: int | str | None = None,
) -> T:
    """Run ``value = body_fun(value)`` while ``cond_fun(value)`` is true.

    Parameters
    ----------
    cond_fun:
        Returns one boolean.
    body_fun:
        Returns a value of the same structure, shapes and element types.
    init_val : array_like or nested
        The first value.
    memory:
        How many bytes reverse mode should use, see :func:`scan`. The number of steps is not
        known beforehand: it uses more if they are more than the square of what fits in half.

    Returns
    -------
    any
        The first value for which ``cond_fun`` is false.

    Raises
    ------
    ArgumentError, ShapeError, DTypeError
        If the body changes the structure, shapes or types of the value.
    TraceError, UnsupportedError
        If it cannot be traced.

    Notes
    -----
    Reverse mode works for any number of steps: the loop writes down what its adjoint needs
    on a tape that grows. Under :func:`vmap` each example takes as many steps as it needs, and
    waits for no other one.

    Examples
    --------
    >>> import symgrad as sg
    >>> def halvings(x):
    ...     return sg.while_loop(lambda s: s[0] > 1.0, lambda s: (s[0] / 2, s[1] + 1), (x, 0))
    >>> sg.compile(halvings)(10.0)
    (np.float64(0.625), np.int64(4))
    >>> sg.grad(lambda x: halvings(x)[0])(10.0)
    np.float64(0.0625)
    """
    as_function(cond_fun, "while_loop: cond_fun")
    as_function(body_fun, "while_loop: body_fun")
    limit = as_bytes(memory, "while_loop")
    if now().guards is not None:
        result: T = build_while(with_branches(cond_fun), with_branches(body_fun), init_val, limit)
        return result
    value = init_val
    while as_truth(cond_fun(value), "while_loop: the result of cond_fun"):
        value = body_fun(value)
    return value


def cond(pred: Any, true_fun: Callable[..., T], false_fun: Callable[..., T], *operands: Any) -> T:
    """Return ``true_fun(*operands)`` or ``false_fun(*operands)``; only one of them is run.

    Parameters
    ----------
    pred : bool or number
        A boolean, or a number, which counts as true unless it is 0.
    true_fun, false_fun:
        Return values of the same structure and shapes.
    *operands : array_like or nested
        Arguments of both; what the functions close over need not be among them.

    Returns
    -------
    any
        The result of the function that was chosen.

    Raises
    ------
    ArgumentError, ShapeError, DTypeError
        If both functions do not return values of the same structure, shapes and types, or
        ``pred`` is not one number.

    Notes
    -----
    Under :func:`vmap`, if ``pred`` differs between examples, both functions are run and the
    results selected, as ``np.where`` does.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> f = lambda x: sg.cond(x > 0, np.sqrt, lambda x: -x, x)
    >>> sg.grad(f)(4.0), sg.grad(f)(-4.0)
    (np.float64(0.25), np.float64(-1.0))
    """
    as_function(true_fun, "cond: true_fun")
    as_function(false_fun, "cond: false_fun")
    if isinstance(pred, Traced):
        _check_single(pred, "cond", "pred")
        truth = truth_of(pred)
        result: T = _chosen("cond", truth.astype(np.int64), (false_fun, true_fun), operands)
        return result
    chosen = as_truth(pred, "cond: pred")
    return (true_fun if chosen else false_fun)(*operands)


def switch(index: Any, branches: Sequence[Callable[..., T]], *operands: Any) -> T:
    """Return ``branches[index](*operands)``; only that branch is run.

    Parameters
    ----------
    index : int
        An integer; one that is too small or too large counts as the first or the last.
    branches:
        Functions that return values of the same structure and shapes.
    *operands : array_like or nested
        Arguments of all of them.

    Returns
    -------
    any
        The result of the branch that was chosen.

    Raises
    ------
    ArgumentError, ShapeError, DTypeError
        If the branches do not return values of the same structure, shapes and types.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> f = lambda k, x: sg.switch(k, [np.sin, np.cos, np.exp], x)
    >>> sg.grad(f, argnums=1)(np.int64(1), 0.5) == -np.sin(0.5)
    np.True_
    """
    functions = as_items(branches, "switch: branches", "functions")
    for k, function in enumerate(functions):
        as_function(function, f"switch: branches[{k}]")
    if not functions:
        raise ArgumentError("switch: there is no branch to choose")
    if isinstance(index, Traced):
        _check_single(index, "switch", "index")
        if index.dtype.kind not in "iu":
            raise ArgumentError(f"switch: the index is an integer, not of type {index.dtype}")
        within = np.clip(index.astype(np.int64), 0, len(functions) - 1)
        result: T = _chosen("switch", within, functions, operands)
        return result
    known = as_count(index, "switch: index", None)
    chosen: Callable[..., T] = functions[min(max(known, 0), len(functions) - 1)]
    return chosen(*operands)


# ---------------------------------------------------------------- arguments


def _chosen(
    what: str, index: Traced, functions: Sequence[Callable[..., Any]], operands: Sequence[Any]
) -> Any:
    known = known_number(index.node)
    if known is not None:
        return functions[int(known)](*operands)
    return build_branch(what, index.node, [*map(with_branches, functions)], operands)


def _check_single(value: Traced, what: str, name: str) -> None:
    if value.shape:
        raise ArgumentError(
            f"{what}: {name} is one value, not an array of shape {show(value.node.shape)}; "
            "use np.where to choose element by element"
        )


def _bound(value: Any, name: str) -> Any:
    """Return a bound of a counting loop: an int, a size, or a traced integer."""
    if isinstance(value, Traced):
        if value.shape or value.dtype.kind not in "iu":
            raise ArgumentError(
                f"fori_loop: {name} is one integer, not {value.dtype} of shape "
                f"{show(value.node.shape)}"
            )
        known = known_number(value.node)
        return value if known is None else int(known)
    if isinstance(value, Size):
        return value
    return as_count(value, f"fori_loop: {name}", None)


def _steps(xs: Any, length: Any) -> Any:
    """Return the number of steps of a scan."""
    count: Any = None if length is None else _bound(length, "length")
    leaves, tree = flatten(xs)
    names = list(tree.names("xs")) if tree is not LEAF else ["xs"]
    nodes: list[tuple[str, Node | Any]] = [
        (name, leaf) for name, leaf in zip(names, leaves, strict=True) if leaf is not None
    ]
    for name, leaf in nodes:
        if not hasattr(type(leaf), "__symgrad_bind__"):
            as_leaf(leaf, f"scan: {name}")
        if is_table(leaf):
            raise ArgumentError(
                f"scan: {name} is a table with columns that are no numbers, or not of one type: "
                "pass the columns to go along, as arrays"
            )
        shape = leaf.node.shape if isinstance(leaf, Traced) else np.shape(leaf)
        if not shape:
            raise ShapeError(f"scan: {name} is a number; it needs an axis to go along")
        extent: Dimension = shape[0]
        if count is None:
            count = as_size(extent)
        elif not same(as_dim(count), extent):
            raise ShapeError(
                f"scan: {name} has {as_size(extent)} elements along its leading axis, but there "
                f"are {count} steps"
            )
    if count is None:
        raise ArgumentError("scan needs arrays to go along, or the number of steps: length=...")
    return count


def _stacked(rows: Sequence[Any]) -> Any:
    """Return what the steps of a scan returned with a leading axis."""
    if not rows:
        return None
    columns = [flatten(row)[0] for row in rows]
    tree = flatten(rows[0])[1]
    if any(flatten(row)[1] != tree for row in rows):
        raise ArgumentError("scan: f returns results of another structure in other steps")
    for column in zip(*columns, strict=True):
        shapes = {np.shape(row) for row in column}
        if len(shapes) > 1:
            raise ShapeError(f"scan: a result has other shapes in other steps: {sorted(shapes)}")
    return tree.unflatten(
        None if column[0] is None else np.stack(column) for column in zip(*columns, strict=True)
    )
