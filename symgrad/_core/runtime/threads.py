"""Threads that help with the chunks of a nest: a pool in machine code.

``symgrad.threads.run(chunk, closure, count, threads)`` calls ``chunk(closure, j)`` for all j
below ``count``. The calling thread takes part; helpers join it if they are idle and are not
waited for if they come too late. So a call from anywhere, from many threads at once or from
inside another parallel region, ends whatever the helpers do.

Callers and helpers are counted together. A call takes helpers while fewer threads are at work
than may be, and where another call begins, helpers stop after their chunk until there are no
more than may be. So a Dask worker or a user's pool that calls from as many threads as there are
CPUs gets no more threads than these.

Threads and locks are CPython's own portable ones (``pythread.h``), which need no interpreter
lock: kernels run without it, and helpers never touch a Python object.

A helper has a state. ``absent``: no thread yet; ``idle``; ``claimed`` by a call, which then
releases its lock ``wake``; ``busy`` once it has woken up; ``late`` if the call was done by then;
``failed``: no thread can be had. Only the call that claimed a busy helper makes it idle again.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm

from ..base.fork_safety import free_in_children
from ..base.platform import LONG_BITS, register_at_fork
from ._thread_count import MOST as THREADS
from ._thread_count import limit
from .structures import bind_functions

#: Names by which code refers to the pool.
RUN = "symgrad.threads.run"
ACTIVE = "symgrad.threads.active"
HELPERS = "symgrad.threads.helpers"
LIMIT = "symgrad.threads.limit"

#: Most helpers.
MOST = THREADS - 1

#: Bytes of a helper: { ptr wake, ptr done, i64 state, ptr job }.
HELPER_BYTES = 32

ABSENT, IDLE, CLAIMED, BUSY, LATE, FAILED = range(6)

#: CPython's functions that the pool calls.
PYTHON = (
    "PyThread_allocate_lock", "PyThread_acquire_lock", "PyThread_release_lock",
    "PyThread_start_new_thread",
)  # fmt: skip

_TEXT = """
%helper = type { ptr, ptr, i64, ptr }
; chunk, closure, count, next, pending, the lock that the last helper releases
%job = type { ptr, ptr, i64, i64, i64, ptr }

@HELPERS = external global [MOST x %helper]
@LIMIT = external global i64
@ACTIVE = external global i64

declare ptr @symgrad.python.PyThread_allocate_lock()
declare i32 @symgrad.python.PyThread_acquire_lock(ptr, i32)
declare void @symgrad.python.PyThread_release_lock(ptr)
declare LONG @symgrad.python.PyThread_start_new_thread(ptr, ptr)

; Enter a helper among those at work (by = 1) while there are too few of them, or strike one out
; (by = -1) while there are too many; return whether that was done.
define internal i1 @enter(i64 %by) {
entry:
  %limit = load atomic i64, ptr @LIMIT monotonic, align 8
  br label %again
again:
  %active = load atomic i64, ptr @ACTIVE seq_cst, align 8
  %room = sub i64 %limit, %active
  %wanted = mul i64 %room, %by
  %change = icmp sgt i64 %wanted, 0
  br i1 %change, label %try, label %no
try:
  %changed = add i64 %active, %by
  %got = cmpxchg ptr @ACTIVE, i64 %active, i64 %changed seq_cst seq_cst
  %was = extractvalue { i64, i1 } %got, 1
  br i1 %was, label %yes, label %again
yes:
  ret i1 true
no:
  ret i1 false
}

