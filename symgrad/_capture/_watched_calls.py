"""A Python function that calls another one if words of memory are as they were.

It is one machine code for all such functions: what is compared, and what is called, stands in a
table.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .._core.runtime.structures import (
    DATA_AT,
    TUPLE_AT,
    bind_python,
    fast_code,
    object_symbol,
    python_function,
)

#: Words of the table before those to compare.
HEAD = 7

COPY = "symgrad.copied"
SYMBOL, ANY, CALL = "symgrad.watched", "symgrad.any", "symgrad.python.PyObject_Vectorcall"

_TEXT = f"""
@{object_symbol("miss")} = external global i8
declare i32 @memcmp(ptr, ptr, i64)
declare ptr @{CALL}(ptr, ptr, i64, ptr)
declare void @symgrad.python.Py_IncRef(ptr)
declare void @symgrad.python.Py_DecRef(ptr)

define ptr @{ANY}(ptr %callable, ptr %args, i64 %given) {{
  %result = call ptr @{CALL}(ptr %callable, ptr %args, i64 %given, ptr null)
  ret ptr %result
}}

; Copies memory to which a pointer leads, if it still does.
define i32 @{COPY}(ptr %at, ptr %was, ptr %from, ptr %to, i64 %bytes) {{
  %is = load ptr, ptr %at
  %same = icmp eq ptr %is, %was
  br i1 %same, label %copy, label %not
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  ret i32 1
not:
  ret i32 0
}}

define ptr @{SYMBOL}(ptr %self, ptr %args, i64 %given) {{
entry:
  %first = getelementptr i8, ptr %self, i64 {TUPLE_AT}
  %array = load ptr, ptr %first
  %data = getelementptr i8, ptr %array, i64 {DATA_AT}
  %table = load ptr, ptr %data
  %begin = getelementptr i64, ptr %table, i64 {HEAD}
  %end = load ptr, ptr %table
  br label %head
head:
  %row = phi ptr [ %begin, %entry ], [ %after, %same ]
  %looked = icmp eq ptr %row, %end
  br i1 %looked, label %as.before, label %same.yet
same.yet:
  %at = load ptr, ptr %row
  %was.at = getelementptr i64, ptr %row, i64 1
  %after = getelementptr i64, ptr %row, i64 2
  %is = load i64, ptr %at
  %was = load i64, ptr %was.at
  %equal = icmp eq i64 %is, %was
  br i1 %equal, label %same, label %miss
same:
  br label %head
as.before:
  %rest.at = getelementptr i64, ptr %table, i64 1
  %rest = load i64, ptr %rest.at
  %done = icmp eq i64 %rest, 0
  br i1 %done, label %call, label %more
call:
  %code.at = getelementptr i64, ptr %table, i64 2
  %code = load ptr, ptr %code.at
  %target.at = getelementptr i64, ptr %table, i64 3
  %target = load ptr, ptr %target.at
  %result = tail call ptr %code(ptr %target, ptr %args, i64 %given)
  ret ptr %result
more:
  %further = tail call ptr @{SYMBOL}.more(ptr %table, ptr %args, i64 %given)
  ret ptr %further
miss:
  call void @symgrad.python.Py_IncRef(ptr @{object_symbol("miss")})
  ret ptr @{object_symbol("miss")}
}}

define internal ptr @{SYMBOL}.more(ptr %table, ptr %args, i64 %given) noinline {{
entry:
  %begin = load ptr, ptr %table
  %code.at = getelementptr i64, ptr %table, i64 2
  %code = load ptr, ptr %code.at
  %target.at = getelementptr i64, ptr %table, i64 3
  %target = load ptr, ptr %target.at
  %own.at = getelementptr i64, ptr %table, i64 4
  %own = load i64, ptr %own.at
  %more.at = getelementptr i64, ptr %table, i64 5
  %more = load i64, ptr %more.at
  %blocks.at = getelementptr i64, ptr %table, i64 6
  %blocks = load i64, ptr %blocks.at
  %places = getelementptr i64, ptr %begin, i64 %blocks
  br label %head
head:
  %row = phi ptr [ %begin, %entry ], [ %after, %same ]
  %looked = icmp eq ptr %row, %places
  br i1 %looked, label %as.before, label %block
block:
  %at = load ptr, ptr %row
  %bytes.at = getelementptr i64, ptr %row, i64 1
  %bytes = load i64, ptr %bytes.at
  %was.at = getelementptr i64, ptr %row, i64 2
  %was = load ptr, ptr %was.at
  %after = getelementptr i64, ptr %row, i64 3
  %order = call i32 @memcmp(ptr %at, ptr %was, i64 %bytes)
  %equal = icmp eq i32 %order, 0
  br i1 %equal, label %same, label %miss
same:
  br label %head
as.before:
  %none = icmp eq i64 %more, 0
  br i1 %none, label %direct, label %hidden
direct:
  %plain = tail call ptr %code(ptr %target, ptr %args, i64 %given)
  ret ptr %plain
hidden: ; the arguments, what is at the places, and what follows the arguments
  %enough = icmp uge i64 %given, %own
  br i1 %enough, label %room, label %miss
room:
  %count = add i64 %given, %more
  %all = alloca ptr, i64 %count
  %own.bytes = mul i64 %own, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %all, ptr %args, i64 %own.bytes, i1 false)
  %fetched = getelementptr ptr, ptr %all, i64 %own
  %last = getelementptr ptr, ptr %fetched, i64 %more
  %further = getelementptr ptr, ptr %args, i64 %own
  %rest = sub i64 %given, %own
  %rest.bytes = mul i64 %rest, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %last, ptr %further, i64 %rest.bytes, i1 false)
  br label %fetch
