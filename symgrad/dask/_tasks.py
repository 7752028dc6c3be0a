"""What workers run: a kernel on one chunk, and sums of what chunks gave.

Tasks write to nothing that they are given: Dask may run one again after it has lost a worker,
and what has been used of the first run stays as it was.

Functions travel as bytes: what a loss is now, wherever it runs. Dask pickles functions of modules
by name, so a worker would compute with what *its* module has: another version, or a global name
that the client has changed since. Here the user's own functions, classes and modules go by value,
as notebooks' do; what is taken as fixed elsewhere in symgrad (Python's modules, installed packages)
goes by name.

Classes that come by value are new ones each time. cloudpickle would change the class that came
before in place, under the functions that came with it.
"""

from __future__ import annotations

import contextlib
import functools
import io
import pickle
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
from dask._task_spec import Task
from dask.utils import funcname
from distributed import get_worker

from .._capture._ownership import of_library
from .._core.base.fork_safety import free_in_children
from .._core.base.signals import foreseen
from .._core.trace import Tree, flatten
from .._dispatch import Function
from ..errors import ArgumentError, ShapeError

#: cloudpickle's list of modules that go by value is one for the process.
_lock = free_in_children(threading.Lock())

_kept = free_in_children(threading.Lock())


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self.entered: list[ModuleType] = []

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Function):  # a decorated function of a module would go by name
            return _remade, obj._recipe
        if isinstance(obj, (FunctionType, type, ModuleType)):
            name = obj.__name__ if isinstance(obj, ModuleType) else obj.__module__
            module = sys.modules.get(name)
            if module is not None and name not in cloudpickle.list_registry_pickle_by_value() and (
                not of_library(module)
            ):  # fmt: skip
                cloudpickle.register_pickle_by_value(module)
                self.entered.append(module)
        return super().reducer_override(obj)


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        if module.startswith("cloudpickle") and name.startswith("_make_skeleton_"):
            # The last argument but one is the number by which cloudpickle finds the class again.
            return lambda *args: found(*args[:-2], None, args[-1])
        return found