; Run chunks until there are no more, or, for a helper, until there are too many at work.
define internal void @work(ptr %job, i1 %helps) {
entry:
  %chunk.at = getelementptr %job, ptr %job, i32 0, i32 0
  %chunk = load ptr, ptr %chunk.at
  %closure.at = getelementptr %job, ptr %job, i32 0, i32 1
  %closure = load ptr, ptr %closure.at
  %count.at = getelementptr %job, ptr %job, i32 0, i32 2
  %count = load i64, ptr %count.at
  %next = getelementptr %job, ptr %job, i32 0, i32 3
  br label %take
take:
  br i1 %helps, label %ask, label %pick
ask:
  %crowded = call i1 @enter(i64 -1)
  br i1 %crowded, label %left, label %pick
pick:
  %j = atomicrmw add ptr %next, i64 1 acq_rel
  %more = icmp slt i64 %j, %count
  br i1 %more, label %body, label %done
body:
  call void %chunk(ptr %closure, i64 %j)
  br label %take
done:
  %ended = atomicrmw sub ptr @ACTIVE, i64 1 seq_cst
  br label %left
left:
  ret void
}

; What a helper's thread does, for ever.
define internal void @helper(ptr %self) {
entry:
  %wake = load ptr, ptr %self
  %state = getelementptr %helper, ptr %self, i32 0, i32 2
  %job.at = getelementptr %helper, ptr %self, i32 0, i32 3
  br label %wait
wait:
  %got = call i32 @symgrad.python.PyThread_acquire_lock(ptr %wake, i32 1)
  %claim = cmpxchg ptr %state, i64 CLAIMED, i64 BUSY seq_cst seq_cst
  %mine = extractvalue { i64, i1 } %claim, 1
  br i1 %mine, label %help, label %late
late:
  store atomic i64 IDLE, ptr %state seq_cst, align 8
  br label %wait
help:
  %job = load ptr, ptr %job.at
  call void @work(ptr %job, i1 true)
  %pending = getelementptr %job, ptr %job, i32 0, i32 4
  %before = atomicrmw sub ptr %pending, i64 1 seq_cst
  %last = icmp eq i64 %before, 1
  br i1 %last, label %tell, label %wait
tell:
  %signal.at = getelementptr %job, ptr %job, i32 0, i32 5
  %signal = load ptr, ptr %signal.at
  call void @symgrad.python.PyThread_release_lock(ptr %signal)
  br label %wait
}

; Return a new lock that is taken, or null.
define internal ptr @taken() {
entry:
  %lock = call ptr @symgrad.python.PyThread_allocate_lock()
  %none = icmp eq ptr %lock, null
  br i1 %none, label %done, label %take
take:
  %got = call i32 @symgrad.python.PyThread_acquire_lock(ptr %lock, i32 1)
  br label %done
done:
  ret ptr %lock
}

; Start the thread of a claimed helper; return whether there is one.
define internal i1 @start(ptr %self) {
entry:
  %wake = call ptr @taken()
  %done = call ptr @taken()
  store ptr %wake, ptr %self
  %done.at = getelementptr %helper, ptr %self, i32 0, i32 1
  store ptr %done, ptr %done.at
  %no.wake = icmp eq ptr %wake, null
  %no.done = icmp eq ptr %done, null
  %none = or i1 %no.wake, %no.done
  br i1 %none, label %failed, label %thread
thread:
  %id = call LONG @symgrad.python.PyThread_start_new_thread(ptr @helper, ptr %self)
  %bad = icmp eq LONG %id, -1
  br i1 %bad, label %failed, label %started
started:
  ret i1 true
failed:
  %state = getelementptr %helper, ptr %self, i32 0, i32 2
  store atomic i64 FAILED, ptr %state seq_cst, align 8
  ret i1 false
}