fetch:
  %k = phi i64 [ 0, %room ], [ %k.next, %there ]
  %place.at = getelementptr ptr, ptr %places, i64 %k
  %place = load ptr, ptr %place.at
  %value = load ptr, ptr %place
  %deleted = icmp eq ptr %value, null
  br i1 %deleted, label %undo, label %there
there:
  call void @symgrad.python.Py_IncRef(ptr %value) ; another thread may put another there
  %to = getelementptr ptr, ptr %fetched, i64 %k
  store ptr %value, ptr %to
  %k.next = add i64 %k, 1
  %fetching = icmp ult i64 %k.next, %more
  br i1 %fetching, label %fetch, label %run
run:
  %result = call ptr %code(ptr %target, ptr %all, i64 %count)
  br label %undo
undo:
  %found = phi ptr [ %result, %run ], [ null, %fetch ]
  %held = phi i64 [ %more, %run ], [ %k, %fetch ]
  br label %drop
drop:
  %j = phi i64 [ 0, %undo ], [ %j.next, %one ]
  %dropping = icmp ult i64 %j, %held
  br i1 %dropping, label %one, label %done
one:
  %old.at = getelementptr ptr, ptr %fetched, i64 %j
  %old = load ptr, ptr %old.at
  call void @symgrad.python.Py_DecRef(ptr %old)
  %j.next = add i64 %j, 1
  br label %drop
done:
  %ran = phi i64 [ %held, %drop ]
  %complete = icmp eq i64 %ran, %more
  br i1 %complete, label %return, label %miss
return:
  ret ptr %found
miss:
  call void @symgrad.python.Py_IncRef(ptr @{object_symbol("miss")})
  ret ptr @{object_symbol("miss")}
}}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""


@lru_cache(maxsize=1)
def _machine_code(load: Callable[[str], Any]) -> Any:
    bind_python()
    return load(_TEXT)


@lru_cache(maxsize=1)
def copier(load: Callable[[str], Any]) -> Callable[..., int]:
    """Return a function of ``(at, was, start, to, count)`` that copies bytes.

    It does so, and returns 1, if the pointer at ``at`` is what it was: all under the interpreter's
    lock, so no other thread can free them in between.
    """
    words = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    engine = _machine_code(load)
    copy = ctypes.PYFUNCTYPE(ctypes.c_int, *words)(engine.get_function_address(COPY))
    # Of threads that come first at the same time each makes an engine of its own.
    copy.engine = engine  # type: ignore[attr-defined]
    return copy


def watched(
    load: Callable[[str], Any], function: Callable[..., Any], count: int,
    words: Sequence[tuple[int, int]], blocks: Sequence[tuple[int, int, int]],
    places: Sequence[int], held: Sequence[Any],
) -> Callable[..., Any]:  # fmt: skip
    """Return a function that calls another if words are as they were, and else returns MISS.

    Parameters
    ----------
    load:
        Gives LLVM's engine of an assembly text, compiled.
    function:
        What is called.
    count:
        The number of its first arguments, after which what is at the places comes.
    words:
        What is compared, in this order: where, and what was there.
    blocks:
        Further ones: where, how many bytes, and where their copy is.
    places:
        Where pointers to further arguments are.
    held:
        What lives as long as the function: all objects whose words are looked at or compared with.
    """
    engine = _machine_code(load)
    code, target = fast_code(function) or (engine.get_function_address(ANY), id(function))
    pairs = [x for row in words for x in row]
    further = [*(x for row in blocks for x in row), *places]
    head = [0, len(further), code, target, count, len(places), 3 * len(blocks)]
    table = np.array([*head, *pairs, *further], np.int64)
    table[0] = table.ctypes.data + 8 * (HEAD + len(pairs))
    address = engine.get_function_address(SYMBOL)
    return python_function(address, "watched", table, function, engine, tuple(held))
