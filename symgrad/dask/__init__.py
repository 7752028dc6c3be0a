"""Losses of data in chunks: values and derivatives where the data are, by Dask.

The data of a loss are dask arrays, dataframes or lists of delayed chunks; its derivatives are
sums over their rows. One kernel computes the value and the derivatives of a chunk on the worker
that has it, and what chunks give is added in a binary tree whose shape depends on the number of
chunks alone: the result has the same bits for any number of workers, and when some are lost.
Scheduling, transport, repetition and progress are Dask's.

Examples
--------
>>> import dask.array as da
>>> import numpy as np
>>> import symgrad.dask as sgd
>>> def loss(w, X, y):
...     return (X @ w - y) ** 2
>>> X = da.ones((1000, 2), chunks=(300, 2))
>>> y = da.arange(1000, chunks=300) / 1000
>>> sgd.value_and_grad(loss, data=(1, 2), reduce="mean")(np.array([0.0, 1.0]), X, y)
(np.float64(0.3338335), array([1.001, 1.001]))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._api import _matrices, _transforms
from .._api._argnums import Keys, positions_of
from ..errors import ArgumentError, MissingExtraError

try:
    import dask.array as _array  # noqa: F401
    import distributed as _distributed  # noqa: F401 - and cloudpickle comes with it
except ImportError as error:
    raise MissingExtraError("dask", "dask", "symgrad.dask") from error

from ._chunks import Chunked, Product, hessian_product, mapped, total

if TYPE_CHECKING:
    import dask.array

__all__ = ["Chunked", "grad", "hessian", "hvp", "map_blocks", "value", "value_and_grad"]


def value(loss: Callable[..., Any], *, data: int | Sequence[int], reduce: str = "sum") -> Chunked:
    """Return a function that gives the sum or mean of a loss over the rows of the data.

    Parameters
    ----------
    loss:
        A NumPy function of parameters and data, as of :func:`symgrad.dask.value_and_grad`. It may
        return several numbers, in a tuple or a dict.
    data:
        The positions of the arguments that lie in chunks.
    reduce:
        ``"sum"`` or ``"mean"``, over all rows.

    Returns
    -------
    Chunked
        Call it like the loss. The result is that for the whole data.

    Raises
    ------
    ArgumentError, ShapeError
        When called, if data are not in chunks, or their chunks do not belong together.

    Examples
    --------
    >>> import dask.array as da
    >>> import symgrad.dask as sgd
    >>> moments = sgd.value(lambda x: {"mean": x, "square": x**2}, data=0, reduce="mean")
    >>> moments(da.arange(4.0, chunks=2))
    {'mean': np.float64(1.5), 'square': np.float64(3.5)}
    """
    return _chunked("value", _transforms.compile, loss, data, reduce)


def grad(
    loss: Callable[..., Any], argnums: Keys = 0, *, data: int | Sequence[int], reduce: str = "sum"
) -> Chunked:
    """Return a function that gives the gradient; see :func:`symgrad.dask.value_and_grad`.

    Parameters
    ----------
    loss:
        A NumPy function of parameters and data, as of :func:`symgrad.dask.value_and_grad`.
    argnums:
        Which argument to differentiate with respect to: its position; several give a tuple.
    data:
        The positions of the arguments that lie in chunks.
    reduce:
        ``"sum"`` or ``"mean"``, over all rows.

    Returns
    -------
    Chunked
        Call it like the loss. The result is the gradient for the whole data.

    Raises
    ------
    ArgumentError, ShapeError
        When called, if data are not in chunks, or their chunks do not belong together.

    Examples
    --------
    >>> import dask.array as da
    >>> import symgrad.dask as sgd
    >>> sgd.grad(lambda m, x: (x - m) ** 2, data=1)(1.0, da.arange(4.0, chunks=2))
    np.float64(-4.0)
    """
    return _chunked("grad", _transforms.grad, loss, data, reduce, argnums)


def value_and_grad(
    loss: Callable[..., Any], argnums: Keys = 0, *, data: int | Sequence[int], reduce: str = "sum"
) -> Chunked:
    """Return a function that gives ``(value, gradient)`` of a loss over data in chunks.

    Parameters
    ----------
    loss:
        A NumPy function of parameters and data. It returns one number, the sum (for
        ``reduce="mean"`` the mean) over the rows that it is given, or an array with one number
        for each row. It is called with chunks of rows: a partition of a dataframe is a dict of
        its columns of numbers, as arrays; a series is an array; a delayed chunk is what it
        returns, an array or a tuple or dict of arrays with equally many rows.
    argnums:
        Which argument to differentiate by: its position; several give a tuple.
    data:
        The positions of the arguments that lie in chunks.
    reduce:
        ``"sum"`` or ``"mean"``, over all rows. A term that is not a sum over rows (a penalty of the
        parameters) would be counted for each chunk by ``"sum"``: add it outside.

    Returns
    -------
    Chunked
        Call it like the loss, with dask arrays in chunks of whole rows, dataframes, series or
        lists of delayed values or futures for the data. The result is that of the whole data, and
        has the structure of the argument. ``delayed(...)`` returns it as a value of Dask's, not
        computed yet.

    Raises
    ------
    ArgumentError, ShapeError
        When called, if data are not in chunks, or their chunks do not belong together. An error
        of the loss, or of a task that makes a chunk, has a note that names chunk and worker.

    Notes
    -----
    The loss is sent by value, with what it reads now: each call computes what the loss means
    then. Parts are added in pairs of neighbours, and pairs of these; chunks without rows count
    for nothing.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import symgrad.dask as sgd
    >>> def loss(w, X, y):
    ...     return np.sum((X @ w - y) ** 2)
    >>> X, y = da.ones((5, 2), chunks=(2, 2)), da.arange(5.0, chunks=2)
    >>> sgd.value_and_grad(loss, data=(1, 2))(np.array([1.0, 1.0]), X, y)
    (np.float64(10.0), array([0., 0.]))
    """
    return _chunked("value_and_grad", _transforms.value_and_grad, loss, data, reduce, argnums)


def hessian(
    loss: Callable[..., Any], argnums: Keys = 0, *, data: int | Sequence[int], reduce: str = "sum"
) -> Chunked:
    """Return a function that gives the Hessian; see :func:`symgrad.dask.value_and_grad`.

    Parameters
    ----------
    loss:
        A NumPy function of parameters and data, as of :func:`symgrad.dask.value_and_grad`.
    argnums:
        Which argument to differentiate with respect to: its position; several give a tuple.
    data:
        The positions of the arguments that lie in chunks.
    reduce:
        ``"sum"`` or ``"mean"``, over all rows.

    Returns
    -------
    Chunked
        Call it like the loss. The result is the matrix of second derivatives for the whole data.

    Raises
    ------
    ArgumentError, ShapeError
        When called, if data are not in chunks, or their chunks do not belong together.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import symgrad.dask as sgd
    >>> X = da.from_array(np.array([[1.0, 2.0], [0.0, 1.0]]), chunks=(1, 2))
    >>> sgd.hessian(lambda w, X: (X @ w) ** 2, data=1)(np.zeros(2), X)
    array([[ 2.,  4.],
           [ 4., 10.]])
    """
    return _chunked("hessian", _matrices.hessian, loss, data, reduce, argnums)


def hvp(
    loss: Callable[..., Any], argnums: Keys = 0, *, data: int | Sequence[int], reduce: str = "sum"
) -> Chunked:
    """Return a function of ``(primals, tangents)`` that gives the Hessian times the tangents.

    Parameters
    ----------
    loss:
        A NumPy function of parameters and data, as of :func:`symgrad.dask.value_and_grad`.
    argnums:
        Which argument to differentiate with respect to: its position; several give a tuple.
    data:
        The positions of the arguments that lie in chunks.
    reduce:
        ``"sum"`` or ``"mean"``, over all rows.

    Returns
    -------
    Chunked
        ``primals`` is the tuple of all arguments of the loss, ``tangents`` a tuple with one entry
        for each of ``argnums``.

    Raises
    ------
    ArgumentError, ShapeError
        When called, if data are not in chunks, or their chunks do not belong together.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import symgrad.dask as sgd
    >>> X = da.from_array(np.array([[1.0, 2.0], [0.0, 1.0]]), chunks=(1, 2))
    >>> product = sgd.hvp(lambda w, X: (X @ w) ** 2, data=1)
    >>> product((np.zeros(2), X), (np.array([1.0, 0.0]),))
    array([2., 4.])
    """
    places = _checked("hvp", loss, data, reduce, argnums)
    function = hessian_product(total(loss, data=places, reduce=reduce), argnums=argnums)
    return Product("hvp", loss, function, places, reduce)


def map_blocks(
    f: Callable[..., Any],
    *args: Any,
    data: int | Sequence[int],
    shape: tuple[int, ...] = (),
    dtype: Any = float,
    **kwargs: Any,
) -> dask.array.Array:
    """Return what a compiled function gives of each chunk, as a dask array with its rows.

    Parameters
    ----------
    f:
        A NumPy function of arguments and data, whose result has the rows of the chunk. It may
        use derivatives: ``sg.vmap(sg.grad(g), (None, 0))`` gives one for each row.
    *args, **kwargs : array_like or nested
        Its arguments.
    data:
        The positions of those that lie in chunks, as of :func:`symgrad.dask.value_and_grad`.
    shape:
        The shape of the result for one row.
    dtype : dtype
        The element type of the result.

    Returns
    -------
    dask.array.Array
        Not computed yet.

    Raises
    ------
    ArgumentError, ShapeError
        When called, if data are not in chunks, or their chunks do not belong together.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import symgrad as sg
    >>> import symgrad.dask as sgd
    >>> X = da.from_array(np.array([[1.0, 2.0], [0.0, 1.0]]), chunks=(1, 2))
    >>> slopes = sg.vmap(sg.grad(lambda w, x: np.sin(w @ x)), (None, 0))
    >>> sgd.map_blocks(slopes, np.zeros(2), X, data=1, shape=(2,)).compute()
    array([[1., 2.],
           [0., 1.]])
    """
    places = _checked("map_blocks", f, data)
    name = str(getattr(f, "__name__", "f")).strip("<>")
    function = _transforms.compile(f)
    return mapped(f"map_blocks-{name}", function, places, tuple(shape), dtype, args, kwargs)


def _chunked(
    name: str, transformation: Callable[..., Any], loss: Any, data: Any, reduce: str, *argnums: Any
) -> Chunked:
    """Return the transformation of a loss's total, for data in chunks."""
    places = _checked(name, loss, data, reduce, *argnums)
    function = transformation(total(loss, data=places, reduce=reduce), *argnums)
    return Chunked(name, loss, function, places, reduce)