define void @RUN(ptr %chunk, ptr %closure, i64 %count, i64 %threads) {
entry:
  %job = alloca %job
  %chunk.at = getelementptr %job, ptr %job, i32 0, i32 0
  store ptr %chunk, ptr %chunk.at
  %closure.at = getelementptr %job, ptr %job, i32 0, i32 1
  store ptr %closure, ptr %closure.at
  %count.at = getelementptr %job, ptr %job, i32 0, i32 2
  store i64 %count, ptr %count.at
  %next = getelementptr %job, ptr %job, i32 0, i32 3
  store i64 0, ptr %next
  %pending = getelementptr %job, ptr %job, i32 0, i32 4
  store i64 1, ptr %pending
  %signal.at = getelementptr %job, ptr %job, i32 0, i32 5
  %limit = load atomic i64, ptr @LIMIT monotonic, align 8
  %free = icmp eq i64 %threads, 0
  %allowed = select i1 %free, i64 %limit, i64 %threads
  %fewer = icmp slt i64 %allowed, %count
  %used = select i1 %fewer, i64 %allowed, i64 %count
  %wanted = sub i64 %used, 1
  %helpers = sub i64 %allowed, 1
  %begun = atomicrmw add ptr @ACTIVE, i64 1 seq_cst
  br label %search
search:
  %h = phi i64 [ 0, %entry ], [ %h.next, %look.on ]
  %claimed = phi i64 [ 0, %entry ], [ %claimed.on, %look.on ]
  %mask = phi i64 [ 0, %entry ], [ %mask.on, %look.on ]
  %enough = icmp sge i64 %claimed, %wanted
  %no.more = icmp sge i64 %h, %helpers
  %stop = or i1 %enough, %no.more
  br i1 %stop, label %begin, label %look
look:
  %room = call i1 @enter(i64 1)
  br i1 %room, label %find, label %begin
find:
  %self = getelementptr [MOST x %helper], ptr @HELPERS, i64 0, i64 %h
  %state = getelementptr %helper, ptr %self, i32 0, i32 2
  %idle = cmpxchg ptr %state, i64 IDLE, i64 CLAIMED seq_cst seq_cst
  %was.idle = extractvalue { i64, i1 } %idle, 1
  br i1 %was.idle, label %send, label %try
try:
  %absent = cmpxchg ptr %state, i64 ABSENT, i64 CLAIMED seq_cst seq_cst
  %was.absent = extractvalue { i64, i1 } %absent, 1
  br i1 %was.absent, label %make, label %none
make:
  %made = call i1 @start(ptr %self)
  br i1 %made, label %send, label %none
none:
  %struck = atomicrmw sub ptr @ACTIVE, i64 1 seq_cst
  br label %look.on
send:
  %job.at = getelementptr %helper, ptr %self, i32 0, i32 3
  store ptr %job, ptr %job.at
  %ignored = atomicrmw add ptr %pending, i64 1 seq_cst
  %wake = load ptr, ptr %self
  call void @symgrad.python.PyThread_release_lock(ptr %wake)
  %bit = shl i64 1, %h
  %mask.more = or i64 %mask, %bit
  %claimed.more = add i64 %claimed, 1
  br label %look.on
look.on:
  %mask.on = phi i64 [ %mask, %none ], [ %mask.more, %send ]
  %claimed.on = phi i64 [ %claimed, %none ], [ %claimed.more, %send ]
  %h.next = add i64 %h, 1
  br label %search
begin:
  call void @work(ptr %job, i1 false)
  br label %dismiss
; Those that have not come yet are not waited for.
dismiss:
  %rest = phi i64 [ %mask, %begin ], [ %rest.next, %dismiss.on ]
  %stay = phi i64 [ 0, %begin ], [ %stay.on, %dismiss.on ]
  %none.left = icmp eq i64 %rest, 0
  br i1 %none.left, label %finish, label %dismiss.one
dismiss.one:
  %d = call i64 @llvm.cttz.i64(i64 %rest, i1 true)
  %d.self = getelementptr [MOST x %helper], ptr @HELPERS, i64 0, i64 %d
  %d.state = getelementptr %helper, ptr %d.self, i32 0, i32 2
  %d.late = cmpxchg ptr %d.state, i64 CLAIMED, i64 LATE seq_cst seq_cst
  %was.late = extractvalue { i64, i1 } %d.late, 1
  br i1 %was.late, label %gone, label %stays
gone:
  %struck2 = atomicrmw sub ptr @ACTIVE, i64 1 seq_cst
  %ignored2 = atomicrmw sub ptr %pending, i64 1 seq_cst
  br label %dismiss.on
stays:
  %d.done.at = getelementptr %helper, ptr %d.self, i32 0, i32 1
  %d.done = load ptr, ptr %d.done.at
  store ptr %d.done, ptr %signal.at
  %d.bit = shl i64 1, %d
  %stay.more = or i64 %stay, %d.bit
  br label %dismiss.on
dismiss.on:
  %stay.on = phi i64 [ %stay, %gone ], [ %stay.more, %stays ]
  %below = sub i64 %rest, 1
  %rest.next = and i64 %rest, %below
  br label %dismiss
finish:
  %before = atomicrmw sub ptr %pending, i64 1 seq_cst
  %alone = icmp eq i64 %before, 1
  br i1 %alone, label %release, label %wait
wait:
  %signal = load ptr, ptr %signal.at
  %got = call i32 @symgrad.python.PyThread_acquire_lock(ptr %signal, i32 1)
  br label %release
release:
  %busy = phi i64 [ %stay, %finish ], [ %stay, %wait ], [ %busy.next, %release.one ]
  %released = icmp eq i64 %busy, 0
  br i1 %released, label %end, label %release.one
release.one:
  %r = call i64 @llvm.cttz.i64(i64 %busy, i1 true)
  %r.self = getelementptr [MOST x %helper], ptr @HELPERS, i64 0, i64 %r
  %r.state = getelementptr %helper, ptr %r.self, i32 0, i32 2
  store atomic i64 IDLE, ptr %r.state seq_cst, align 8
  %r.below = sub i64 %busy, 1
  %busy.next = and i64 %busy, %r.below
  br label %release
end:
  ret void
}

