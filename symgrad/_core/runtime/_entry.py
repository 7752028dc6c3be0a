"""The way from a Python call into a program: a CPython function written in LLVM IR.

``NAME.python`` has CPython's vectorcall-style C signature ``(self, args, nargs)``. It checks the
types of its arguments, reads sizes and data pointers off the arrays, makes the result arrays
through NumPy's C API, runs the program and wraps the results. After the inputs it takes, or
not, the object ``MISS`` and one argument for each array among the results: an array to write to,
or None. (Without that mark, one more argument of the user's would be written to.) Arguments it is
not made for make it return ``MISS``, and nothing has happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ._memory_code import EMPTY
from .interface import (
    EXHAUSTED,
    NO_MEMORY,
    NO_PLACE,
    OTHER_BRANCH,
    Interface,
    Leaf,
    Lines,
    memory_type,
)
from .structures import (
    DATA_AT,
    DTYPE_AT,
    FLAGS_AT,
    RANK_AT,
    SHAPE_AT,
    TYPE_AT,
    VALUE_AT,
    dtype_symbol,
    object_symbol,
    scalar_symbol,
)

#: NPY_ARRAY_C_CONTIGUOUS and NPY_ARRAY_ALIGNED: a kernel reads, so writeable does not matter.
READABLE = 0x0001 | 0x0100
#: With NPY_ARRAY_WRITEABLE, for results.
WRITEABLE = READABLE | 0x0400

#: From this many elements of arguments, results and loops on, the interpreter's lock is released:
#: getting it back from a busy thread can take longer than a small program.
RELEASE_FROM = 8192

DECLARATIONS = """
declare ptr @symgrad.memory.empty(i32, ptr, ptr, i64)
declare ptr @symgrad.numpy.PyArray_Scalar(ptr, ptr, ptr)
declare void @symgrad.python.Py_IncRef(ptr)
declare void @symgrad.python.Py_DecRef(ptr)
declare ptr @symgrad.python.PyTuple_New(i64)
declare i32 @symgrad.python.PyTuple_SetItem(ptr, i64, ptr)
declare i64 @symgrad.python.PyLong_AsLongLong(ptr)
declare void @symgrad.python.PyErr_Clear()
declare ptr @symgrad.python.PyErr_Occurred()
declare void @symgrad.python.PyErr_SetString(ptr, ptr)
declare ptr @symgrad.python.PyEval_SaveThread()
declare void @symgrad.python.PyEval_RestoreThread(ptr)
"""

#: Entry points of more arguments and results are not optimised.
MANY = 48

#: Whether memory overlaps with none of the spans noted, the first ``count`` words: a loop, for
#: the checks of all pairs written out would make the entry's length quadratic.
APART = """
define internal i1 @symgrad.apart(ptr %spans, i64 %count, i64 %begin, i64 %end) noinline {
entry:
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %body, label %done
body:
  %here = getelementptr i64, ptr %spans, i64 %k
  %first = load i64, ptr %here
  %there = getelementptr i64, ptr %here, i64 1
  %last = load i64, ptr %there
  %before = icmp ule i64 %end, %first
  %after = icmp ule i64 %last, %begin
  %fine = or i1 %before, %after
  %next = add i64 %k, 2
  br i1 %fine, label %head, label %done
done:
  %apart = phi i1 [ true, %head ], [ false, %body ]
  ret i1 %apart
}
"""


def threads_symbol(name: str) -> str:
    """Return the symbol of the number of threads for Python's calls; 0: as many as allowed."""
    return f"{name}.threads"


