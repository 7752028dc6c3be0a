"""Functions of data in chunks: Dask's graph of a call, and what is compiled for a chunk.

That is the sum over its rows, and products with the sum's Hessian.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask._task_spec import Task, TaskRef, convert_legacy_graph
from dask.array.optimization import optimize
from dask.base import is_dask_collection
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.utils import ensure_dict
from distributed import futures_of

from .._api._argnums import Keys, positions_of
from .._api._bodies import grad_body, jvp_body
from .._api._transforms import made
from .._core.trace import flatten, is_number_list
from .._dispatch import Function
from ..errors import ArgumentError, ShapeError
from ._data import Chunks, check_fit, chunks_of
from ._tasks import (
    FAN,
    FREE,
    Making,
    Step,
    Work,
    added,
    built,
    finished,
    kinds,
    part_of,
    rows_from,
    to_bytes,
    whole,
)

_NUMBERS = (np.ndarray, np.generic, float, complex)


class Call:
    """A call's tasks: one that all chunks share, and one for each chunk.

    Parameters
    ----------
    name:
        What the tasks are called on the dashboard.
    function:
        What is called with ``first``, the arguments, and a chunk in the places ``data`` of them.
    """

    def __init__(
        self, name: str, function: Callable[..., Any], data: tuple[int, ...],
        args: Sequence[Any], kwargs: dict[str, Any], first: tuple[Any, ...] = (),
    ) -> None:  # fmt: skip
        if len(args) <= max(data):
            raise ArgumentError(
                f"data={data}, but the function was called with {len(args)} positional arguments"
            )
        rest = tuple(x for k, x in enumerate(args) if k not in data)
        self._found = [chunks_of(args[k], f"argument {k}") for k in data]
        check_fit(self._found, data)
        leaves, tree = flatten((rest, kwargs, first))
        for leaf in leaves:
            if is_dask_collection(leaf):
                raise ArgumentError(
                    f"a {type(leaf).__name__} of Dask is among the arguments that are no data: "
                    f"name its position in data=(...), which is {data}, or pass x.compute()"
                )
        free = [_is_number(leaf) for leaf in leaves]
        others = [FREE if flag else leaf for leaf, flag in zip(leaves, free, strict=True)]
        work = Work(function, tree, others, data)
        numbers = [leaf for leaf, flag in zip(leaves, free, strict=True) if flag]
        self.kinds = kinds(tree)
        # Another name in each call: Dask takes equal names for equal results.
        self.name, self._token = name, uuid.uuid4().hex
        self._step = self.key("step")
        step = Step(to_bytes(work, name), numbers)
        self._tasks: dict[Any, Task] = {self._step: Task(self._step, Step, *step)}

    def key(self, what: str = "") -> str:
        """Return a name of tasks."""
        return f"{what}{'-' * bool(what)}{self.name}-{self._token}"

    @property
    def chunks(self) -> list[tuple[Any, ...]]:
        """The keys of the data, for each chunk one of each argument."""
        return list(zip(*(found.keys for found in self._found), strict=True))

    @property
    def rows(self) -> tuple[float, ...]:
        """The rows of each chunk, nan where they are not known."""
        known = [found.sizes for found in self._found if found.sizes is not None]
        return known[0] if known else (np.nan,) * len(self.chunks)

    def mapped(self, function: Callable[..., Any], *options: Any, axes: int = 0) -> list[Any]:
        """Add a task for each chunk, and return their keys."""
        chunks, keys = self.chunks, []
        for k, chunk in enumerate(chunks):
            key = (self.key(), k, *(0,) * axes)
            place = _place(k, len(chunks))
            inputs = [TaskRef(x) for x in chunk]
            self._tasks[key] = Task(key, function, TaskRef(self._step), place, *options, *inputs)
            keys.append(key)
        return keys

    def summed(self, keys: list[Any]) -> Any:
        """Add the tasks that add up what others give, and return the key of the last."""
        level = 0
        while len(keys) > 1:
            groups = [keys[k : k + FAN] for k in range(0, len(keys), FAN)]
            keys = [(self.key("add"), level, k) for k in range(len(groups))]
            for key, group in zip(keys, groups, strict=True):
                self._tasks[key] = Task(key, added, *map(TaskRef, group))
            level += 1
        return keys[0]

    def last(self, function: Callable[..., Any], *inputs: Any) -> Delayed:
        """Return the result of one more task as one of Dask's collections."""
        key = self.key("result")
        self._tasks[key] = Task(key, function, *inputs)
        return Delayed(key, self._naming(optimize(self.graph(key), [key])), layer=key)

    def _naming(self, graph: Any) -> dict[Any, Any]:
        """Have the tasks that make chunks say of which one an error is; their keys stay.

        What fails before a chunk is there is never handed to the tasks of this call.
        """
        tasks: dict[Any, Any] = dict(convert_legacy_graph(ensure_dict(graph)))
        makes: dict[Any, int | None] = {}  # the chunk that a task is for, None for several
        for k, chunk in enumerate(self.chunks):
            below = list(chunk)
            while below:
                key = below.pop()
                if makes.get(key, -1) not in (k, None):
                    makes[key] = None if key in makes else k
                    below += tasks[key].dependencies if key in tasks else ()
        count = len(self.chunks)
        self._makers = {key: f"{key}, which makes {_place(k, count)}" for key, k in makes.items()}
        for key, place in self._makers.items():
            node = tasks.get(key)
            if isinstance(node, Task) and not node.is_coro:
                making = Making(place, node)
                tasks[key] = Task(key, making, *map(TaskRef, making.inputs))
        return tasks

    def name_held(self, error: Exception) -> None:
        """Note on an error which chunk it is of, if a task made before the call has failed."""
        futures = {f.key: f for found in self._found for f in futures_of(found.collections)}
        for key, place in self._makers.items():
            held, note = futures.get(key), f"in {place}"
            if held is None or held.status != "error" or repr(held.exception()) != repr(error):
                continue
            if not any(said.startswith(note) for said in getattr(error, "__notes__", ())):
                error.add_note(note)
            return

    def graph(self, name: str) -> HighLevelGraph:
        """Return Dask's graph, in which the layer of this call has a name."""
        collections = [c for found in self._found for c in found.collections]
        return HighLevelGraph.from_collections(name, self._tasks, dependencies=collections)