def _remade(make: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return make(*args, **options)


def to_bytes(value: Any, what: str) -> bytes:
    """Return a function with what it reads, pickled by value.

    Raises
    ------
    ArgumentError
        If something that it reads cannot be pickled.
    """
    file = io.BytesIO()
    with _lock:
        pickler = _Pickler(file)
        try:
            pickler.dump(value)
        except foreseen(Exception) as error:
            raise ArgumentError(
                f"{what} reads something that cannot be sent to workers: {error}. Pass it as an "
                "argument, or import names (from module import name), not the module that has it"
            ) from error
        finally:
            for module in pickler.entered:
                cloudpickle.unregister_pickle_by_value(module)
    return file.getvalue()


def from_bytes(pickled: bytes) -> Any:
    """Return what :func:`to_bytes` has pickled; the same for the same bytes, compiled once."""
    with _kept:  # two threads at once would both compile it
        return _loaded(pickled)


@functools.lru_cache(maxsize=16)
def _loaded(pickled: bytes) -> Any:
    return _Unpickler(io.BytesIO(pickled)).load()


#: So many parts are added in one task, in pairs: the tree of additions is binary, its tasks few.
FAN = 8


class Step(NamedTuple):
    """What the chunks of one call share: a task of its own, so that a worker gets it once.

    ``function``: a :class:`Work` as bytes. ``numbers``: the numbers and arrays among the
    arguments that are no data.
    """

    function: bytes
    numbers: list[Any]


class Work(NamedTuple):
    """What is computed of each chunk.

    ``tree`` is the structure of the positional arguments without the data, those by name, and
    those of the function itself that come first; its leaves are numbers of the step where
    ``others`` has ``FREE``.
    """

    function: Callable[..., Any]
    tree: Tree
    others: list[Any]
    data: tuple[int, ...]

    def of(self, numbers: Sequence[Any], chunk: Sequence[Any]) -> Any:
        """Return the result for one chunk."""
        given = iter(numbers)
        leaves = [next(given) if x is FREE else x for x in self.others]
        rest, kwargs, first = self.tree.unflatten(leaves)
        args = list(rest)
        for place, value in zip(self.data, chunk, strict=True):
            args.insert(place, value)
        return self.function(*first, *args, **kwargs)


class _Free:
    """Stands where a number belongs."""

    def __reduce__(self) -> str:
        return "FREE"


FREE = _Free()


class Part(NamedTuple):
    """What some chunks gave: how many rows they have, the leaves of the sum and its structure."""

    rows: int
    leaves: list[Any]
    tree: Tree


def part_of(step: Step, place: str, *chunk: Any) -> Part | None:
    """Return what one chunk gives; None of one without rows."""
    with named(place):
        given = [plain(x) for x in chunk]
        rows = rows_of(given)
        if rows == 0:
            return None
        work: Work = from_bytes(step.function)
        leaves, tree = flatten(work.of(step.numbers, given))
        return Part(rows, leaves, coded(tree, {kind: k for k, kind in enumerate(kinds(work.tree))}))


def rows_from(step: Step, place: str, like: tuple[int, ...], dtype: Any, *chunk: Any) -> Any:
    """Return what one chunk gives, an array with its rows."""
    with named(place):
        given = [plain(x) for x in chunk]
        rows = rows_of(given)
        work: Work = from_bytes(step.function)
        wanted = (rows, *like)
        if rows == 0:
            return np.empty(wanted, dtype)
        result = work.of(step.numbers, given)
        if getattr(result, "shape", None) != wanted:
            found = getattr(result, "shape", type(result).__name__)
            raise ShapeError(
                f"the function returns {found} for {rows} rows, not {wanted}: give map_blocks "
                "the shape of one row, shape=(...)"
            )
        if result.dtype != dtype:
            raise ArgumentError(
                f"the function returns {result.dtype}, not {np.dtype(dtype)}: give map_blocks "
                f"dtype={str(result.dtype)!r}"
            )
        return result


def added(*parts: Part | None) -> Part | None:
    """Return the sum of parts, added in pairs: neighbours first, then neighbours of these."""
    left = list(parts)
    while len(left) > 1:
        left = [_both(*left[k : k + 2]) for k in range(0, len(left), 2)]
    return left[0]


def _both(a: Part | None, b: Part | None = None) -> Part | None:
    if a is None or b is None:
        return b if a is None else a
    pairs = zip(a.leaves, b.leaves, strict=True)
    leaves = [x if x is None else x + y for x, y in pairs]  # None: of what is no number
    return Part(a.rows + b.rows, leaves, a.tree)


def whole(part: Part | None, reduce: str) -> Part:
    """Return the sum or the mean over all chunks."""
    if part is None:
        raise ArgumentError("the data have no rows: there is nothing to compute of them")
    if reduce == "mean":
        return part._replace(
            leaves=[x if x is None else _divided(x, part.rows) for x in part.leaves]
        )
    return part


def _divided(x: Any, rows: int) -> Any:
    # NumPy 2.1 divides a float32 by an integer as float64, in threads besides the main one.
    dtype = np.result_type(x)
    return np.divide(x, rows, dtype=dtype if dtype.kind in "fc" else None)


def built(part: Part, kinds: list[type]) -> Any:
    """Return a result with its structure, of the classes of the arguments."""
    return coded(part.tree, dict(enumerate(kinds))).unflatten(part.leaves)


def finished(part: Part | None, reduce: str, kinds: list[type]) -> Any:
    """Return what the call returns."""
    return built(whole(part, reduce), kinds)


def kinds(tree: Tree) -> list[type]:
    """Return the classes in a structure."""
    own = [tree.meta[0]] if tree.kind in _OF_CLASSES else []
    return list(dict.fromkeys([*own, *(k for child in tree.children for k in kinds(child))]))


def coded(tree: Tree, code: dict[Any, Any]) -> Tree:
    """Return a structure with classes as numbers, or back: a class that was sent is another one."""
    meta = tree.meta
    if tree.kind in _OF_CLASSES:
        meta = (code.get(meta[0], meta[0]), *meta[1:])
    return Tree(tree.kind, meta, tuple(coded(child, code) for child in tree.children))


_OF_CLASSES = ("dict", "namedtuple", "dataclass")


# ---------------------------------------------------------------- chunks


def plain(chunk: Any) -> Any:
    """Return a chunk as a loss gets it: of a partition, arrays by the names of its columns."""
    if hasattr(chunk, "columns"):
        kinds = zip(chunk.columns, chunk.dtypes, strict=True)
        names = [name for name, kind in kinds if getattr(kind, "kind", "O") in "fiubc"]
        twice = [name for k, name in enumerate(names) if name in names[:k]]
        if twice:
            raise ArgumentError(f"the dataframe has several columns {twice[0]}: rename them")
        return {name: np.asarray(chunk[name]) for name in names}
    if hasattr(chunk, "index") and hasattr(chunk, "to_numpy"):
        return chunk.to_numpy()
    if isinstance(chunk, (tuple, list)):
        return tuple(map(plain, chunk))
    if isinstance(chunk, dict):
        return {key: plain(value) for key, value in chunk.items()}
    if isinstance(chunk, np.ndarray) and not (
        chunk.flags.c_contiguous or chunk.flags.f_contiguous
    ):  # as it is on a worker that was sent it: sums depend on the order in memory
        return np.ascontiguousarray(chunk)
    return chunk


def rows_of(given: Sequence[Any]) -> int:
    """Return how many rows a chunk has."""
    leaves = flatten(tuple(given))[0]
    shapes = [getattr(x, "shape", None) for x in leaves]
    if not shapes or any(not shape for shape in shapes):
        kinds = ", ".join(type(x).__name__ for x, s in zip(leaves, shapes, strict=True) if not s)
        raise ArgumentError(f"a chunk consists of arrays with rows, not of {kinds or 'nothing'}")
    if len({shape[0] for shape in shapes if shape}) > 1:
        raise ShapeError(f"the parts of the chunk have different numbers of rows: {shapes}")
    return int(shapes[0][0])  # type: ignore[index]


class Making:
    """A task of the user's that makes chunks; its errors name them."""

    def __init__(self, place: str, node: Task) -> None:
        self.place, self.node, self.inputs = place, node, tuple(node.dependencies)
        self.__name__ = funcname(node.func)  # in Dask's logs

    def __call__(self, *values: Any) -> Any:
        with named(self.place):
            return self.node(dict(zip(self.inputs, values, strict=True)))


@contextlib.contextmanager
def named(place: str) -> Iterator[None]:
    """Note on errors which chunk they are of, and which worker had it."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in {place}, on {_here()}")
        raise


def _here() -> str:
    try:
        return f"worker {get_worker().address}"
    except ValueError:  # Dask's schedulers of one machine have no workers
        return "this machine"


__all__ = [
    "FAN", "FREE", "Making", "Part", "Step", "Work", "added", "built", "finished", "from_bytes",
    "kinds", "part_of", "rows_from", "to_bytes", "whole",
]  # fmt: skip