@dataclass
class _Entry(Lines):
    """The text under way."""

    objects: set[str] = field(default_factory=set)
    #: Words noted in ``%spans``: two for each array, where it begins and ends.
    spans: int = 0

    def label(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def at(self, pointer: str, offset: int, kind: str) -> str:
        """Load a value of type ``kind`` from ``pointer`` + ``offset`` bytes."""
        place = self.op(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        return self.op(f"load {kind}, ptr {place}")

    def object(self, symbol: str) -> str:
        self.objects.add(symbol)
        return f"@{symbol}"

    def require(self, condition: str) -> None:
        """Go on if ``condition`` holds; miss otherwise."""
        on = self.label("on")
        self.line(f"br i1 {condition}, label %{on}, label %miss")
        self.lines.append(f"{on}:")

    def require_same(self, value: str, kind: str, wanted: str | int) -> None:
        self.require(self.op(f"icmp eq {kind} {value}, {wanted}"))


def write_entry(program: Interface, kinds: Sequence[str]) -> str:
    """Return the text of ``NAME.python``, to go into the module of the entry points.

    Parameters
    ----------
    program:
        How its functions are called.
    kinds:
        For each input ``"array"`` (an ndarray, or a NumPy scalar where the rank is 0),
        ``"float"`` or ``"int"`` (exactly these Python types).
    """
    e = _Entry()
    arrays = [k for k, leaf in enumerate(program.outputs) if leaf.ndim]
    alone = e.op(f"icmp eq i64 %nargs, {len(kinds)}")
    placed = e.op(f"icmp eq i64 %nargs, {len(kinds) + 1 + len(arrays)}")
    e.require(e.op(f"or i1 {alone}, {placed}"))
    arguments: list[str] = []
    extents: list[str] = []
    counts: list[str] = []
    read: list[tuple[str, str, Leaf]] = []
    for k, (leaf, kind) in enumerate(zip(program.inputs, kinds, strict=True)):
        given = e.at("%args", 8 * k, "ptr")
        if leaf.ndim:
            data = _read_array(e, given, leaf, READABLE)
            shape = _extents(e, given, leaf.ndim)
            arguments.append(f"ptr {data}")
            extents += shape
            counts.append(_product(e, shape))
            read.append((data, counts[-1], leaf))
        else:
            value = _read_scalar(e, given, leaf, kind)
            arguments.append(f"{memory_type(leaf.dtype)} {value}")
            if kind == "int":
                extents.append(value)
    found, shapes = _sizes(e, program, extents)
    arguments += [f"i64 {e.at('%found', 8 * j, 'i64')}" for j in range(found)]
    made = [_product(e, [e.at("%found", 8 * i, "i64") for i in shapes[k]]) for k in arrays]
    counts += made
    e.line(f"br i1 {alone}, label %ready, label %placed")
    e.lines.append("placed:")
    e.require_same(e.at("%args", 8 * len(kinds), "ptr"), "ptr", e.object(object_symbol("miss")))
    e.line(f"store [{2 * (len(read) + len(arrays))} x i64] zeroinitializer, ptr %spans")
    for span in read:
        _span(e, *span)
    for j, (k, count) in enumerate(zip(arrays, made, strict=True)):
        given = e.at("%args", 8 * (len(kinds) + 1 + j), "ptr")
        _check_target(e, j, given, program.outputs[k], shapes[k], count)
    e.line("br label %ready")
    e.lines.append("ready:")
    for j, (k, count) in enumerate(zip(arrays, made, strict=True)):
        arguments.append(f"ptr {_make_array(e, k, j, program.outputs[k], shapes[k], count)}")
    steps = e.at("%found", 8 * (program.sizes + sum(leaf.ndim for leaf in program.outputs)), "i64")
    work = _sum(e, [steps, *counts])
    arguments.append("ptr %results")
    arguments.append(f"i64 {e.op(f'load i64, ptr @{threads_symbol(program.name)}')}")
    status = _run(e, program.name, arguments, work)
    _check(e, status)
    result = _wrap(e, program.outputs)
    e.line(f"ret ptr {result}")
    return "\n".join(_text(e, program))


def _read_array(e: _Entry, given: str, leaf: Leaf, wanted: int) -> str:
    """Check an array's type and flags; return its data pointer."""
    e.require_same(e.at(given, TYPE_AT, "ptr"), "ptr", e.object(object_symbol("ndarray")))
    e.require_same(e.at(given, DTYPE_AT, "ptr"), "ptr", e.object(dtype_symbol(leaf.dtype)))
    e.require_same(e.at(given, RANK_AT, "i32"), "i32", leaf.ndim)
    flags = e.op(f"and i32 {e.at(given, FLAGS_AT, 'i32')}, {wanted}")
    e.require_same(flags, "i32", wanted)
    return e.at(given, DATA_AT, "ptr")


def _extents(e: _Entry, given: str, rank: int) -> list[str]:
    shape = e.at(given, SHAPE_AT, "ptr")
    return [e.at(shape, 8 * axis, "i64") for axis in range(rank)]


def _span(e: _Entry, data: str, count: str, leaf: Leaf) -> tuple[str, str]:
    """Note the memory of an array for :data:`APART`; return where it begins and ends."""
    begin = e.op(f"ptrtoint ptr {data} to i64")
    size = e.op(f"mul i64 {count}, {np.dtype(leaf.dtype).itemsize}")
    end = e.op(f"add i64 {begin}, {size}")
    for value in (begin, end):
        e.line(f"store i64 {value}, ptr {e.op(f'getelementptr i64, ptr %spans, i64 {e.spans}')}")
        e.spans += 1
    return begin, end


def _check_target(e: _Entry, k: int, given: str, leaf: Leaf, shape: range, count: str) -> None:
    """Take ``given`` as target ``k``, unless it is None; miss if nothing can be written to it.

    The program's code relies on it that results overlap with nothing.
    """
    check, on = e.label("check"), e.label("on")
    known = f"ptr %spans, i64 {e.spans}"
    absent = e.op(f"icmp eq ptr {given}, {e.object(object_symbol('None'))}")
    e.line(f"br i1 {absent}, label %{on}, label %{check}")
    e.lines.append(f"{check}:")
    data = _read_array(e, given, leaf, WRITEABLE)
    for extent, i in zip(_extents(e, given, leaf.ndim), shape, strict=True):
        e.require_same(extent, "i64", e.at("%found", 8 * i, "i64"))
    begin, end = _span(e, data, count, leaf)
    e.require(e.op(f"call i1 @symgrad.apart({known}, i64 {begin}, i64 {end})"))
    e.line(f"store ptr {given}, ptr {e.op(f'getelementptr ptr, ptr %targets, i64 {k}')}")
    e.line(f"br label %{on}")
    e.lines.append(f"{on}:")


def _read_scalar(e: _Entry, given: str, leaf: Leaf, kind: str) -> str:
    exact = scalar_symbol(leaf.dtype) if kind == "array" else object_symbol(kind)
    e.require_same(e.at(given, TYPE_AT, "ptr"), "ptr", e.object(exact))
    if kind != "int":
        return e.at(given, VALUE_AT, memory_type(leaf.dtype))
    value = e.op(f"call i64 @symgrad.python.PyLong_AsLongLong(ptr {given})")
    # -1 is a size that no trace has, and the sign of an integer beyond 64 bits.
    e.require(e.op(f"icmp ne i64 {value}, -1"))
    return value


def _product(e: _Entry, factors: Sequence[str]) -> str:
    result = factors[0] if factors else "0"
    for factor in factors[1:]:
        result = e.op(f"mul i64 {result}, {factor}")
    return result


def _sum(e: _Entry, terms: Sequence[str]) -> str:
    result = "0"
    for term in terms:
        if term != "0":
            result = term if result == "0" else e.op(f"add i64 {result}, {term}")
    return result


def _sizes(e: _Entry, program: Interface, extents: Sequence[str]) -> tuple[int, list[range]]:
    """Call ``NAME.sizes``; return how many sizes it found, and where the results' shapes are."""
    given = "".join(f"i64 {x}, " for x in extents)
    e.require_same(e.op(f"call i32 @{program.name}.sizes({given}ptr %found)"), "i32", 0)
    shapes, start = [], program.sizes
    for leaf in program.outputs:
        shapes.append(range(start, start + leaf.ndim))
        start += leaf.ndim
    return program.sizes, shapes


def _make_array(e: _Entry, k: int, target: int, leaf: Leaf, shape: range, count: str) -> str:
    """Take or make a result array, remember it as item ``k``, and return its data pointer."""
    make, take, done = e.label("make"), e.label("take"), e.label("done")
    given = e.at("%targets", 8 * target, "ptr")
    absent = e.op(f"icmp eq ptr {given}, null")
    e.line(f"br i1 {absent}, label %{make}, label %{take}")
    e.lines.append(f"{make}:")
    dtype = e.object(dtype_symbol(leaf.dtype))
    e.line(f"call void @symgrad.python.Py_IncRef(ptr {dtype})")  # the call takes it
    dims = e.op(f"getelementptr i64, ptr %found, i64 {shape.start}")
    size = e.op(f"mul i64 {count}, {np.dtype(leaf.dtype).itemsize}")
    fresh = e.op(f"call ptr @{EMPTY}(i32 {leaf.ndim}, ptr {dims}, ptr {dtype}, i64 {size})")
    e.line(f"br label %{done}")
    e.lines.append(f"{take}:")
    e.line(f"call void @symgrad.python.Py_IncRef(ptr {given})")
    e.line(f"br label %{done}")
    e.lines.append(f"{done}:")
    made = e.op(f"phi ptr [ {fresh}, %{make} ], [ {given}, %{take} ]")
    _keep(e, k, made)
    return e.at(made, DATA_AT, "ptr")


def _keep(e: _Entry, k: int, made: str) -> None:
    """Fail if an object could not be made; else remember it as item ``k``."""
    on = e.label("on")
    absent = e.op(f"icmp eq ptr {made}, null")
    e.line(f"br i1 {absent}, label %failed, label %{on}")
    e.lines.append(f"{on}:")
    e.line(f"store ptr {made}, ptr {e.op(f'getelementptr ptr, ptr %items, i64 {k}')}")


def _run(e: _Entry, name: str, arguments: Sequence[str], work: str) -> str:
    """Run the program, without the interpreter's lock if there is much to do; fail if it did."""
    call = f"call i32 @{name}.run({', '.join(arguments)})"
    free, held, done = e.label("free"), e.label("held"), e.label("done")
    much = e.op(f"icmp sgt i64 {work}, {RELEASE_FROM}")
    e.line(f"br i1 {much}, label %{free}, label %{held}")
    e.lines.append(f"{free}:")
    state = e.op("call ptr @symgrad.python.PyEval_SaveThread()")
    first = e.op(call)
    e.line(f"call void @symgrad.python.PyEval_RestoreThread(ptr {state})")
    e.line(f"br label %{done}")
    e.lines.append(f"{held}:")
    second = e.op(call)
    e.line(f"br label %{done}")
    e.lines.append(f"{done}:")
    status = e.op(f"phi i32 [ {first}, %{free} ], [ {second}, %{held} ]")
    # A library's function says so where it has failed: NumPy's Fourier transforms need memory.
    error = e.op("call ptr @symgrad.python.PyErr_Occurred()")
    on = e.label("on")
    e.line(f"br i1 {e.op(f'icmp eq ptr {error}, null')}, label %{on}, label %failed")
    e.lines.append(f"{on}:")
    return status


def _check(e: _Entry, status: str) -> None:
    """Raise what a status other than 0 stands for; another branch is a miss."""
    good, bad, on = e.label("good"), e.label("bad"), e.label("on")
    e.line(f"br i1 {e.op(f'icmp eq i32 {status}, 0')}, label %{good}, label %{bad}")
    e.lines.append(f"{bad}:")
    other = e.op(f"icmp uge i32 {status}, {OTHER_BRANCH}")
    e.line(f"br i1 {other}, label %other, label %{on}")
    e.lines.append(f"{on}:")
    memory = e.op(f"icmp eq i32 {status}, {EXHAUSTED}")
    kinds = [e.object(object_symbol(name)) for name in ("MemoryError", "IndexError")]
    kind = e.op(f"select i1 {memory}, ptr {kinds[0]}, ptr {kinds[1]}")
    text = e.op(f"select i1 {memory}, ptr @symgrad.exhausted, ptr @symgrad.out_of_range")
    e.line(f"call void @symgrad.python.PyErr_SetString(ptr {kind}, ptr {text})")
    e.line("br label %failed")
    e.lines.append(f"{good}:")


def _wrap(e: _Entry, outputs: Sequence[Leaf]) -> str:
    """Return the result: one object, or a tuple of them."""
    for k, leaf in enumerate(outputs):
        if not leaf.ndim:
            place = e.op(f"getelementptr i64, ptr %results, i64 {k}")
            dtype = e.object(dtype_symbol(leaf.dtype))
            given = f"ptr {place}, ptr {dtype}, ptr null"
            _keep(e, k, e.op(f"call ptr @symgrad.numpy.PyArray_Scalar({given})"))
    if len(outputs) == 1:
        return e.op("load ptr, ptr %items")
    packed = e.op(f"call ptr @symgrad.python.PyTuple_New(i64 {len(outputs)})")
    on = e.label("on")
    e.line(f"br i1 {e.op(f'icmp eq ptr {packed}, null')}, label %failed, label %{on}")
    e.lines.append(f"{on}:")
    for k in range(len(outputs)):
        item = e.at("%items", 8 * k, "ptr")
        e.op(f"call i32 @symgrad.python.PyTuple_SetItem(ptr {packed}, i64 {k}, ptr {item})")
    return packed


def _drop(program: Interface, name: str) -> Iterator[str]:
    """Give back the objects made so far."""
    for k in range(len(program.outputs)):
        yield f"  %{name}{k} = getelementptr ptr, ptr %items, i64 {k}"
        yield f"  %{name}.{k} = load ptr, ptr %{name}{k}"
        yield f"  call void @symgrad.python.Py_DecRef(ptr %{name}.{k})"


def _text(e: _Entry, program: Interface) -> Iterator[str]:
    outputs = max(len(program.outputs), 1)
    miss = e.object(object_symbol("miss"))
    for symbol in sorted(e.objects):
        yield f"@{symbol} = external global i8"
    for name, text in (("exhausted", NO_MEMORY), ("out_of_range", NO_PLACE)):
        yield f'@symgrad.{name} = private constant [{len(text) + 1} x i8] c"{text}\\00"'
    yield DECLARATIONS
    yield APART
    yield f"@{threads_symbol(program.name)} = global i64 0"
    # Of checks of arrays LLVM makes little, and takes as long for them as for a small program; of
    # many checks it compares the ends of all pairs.
    many = len(program.inputs) + len(program.outputs) > MANY
    plain = " noinline optnone" if e.spans or many else ""
    yield f"define ptr @{program.name}.python(ptr %self, ptr %args, i64 %nargs){plain} {{\nentry:"
    yield f"  %found = alloca [{program.sizes + sum(x.ndim for x in program.outputs) + 1} x i64]"
    yield f"  %results = alloca [{outputs} x i64]"
    yield f"  %items = alloca [{outputs} x ptr]"
    yield f"  %targets = alloca [{outputs} x ptr]"
    yield f"  %spans = alloca [{e.spans} x i64]"
    yield f"  store [{outputs} x ptr] zeroinitializer, ptr %items"
    yield f"  store [{outputs} x ptr] zeroinitializer, ptr %targets"
    yield from e.lines
    yield "failed:"
    yield from _drop(program, "made")
    yield "  ret ptr null\nother:"
    yield from _drop(program, "idle")
    yield "  br label %miss\nmiss:"
    yield "  call void @symgrad.python.PyErr_Clear()"
    yield f"  call void @symgrad.python.Py_IncRef(ptr {miss})\n  ret ptr {miss}\n}}"
