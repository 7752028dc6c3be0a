"""Kernels for Numba's world: the dispatcher of a compiled program, made when asked for.

An intrinsic links and calls the program's module. Numba sees a tiny function with one call in
it, whatever the size of the program: it has nothing to type-infer, and the result is an
ordinary dispatcher, callable in ``@njit`` and ``prange``, and ``nogil``.

This is all of symgrad that imports numba.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core import errors as numba_errors
from numba.extending import intrinsic
from numba.np import numpy_support
from numba.np.arrayobj import _empty_nd_impl

from .._core.codegen.code import Code, keep_constants
from .._core.runtime import EXHAUSTED, LOOPS, MISS, NO_MEMORY, NO_PLACE, OTHER_BRANCH, Leaf
from ._layout import Layout

I8, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
POINTER = I8.as_pointer()

BRANCH = (
    "the values take another branch than this kernel was made for; make one with "
    "g.kernel(*args) for values like these"
)

MISFIT = (
    "the sizes of the arguments do not fit this kernel: it was made for arguments of other "
    "sizes (0, 1 and short axes of matrices are special, equal sizes stay equal, and no number "
    "made of them may leave 64 bits); make one with "
    "g.kernel(*args) for arguments like these"
)

WRONG_TARGET = "an array to write the result into has another shape than the result"

OVERLAP = (
    "an array to write the result into overlaps with another argument: give each result memory "
    "of its own, as np.empty makes it"
)

#: A variable with which code is not cached by Numba, which goes by the beginning of the name.
#: The key of a caller's code in Numba's cache does not depend on the kernels that are in it.
UNCACHED = "numba.dynamic.globals.symgrad"

GONE = (
    "Numba compiles a kernel that makes arrays only where the current folder exists, and this "
    "process's is gone: os.chdir to one that exists before the kernel's first call"
)


def make_kernel(
    code: Code,
    layout: Layout,
    size_inputs: tuple[bool, ...],
    function: Callable[..., Any],
    kinds: Sequence[str],
) -> Any:
    """Return the numba dispatcher of a loaded program; it is compiled on its first call.

    A layout with targets makes a kernel that writes into given arrays. Where Numba's compiler is
    switched off, what it compiles is Python, and the kernel calls the program's Python
    ``function``, whose inputs are of these ``kinds``.
    """
    if numba.config.DISABLE_JIT:
        call = _plain(code, function, kinds)
    else:
        keep_constants(code)
        call = make_intrinsic(code, size_inputs, layout.arguments)
    source = layout.source()
    filename = f"<symgrad kernel {code.name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    scope: dict[str, Any] = {"call": call, "numba": numba, "np": np, "__name__": "symgrad_kernel"}
    exec(compile(source, filename, "exec"), scope)  # noqa: S102  of names made here
    return scope["kernel"]


def _plain(code: Code, function: Callable[..., Any], kinds: Sequence[str]) -> Callable[..., Any]:
    def call(arguments: Any, targets: Any, _: int) -> Any:
        mark = (MISS,) if targets else ()
        found = function(*map(_given, arguments, code.inputs, kinds), *mark, *targets)
        if found is MISS:
            raise ValueError(MISFIT)
        return found

    return call


def _given(value: Any, leaf: Leaf, kind: str) -> Any:
    """Return an argument as the program's Python function takes it."""
    if not leaf.ndim:
        return {"float": float, "int": int}.get(kind, np.dtype(leaf.dtype).type)(value)
    if value.ndim != leaf.ndim or value.dtype != leaf.dtype:
        raise TypeError(f"the symgrad kernel was made for {leaf.ndim}-d arrays of {leaf.dtype}")
    return np.ascontiguousarray(value)


# ---------------------------------------------------------------- the call


def leaf_type(leaf: Leaf) -> Any:
    """Return the numba type of a kernel's input or output."""
    element = numpy_support.from_dtype(np.dtype(leaf.dtype))
    return types.Array(element, leaf.ndim, "C") if leaf.ndim else element


def make_intrinsic(code: Code, size_inputs: tuple[bool, ...], names: Sequence[str]) -> Any:
    """Return the intrinsic ``call(arguments, targets, threads)``, which returns result leaves.

    The arguments are tuples of leaves. ``size_inputs`` says of each input whether it is a size
    (a Python integer), ``names`` how the kernel's source calls it; ``targets`` are the arrays to
    write into, or none at all; ``threads`` is how many may be used, 0 for as many as set.
    """
    results = [leaf_type(leaf) for leaf in code.outputs]
    returned = results[0] if len(results) == 1 else types.Tuple(results)

    @intrinsic
    def call(typing_context: Any, arguments: Any, targets: Any, threads: Any) -> Any:
        _check_types(code, arguments, names)
        _check_targets(code, targets)
        return returned(arguments, targets, threads), _Codegen(code, size_inputs, results, returned)

    return call