def _checked(
    name: str, loss: Any, data: Any, reduce: str = "sum", argnums: Any = ()
) -> tuple[int, ...]:
    """Return the positions of the data."""
    if not callable(loss):
        raise ArgumentError(
            f"symgrad.dask.{name} takes a function, not {type(loss).__name__}: give the data to "
            f"what it returns, {name}(loss, data=...)(w, X)"
        )
    if reduce not in ("sum", "mean"):
        raise ArgumentError(f"reduce is 'sum' or 'mean', not {reduce!r:.60}")
    try:
        places, _ = positions_of(data)
    except ArgumentError:
        places = ()
    if not places or not all(isinstance(k, int) and k >= 0 for k in places) or (
        len(set(places)) < len(places)
    ):  # fmt: skip
        raise ArgumentError(
            f"data is the position of an argument, counted from 0, or a tuple of them, not {data!r}"
        )
    keys, _ = positions_of(argnums)
    if any(not isinstance(k, int) or k < 0 for k in keys):
        raise ArgumentError(f"argnums are positions, counted from 0, not {argnums!r:.60}")
    both = set(keys) & set(places)
    if both:
        raise ArgumentError(
            f"argument {min(both)} is data, and the derivatives by data are as large as they: "
            f"write {name}(..., argnums=...) of a parameter, or see map_blocks"
        )
    return tuple(int(k) for k in sorted(places))