def _place(k: int | None, count: int) -> str:
    which = "several" if k is None else f"chunk {k} (counted from 0)"
    return f"{which} of {count}" + " chunks" * (k is None)


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, _NUMBERS) or type(leaf) is int or is_number_list(leaf)


class Chunked:
    """A function of arguments and of data in chunks; made by the functions of `symgrad.dask`.

    Call it like the function, with Dask's collections for the data: the result is that for the
    whole data.

    Examples
    --------
    >>> import dask.array as da
    >>> import symgrad.dask as sgd
    >>> misfit = sgd.value(lambda m, x: (x - m) ** 2, data=1)
    >>> misfit(1.0, da.arange(4.0, chunks=2))
    np.float64(6.0)
    """

    def __init__(
        self, kind: str, loss: Callable[..., Any], function: Callable[..., Any],
        data: tuple[int, ...], reduce: str,
    ) -> None:  # fmt: skip
        self._function, self._data, self._reduce = function, data, reduce
        name = str(getattr(loss, "__name__", type(loss).__name__)).strip("<>")
        self.__name__ = self.__qualname__ = f"{kind}-{name}"
        self.__doc__ = getattr(loss, "__doc__", None)
        self.__wrapped__ = loss

    def __repr__(self) -> str:
        return f"<symgrad.dask {self.__name__}, data={self._data}, reduce={self._reduce!r}>"

    def _call(self, *args: Any, **kwargs: Any) -> Call:
        return Call(self.__name__, self._function, self._data, args, kwargs)

    def _last(self, call: Call, function: Callable[..., Any], *more: Any) -> Delayed:
        key = call.summed(call.mapped(part_of))
        return call.last(function, TaskRef(key), self._reduce, *more)

    def delayed(self, *args: Any, **kwargs: Any) -> Delayed:
        """Return what a call returns as one of Dask's delayed values, not computed yet.

        Compute several at once (`dask.compute`), start it and watch it (`x.persist()`,
        `distributed.progress(x)`), or look at its graph (`x.visualize()`).
        """
        call = self._call(*args, **kwargs)
        return self._last(call, finished, call.kinds)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = self._call(*args, **kwargs)
        # The arguments travel in the graph, whatever their size: once, and again if they are lost.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            last = self._last(call, whole)
            try:
                found = last.compute(optimize_graph=False)
            except Exception as error:
                call.name_held(error)
                raise
        return built(found, call.kinds)