def _check_types(code: Code, arguments: Any, names: Sequence[str]) -> None:
    for name, leaf, given in zip(names, code.inputs, arguments, strict=True):
        wanted = leaf_type(leaf)
        if isinstance(given, types.Array):
            fits = given.dtype == getattr(wanted, "dtype", wanted) and given.ndim == leaf.ndim
        else:
            fits = leaf.ndim == 0 and isinstance(given, (types.Number, types.Boolean))
        if not fits:
            raise numba_errors.TypingError(
                f"argument {name} of the symgrad kernel is {given}, but it was made for {wanted}; "
                "make a kernel with g.kernel(*args) for arguments like these"
            )


def _check_targets(code: Code, targets: Any) -> None:
    wanted = [leaf_type(leaf) for leaf in code.outputs if leaf.ndim]
    for kind, given in zip(wanted, targets, strict=bool(targets)):
        if given != kind:
            raise numba_errors.TypingError(
                f"the symgrad kernel writes into {kind}, but was given {given}: make it with "
                "np.empty, in C order"
            )


@contextmanager
def _folder_named() -> Iterator[None]:
    """Say which file Numba has not found: it asks for source lines relative to where it is."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(GONE) from error


def _copy(a: Any) -> Any:
    # What np.ascontiguousarray gives for a read-only array is read-only in older Numba.
    out = np.empty(a.shape, a.dtype)
    out[...] = a
    return out


def _share(builder: Any, a: Any, b: Any) -> Any:
    """Return whether two contiguous arrays share memory."""
    (first, end), (other, its_end) = (
        (start, builder.add(start, builder.mul(x.nitems, x.itemsize)))
        for x in (a, b)
        for start in [builder.ptrtoint(x.data, I64)]
    )
    before = builder.icmp_unsigned("<", first, its_end)
    return builder.and_(before, builder.icmp_unsigned("<", other, end))


class _Codegen:
    """Generates calls of a program; Numba hands it what each is in."""

    def __init__(
        self, code: Code, size_inputs: tuple[bool, ...], results: list[Any], returned: Any
    ) -> None:
        self.code, self.size_inputs = code, size_inputs
        self.results, self.returned = results, returned

    @_folder_named()
    def __call__(self, context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _Call(self, context, builder).write(signature, args)


class _Call:
    """Writes one call: arguments, sizes, result arrays, then the program.

    Attributes
    ----------
    arrays:
        The arrays of the arguments, and then those of results that are given.
    leaves, extents:
        The values of the inputs, and the lengths of all their axes.
    borrowed, owned:
        What is given back after the call, and where it raises, with the types.
    """

    def __init__(self, made: _Codegen, context: Any, builder: Any) -> None:
        self.made, self.code = made, made.code
        self.context, self.builder = context, builder
        self.leaves: list[Any] = []
        self.extents: list[Any] = []
        self.arrays: list[Any] = []
        self.borrowed: list[tuple[Any, Any]] = []
        self.owned: list[tuple[Any, Any]] = []

    def write(self, signature: Any, args: Any) -> Any:
        """Write the call; return the value of the results."""
        builder, code = self.builder, self.code
        given, kinds, number = signature.args
        for k in range(len(given)):
            self._take(k, given[k], builder.extract_value(args[0], k))
        count = code.sizes + sum(leaf.ndim for leaf in code.outputs)
        found = self._alloca(count + 1)
        self._link()
        status = self._run("sizes", [*self.extents, found])
        # The tuple of arguments is what the kernel's frame still holds.
        self.owned = [(given, args[0]), *self.borrowed]
        self._raise_if(builder.icmp_unsigned("!=", status, I32(0)), ValueError(MISFIT))
        numbers = [builder.load(builder.gep(found, [I64(j)])) for j in range(count)]
        outputs = self._outputs(kinds, args[1], numbers[code.sizes :])
        results = self._alloca(len(outputs))
        pointers = [builder.bitcast(o.data, POINTER) for o in outputs if o is not None]
        threads = self.context.cast(builder, args[2], number, types.int64)
        inputs = [*self.leaves, *numbers[: code.sizes]]
        status = self._run("run", [*inputs, *pointers, results, threads])
        if any(symbol.startswith(LOOPS) for symbol in code.symbols):
            self._raise_if(self._python_error(), MemoryError(NO_MEMORY))
        for test, value, error in (
            (">=", OTHER_BRANCH, ValueError(BRANCH)),
            ("==", EXHAUSTED, MemoryError(NO_MEMORY)),
            ("!=", 0, IndexError(NO_PLACE)),
        ):
            self._raise_if(builder.icmp_unsigned(test, status, I32(value)), error)
        for kind, value in self.borrowed:
            self.context.nrt.decref(builder, kind, value)
        packed = [
            o._getvalue() if o is not None else self._scalar(results, k, leaf)
            for k, (o, leaf) in enumerate(zip(outputs, code.outputs, strict=True))
        ]
        if len(packed) == 1:
            return packed[0]
        return self.context.make_tuple(builder, self.made.returned, packed)

    def _take(self, k: int, kind: Any, value: Any) -> None:
        """Take an argument apart: what the program is given, and lengths of axes."""
        builder, leaf = self.builder, self.code.inputs[k]
        if not isinstance(kind, types.Array):
            value = self.context.cast(builder, value, kind, leaf_type(leaf))
            if self.made.size_inputs[k]:
                self.extents.append(value)
            self.leaves.append(builder.zext(value, I8) if leaf.dtype == "bool" else value)
            return
        value, kind = self._contiguous(kind, value)
        array = self.context.make_array(kind)(self.context, builder, value)
        if leaf.ndim == 0:
            self.leaves.append(builder.load(array.data))
            return
        self.arrays.append(array)
        self.extents += [builder.extract_value(array.shape, j) for j in range(leaf.ndim)]
        self.leaves.append(builder.bitcast(array.data, POINTER))

    def _outputs(self, kinds: Any, values: Any, lengths: Sequence[Any]) -> list[Any]:
        """Return the arrays of results, given or made, of these lengths; None for numbers."""
        context, builder = self.context, self.builder
        parts = [builder.extract_value(values, k) for k in range(len(kinds))]
        targets = (context.make_array(k)(context, builder, v)
                   for k, v in zip(kinds, parts, strict=True))  # fmt: skip
        dims, outputs = iter(lengths), []
        wrong = overlap = ir.Constant(ir.IntType(1), 0)
        for leaf, kind in zip(self.code.outputs, self.made.results, strict=True):
            shape = [next(dims) for _ in range(leaf.ndim)]
            target = next(targets, None) if leaf.ndim else None
            if target is None:
                made = _empty_nd_impl(context, builder, kind, shape) if leaf.ndim else None
                outputs.append(made)
                continue
            for j, extent in enumerate(shape):
                given_extent = builder.extract_value(target.shape, j)
                differs = builder.icmp_unsigned("!=", given_extent, extent)
                wrong = builder.or_(wrong, differs)
            for other in self.arrays:
                overlap = builder.or_(overlap, _share(builder, target, other))
            self.arrays.append(target)
            context.nrt.incref(builder, kind, target._getvalue())
            outputs.append(target)
        self.owned += [
            (k, o._getvalue()) for k, o in zip(self.made.results, outputs, strict=True) if o
        ]
        self._raise_if(wrong, ValueError(WRONG_TARGET))
        self._raise_if(overlap, ValueError(OVERLAP))
        return outputs

    def _raise_if(self, condition: Any, error: Exception) -> None:
        """Give back the arrays made so far and raise."""
        context, builder = self.context, self.builder
        with builder.if_then(condition, likely=False):
            for kind, value in self.owned:
                context.nrt.decref(builder, kind, value)
            context.call_conv.return_user_exc(builder, type(error), error.args)

    def _python_error(self) -> Any:
        """Return whether a loop of NumPy's has left an error in this thread; it is cleared."""
        builder = self.builder
        known = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(POINTER, []), "PyGILState_GetThisThreadState"
        )
        found = cgutils.alloca_once_value(builder, ir.Constant(ir.IntType(1), 0))
        with builder.if_then(cgutils.is_not_null(builder, builder.call(known, []))):
            python = self.context.get_python_api(builder)
            lock = python.gil_ensure()
            builder.store(cgutils.is_not_null(builder, python.err_occurred()), found)
            python.err_clear()
            python.gil_release(lock)
        return builder.load(found)

    def _alloca(self, count: int) -> Any:
        with self.builder.goto_entry_block():
            return self.builder.alloca(I64, size=max(count, 1))

    def _scalar(self, results: Any, k: int, leaf: Leaf) -> Any:
        builder, element = self.builder, np.dtype(leaf.dtype)
        if element.kind == "f":
            kind: Any = ir.DoubleType() if element.itemsize == 8 else ir.FloatType()
        else:
            kind = ir.IntType(8 * element.itemsize)
        pointer = builder.bitcast(builder.gep(results, [I64(k)]), kind.as_pointer())
        value = builder.load(pointer)
        return builder.trunc(value, ir.IntType(1)) if element.kind == "b" else value

    def _contiguous(self, kind: Any, value: Any) -> tuple[Any, Any]:
        """Copy an array that is not known to be C-contiguous."""
        if kind.layout == "C" or kind.ndim == 0:
            return value, kind
        target = types.Array(kind.dtype, kind.ndim, "C")
        copied = self.context.compile_internal(self.builder, _copy, target(kind), (value,))
        self.borrowed.append((target, copied))
        return copied, target

    def _link(self) -> None:
        """Add the program's module to the library that is being compiled, once."""
        module = self.builder.module
        if UNCACHED not in module.globals:
            mark = ir.GlobalVariable(module, I8, UNCACHED)
            mark.linkage, mark.initializer = "common", I8(0)  # merged, and never dropped
        if self.code.assembly is None:
            return
        library = self.context.active_code_library
        linked = library.__dict__.setdefault("_symgrad_linked", set())
        if self.code.name not in linked:
            linked.add(self.code.name)
            library.add_llvm_module(llvm.parse_assembly(self.code.assembly()))

    def _run(self, part: str, arguments: list[Any]) -> Any:
        """Call one of the program's functions; return its status."""
        name, module = f"{self.code.name}.{part}", self.builder.module
        known = module.globals.get(name)
        if known is None:
            kind = ir.FunctionType(I32, [a.type for a in arguments])
            known = ir.Function(module, kind, name)
        return self.builder.call(known, arguments)
