"""A Python function that calls another one if words of memory are as they were.

It is one machine code for all such functions: what is compared, and what is called, stands in a
table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ._python import bind_python, object_symbol, python_function
from ._structures import DATA_AT, TUPLE_AT

SYMBOL, CALL = "symgrad.watched", "symgrad.python.PyObject_Vectorcall"

_TEXT = f"""
@{object_symbol("miss")} = external global i8
declare i32 @memcmp(ptr, ptr, i64)
declare ptr @{CALL}(ptr, ptr, i64, ptr)
declare void @symgrad.python.Py_IncRef(ptr)
declare void @symgrad.python.Py_DecRef(ptr)

define ptr @{SYMBOL}(ptr %self, ptr %args, i64 %given) {{
entry:
  %first = getelementptr i8, ptr %self, i64 {TUPLE_AT}
  %array = load ptr, ptr %first
  %data = getelementptr i8, ptr %array, i64 {DATA_AT}
  %table = load ptr, ptr %data
  %target = load ptr, ptr %table
  %own.at = getelementptr i64, ptr %table, i64 1
  %own = load i64, ptr %own.at
  %more.at = getelementptr i64, ptr %table, i64 2
  %more = load i64, ptr %more.at
  %rows.at = getelementptr i64, ptr %table, i64 3
  %rows = load i64, ptr %rows.at
  %places = getelementptr i64, ptr %table, i64 4
  %begin = getelementptr i64, ptr %places, i64 %more
  %end = getelementptr i64, ptr %begin, i64 %rows
  br label %head
head:
  %row = phi ptr [ %begin, %entry ], [ %after, %same ]
  %looked = icmp eq ptr %row, %end
  br i1 %looked, label %as.before, label %look
look:
  %at = load ptr, ptr %row
  %bytes.at = getelementptr i64, ptr %row, i64 1
  %bytes = load i64, ptr %bytes.at
  %was.at = getelementptr i64, ptr %row, i64 2
  %after = getelementptr i64, ptr %row, i64 3
  %single = icmp eq i64 %bytes, 0
  br i1 %single, label %word, label %block
word:
  %is = load i64, ptr %at
  %was = load i64, ptr %was.at
  %word.same = icmp eq i64 %is, %was
  br i1 %word.same, label %same, label %miss
block:
  %before = load ptr, ptr %was.at
  %order = call i32 @memcmp(ptr %at, ptr %before, i64 %bytes)
  %block.same = icmp eq i32 %order, 0
  br i1 %block.same, label %same, label %miss
same:
  br label %head
as.before:
  %none = icmp eq i64 %more, 0
  br i1 %none, label %direct, label %hidden
direct:
  %plain = call ptr @{CALL}(ptr %target, ptr %args, i64 %given, ptr null)
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
  %result = call ptr @{CALL}(ptr %target, ptr %all, i64 %count, ptr null)
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
def _machine_code(load: Callable[[str], Any]) -> tuple[Any, int]:
    bind_python()
    engine = load(_TEXT)
    return engine, engine.get_function_address(SYMBOL)


def watched(
    load: Callable[[str], Any], function: Callable[..., Any], count: int,
    rows: Sequence[tuple[int, int, int]], places: Sequence[int], held: Sequence[Any],
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
    rows:
        What is compared, in this order: where, how many bytes (0: one word), and what they were or
        where that is.
    places:
        Where pointers to further arguments are.
    held:
        What lives as long as the function: all objects whose words are looked at or compared with.
    """
    engine, address = _machine_code(load)
    flat = [id(function), count, len(places), 3 * len(rows), *places]
    table = np.array([*flat, *(x for row in rows for x in row)], np.int64)
    return python_function(address, "watched", table, function, engine, tuple(held))