declare i64 @llvm.cttz.i64(i64, i1)
"""


def _code(long_bits: int) -> str:
    """Return the pool's LLVM assembly; ``long_bits`` is the width of C's ``unsigned long``."""
    names = {"HELPERS": HELPERS, "LIMIT": LIMIT, "ACTIVE": ACTIVE, "RUN": RUN, "MOST": str(MOST)}
    names["LONG"] = f"i{long_bits}"
    for name in ("ABSENT", "IDLE", "CLAIMED", "BUSY", "LATE", "FAILED"):
        names[name] = str(globals()[name])
    text = _TEXT
    for name, value in names.items():
        text = text.replace(name, value)
    return text


# ---------------------------------------------------------------- loading it

_helpers = (ctypes.c_char * (HELPER_BYTES * MOST))()
#: How many threads are at work in :data:`RUN`.
_active = ctypes.c_int64()
_lock = free_in_children(threading.Lock())
_engine: Any = None


def load_pool(load: Callable[[str], Any]) -> None:
    """Make the pool known to LLVM; its threads start when they are first of use.

    ``load`` gives LLVM's engine of an assembly text, compiled.
    """
    global _engine
    with _lock:
        if _engine is not None:
            return
        bind_functions(PYTHON)
        llvm.add_symbol(HELPERS, ctypes.addressof(_helpers))
        llvm.add_symbol(LIMIT, ctypes.addressof(limit))
        llvm.add_symbol(ACTIVE, ctypes.addressof(_active))
        engine = load(_code(LONG_BITS))
        llvm.add_symbol(RUN, engine.get_function_address(RUN))
        # Helpers wait in this code until the process ends, after Python's modules are gone.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine))
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(_helpers))
        _engine = engine


def _forget() -> None:
    """Start anew in a forked process, which has none of its parent's helpers."""
    ctypes.memset(_helpers, 0, ctypes.sizeof(_helpers))
    _active.value = 0


register_at_fork(after_in_child=_forget)