class Product(Chunked):
    """A function of primals and tangents, both tuples."""

    def _call(self, *args: Any, **kwargs: Any) -> Call:
        if len(args) != 2 or kwargs:
            raise ArgumentError("hvp takes primals and tangents: write h((x, data), (v,))")
        primals, tangents = args
        for value, name in ((primals, "primals"), (tangents, "tangents")):
            if not isinstance(value, (tuple, list)):
                raise ArgumentError(f"{name} is a tuple: write (x, data), (v,)")
        first = (tuple(tangents),)
        return Call(self.__name__, self._function, self._data, primals, {}, first)


def mapped(
    name: str, f: Callable[..., Any], data: tuple[int, ...], shape: tuple[int, ...], dtype: Any,
    args: Sequence[Any], kwargs: dict[str, Any],
) -> da.Array:  # fmt: skip
    """Return an array in chunks: what ``f`` gives of each chunk, with its rows."""
    call = Call(name, f, data, args, kwargs)
    call.mapped(rows_from, shape, np.dtype(dtype), axes=len(shape))
    chunks = (call.rows, *((n,) for n in shape))
    return da.Array(call.graph(call.key()), call.key(), chunks, dtype=dtype)


def total(f: Callable[..., Any], *, data: tuple[int, ...], reduce: str) -> Function:
    """Return the sum over the rows of a chunk of what ``f`` says of all of them or of each."""
    traced = f.outermost if isinstance(f, Function) else f

    def body(*args: Any, _top: bool = False, **kwargs: Any) -> Any:
        rows = flatten(args[data[0]])[0][0].shape[0]
        results, tree = flatten((traced if _top else f)(*args, **kwargs))
        return tree.unflatten([_summed(x, rows, reduce) for x in results])

    return made(total, f, body, {"data": data, "reduce": reduce})


def _summed(result: Any, rows: Any, reduce: str) -> Any:
    shape = np.shape(result)
    if shape == ():
        return result * rows if reduce == "mean" else result
    if len(shape) == 1 and shape[0] == rows:
        return np.sum(result)
    raise ShapeError(
        f"the loss returns shape {shape} for a chunk of {rows} rows: it has to return one number, "
        "or one for each row"
    )


def hessian_product(f: Callable[..., Any], *, argnums: Keys) -> Function:
    """Return a function of tangents and arguments: the Hessian times the tangents."""
    places, _ = positions_of(argnums)
    slope = grad_body(f, argnums, False, False, "hvp")

    def body(tangents: Any, *args: Any, _top: bool = False, **kwargs: Any) -> Any:
        if not isinstance(tangents, tuple) or len(tangents) != len(places):
            raise ArgumentError(
                f"tangents is a tuple with one entry for each of argnums={argnums}: write (v,)"
            )

        def gradient(*chosen: Any) -> Any:
            new = list(args)
            for place, value in zip(places, chosen, strict=True):
                new[place] = value  # type: ignore[index]
            return slope(*new, **kwargs)

        primals = tuple(args[place] for place in places)  # type: ignore[index]
        return jvp_body(gradient)(primals, tangents, _top=_top)[1]

    return made(hessian_product, f, body, {"argnums": argnums})


__all__ = ["Call", "Chunked", "Chunks", "Product", "hessian_product", "mapped", "total"]
