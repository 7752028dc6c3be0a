"""Large memory that is kept for the next call: for temporaries and for results.

Memory of some hundred kilobytes and more comes fresh from the system with every allocation, and
the first use of its pages costs more than most kernels do with them. What kernels and results
give back is therefore kept, up to a limit, and given out again for the same size.

The table of kept blocks is guarded by one word. Who finds it taken does not wait but goes to
``malloc`` or ``free``: that is always right, also in a forked process whose parent's other
thread held it. Results are NumPy arrays that own their data; their memory handler (NEP 49)
gives it back here.
"""

from __future__ import annotations

from string import Template

from ..base.platform import ADVICE
from .structures import FLAGS_AT, HANDLER_AT

#: Names by which code refers to the functions and to the state.
TAKE, GIVE, EMPTY = "symgrad.memory.take", "symgrad.memory.give", "symgrad.memory.empty"
TRIM, STATE, HANDLER = "symgrad.memory.trim", "symgrad.memory.state", "symgrad.memory.handler"
PLAIN = "symgrad.memory.plain"
#: Functions of NumPy's memory handler, in the order of its fields.
HANDLERS = tuple(f"symgrad.memory.{name}" for name in ("malloc", "calloc", "realloc", "free"))

#: Least bytes of a block: what is smaller stays in the process in any case. It is what the
#: GNU library takes from the system directly.
LEAST = 1 << 17

#: Blocks in the table, and the words before them: lock, bytes kept, limit, next to go.
SLOTS, HEAD = 64, 4

#: Words of the state.
WORDS = HEAD + 2 * SLOTS

_ADVISE = """
  %large = icmp uge i64 %bytes, 4194304
  br i1 %large, label %advise, label %done
advise: ; large pages, which NumPy asks for from the same size on
  %a = ptrtoint ptr %p to i64
  %above = add i64 %a, 4095
  %page = and i64 %above, -4096
  %skipped = sub i64 %page, %a
  %rest = sub i64 %bytes, %skipped
  %from = getelementptr i8, ptr %p, i64 %skipped
  %refused = call i32 @madvise(ptr %from, i64 %rest, i32 14) ; MADV_HUGEPAGE
  br label %done
"""

_TEXT = """
@$STATE = external global [$WORDS x i64]

declare noalias ptr @malloc(i64)
declare void @free(ptr)
declare i32 @madvise(ptr, i64, i32)

define internal i1 @lock() {
  %got = cmpxchg ptr @$STATE, i64 0, i64 1 acquire monotonic
  %mine = extractvalue { i64, i1 } %got, 1
  ret i1 %mine
}

define internal void @unlock() {
  store atomic i64 0, ptr @$STATE release, align 8
  ret void
}

define internal ptr @word(i64 %k) {
  %p = getelementptr i64, ptr @$STATE, i64 %k
  ret ptr %p
}

; The place of the block number %k: its address, then its size.
define internal ptr @slot(i64 %k) {
  %twice = shl i64 %k, 1
  %at = add i64 %twice, $HEAD
  %p = call ptr @word(i64 %at)
  ret ptr %p
}

; Empty a slot; return what was in it, or null.
define internal ptr @clear(i64 %k) {
  %at = call ptr @slot(i64 %k)
  %p = load ptr, ptr %at
  %size.at = getelementptr i64, ptr %at, i64 1
  %size = load i64, ptr %size.at
  store ptr null, ptr %at
  store i64 0, ptr %size.at
  %kept.at = call ptr @word(i64 1)
  %kept = load i64, ptr %kept.at
  %left = sub i64 %kept, %size
  store i64 %left, ptr %kept.at
  ret ptr %p
}

; The number of the first slot with this size, $SLOTS if there is none.
define internal i64 @find(i64 %bytes) {
entry:
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %next, %on ]
  %more = icmp ult i64 %k, $SLOTS
  br i1 %more, label %look, label %done
look:
  %at = call ptr @slot(i64 %k)
  %size.at = getelementptr i64, ptr %at, i64 1
  %size = load i64, ptr %size.at
  %same = icmp eq i64 %size, %bytes
  br i1 %same, label %done, label %on
on:
  %next = add i64 %k, 1
  br label %head
done:
  ret i64 %k
}

; Free the oldest blocks until so many bytes can be added. The slots are a ring: the oldest block
; is the first from the slot on that is filled next.
define internal void @shrink(i64 %bytes) {
entry:
  %kept.at = call ptr @word(i64 1)
  %limit.at = call ptr @word(i64 2)
  %hand.at = call ptr @word(i64 3)
  %hand = load i64, ptr %hand.at
  br label %head
head:
  %k = phi i64 [ %hand, %entry ], [ %next, %drop ]
  %kept = load i64, ptr %kept.at
  %limit = load i64, ptr %limit.at
  %after = add i64 %kept, %bytes
  %fits = icmp ule i64 %after, %limit
  %empty = icmp eq i64 %kept, 0
  %stop = or i1 %fits, %empty
  br i1 %stop, label %done, label %drop
drop:
  %place = urem i64 %k, $SLOTS
  %p = call ptr @clear(i64 %place)
  call void @free(ptr %p)
  %next = add i64 %k, 1
  br label %head
done:
  ret void
}

define noalias ptr @$TAKE(i64 %bytes) {
entry:
  %small = icmp ult i64 %bytes, $LEAST
  br i1 %small, label %fresh, label %try
try:
  %mine = call i1 @lock()
  br i1 %mine, label %search, label %fresh
search:
  %k = call i64 @find(i64 %bytes)
  %found = icmp ult i64 %k, $SLOTS
  br i1 %found, label %have, label %none
have:
  %block = call ptr @clear(i64 %k)
  call void @unlock()
  ret ptr %block
none:
  call void @unlock()
  br label %fresh
fresh:
  %p = call noalias ptr @malloc(i64 %bytes)
  %made = icmp ne ptr %p, null
  br i1 %made, label %got, label %done
got: $ADVISE
done:
  ret ptr %p
}

define void @$GIVE(ptr %p, i64 %bytes) {
entry:
  %small = icmp ult i64 %bytes, $LEAST
  br i1 %small, label %release, label %check
check:
  %limit.at = call ptr @word(i64 2)
  %limit = load i64, ptr %limit.at
  %fits = icmp ule i64 %bytes, %limit
  br i1 %fits, label %try, label %release
try:
  %mine = call i1 @lock()
  br i1 %mine, label %keep, label %release
keep:
  call void @shrink(i64 %bytes)
  %hand.at = call ptr @word(i64 3)
  %hand = load i64, ptr %hand.at
  %oldest = call ptr @clear(i64 %hand)
  call void @free(ptr %oldest)
  %at = call ptr @slot(i64 %hand)
  store ptr %p, ptr %at
  %size.at = getelementptr i64, ptr %at, i64 1
  store i64 %bytes, ptr %size.at
  %kept.at = call ptr @word(i64 1)
  %kept = load i64, ptr %kept.at
  %sum = add i64 %kept, %bytes
  store i64 %sum, ptr %kept.at
  %next = add i64 %hand, 1
  %wrapped = urem i64 %next, $SLOTS
  store i64 %wrapped, ptr %hand.at
  call void @unlock()
  ret void
release:
  call void @free(ptr %p)
  ret void
}

; Free what is kept beyond the limit.
define void @$TRIM() {
entry:
  br label %try
try:
  %mine = call i1 @lock()
  br i1 %mine, label %go, label %try
go:
  call void @shrink(i64 0)
  call void @unlock()
  ret void
}

"""

_ARRAY_TEXT = """
@$HANDLER = external global i8
@symgrad.python.ndarray = external global i8

declare noalias ptr @calloc(i64, i64)
declare noalias ptr @realloc(ptr, i64)
declare void @symgrad.python.Py_IncRef(ptr)
declare ptr @symgrad.numpy.PyArray_Empty(i32, ptr, ptr, i32)
declare ptr @symgrad.numpy.PyArray_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)

define ptr @$MALLOC(ptr %context, i64 %bytes) {
  %p = call ptr @$TAKE(i64 %bytes)
  ret ptr %p
}

define ptr @$CALLOC(ptr %context, i64 %count, i64 %size) {
  %p = call ptr @calloc(i64 %count, i64 %size)
  ret ptr %p
}

define ptr @$REALLOC(ptr %context, ptr %old, i64 %bytes) {
  %p = call ptr @realloc(ptr %old, i64 %bytes)
  ret ptr %p
}

define void @$FREE(ptr %context, ptr %p, i64 %bytes) {
  call void @$GIVE(ptr %p, i64 %bytes)
  ret void
}

; A new array, as of PyArray_Empty, which takes the reference to the descriptor as well.
define ptr @$EMPTY(i32 %rank, ptr %dims, ptr %dtype, i64 %bytes) {
entry:
  %limit.at = call ptr @word(i64 2)
  %limit = load i64, ptr %limit.at
  %large = icmp uge i64 %bytes, $LEAST
  %fits = icmp ule i64 %bytes, %limit
  %worth = and i1 %large, %fits
  br i1 %worth, label %take, label %usual
take:
  %p = call ptr @$TAKE(i64 %bytes)
  %none = icmp eq ptr %p, null
  br i1 %none, label %usual, label %make
make:
  %array = call ptr @symgrad.numpy.PyArray_NewFromDescr(ptr @symgrad.python.ndarray, ptr %dtype,
      i32 %rank, ptr %dims, ptr null, ptr %p, i32 1281, ptr null)
  %failed = icmp eq ptr %array, null
  br i1 %failed, label %back, label %own
own:
  call void @symgrad.python.Py_IncRef(ptr @$HANDLER)
  %handler.at = getelementptr i8, ptr %array, i64 $HANDLER_AT
  store ptr @$HANDLER, ptr %handler.at
  %flags.at = getelementptr i8, ptr %array, i64 $FLAGS_AT
  %flags = load i32, ptr %flags.at
  %owned = or i32 %flags, 4 ; NPY_ARRAY_OWNDATA
  store i32 %owned, ptr %flags.at
  ret ptr %array
back:
  call void @$GIVE(ptr %p, i64 %bytes)
  ret ptr null
usual:
  %other = call ptr @$PLAIN(i32 %rank, ptr %dims, ptr %dtype, i64 %bytes)
  ret ptr %other
}

; The same from NumPy alone.
define ptr @$PLAIN(i32 %rank, ptr %dims, ptr %dtype, i64 %bytes) {
  %array = call ptr @symgrad.numpy.PyArray_Empty(i32 %rank, ptr %dims, ptr %dtype, i32 0)
  ret ptr %array
}
"""


def text() -> str:
    """Return the LLVM assembly of what takes and gives memory."""
    text = _filled(_TEXT)
    return text if ADVICE else text.replace("declare i32 @madvise", "; ")


def array_text() -> str:
    """Return the LLVM assembly of what makes arrays of it, which goes behind :func:`text`."""
    return _filled(_ARRAY_TEXT)


def _filled(text: str) -> str:
    words = {
        "STATE": STATE, "HANDLER_AT": HANDLER_AT, "FLAGS_AT": FLAGS_AT,
        "HANDLER": HANDLER, "WORDS": WORDS, "SLOTS": SLOTS, "HEAD": HEAD, "LEAST": LEAST,
        "TAKE": TAKE, "GIVE": GIVE, "EMPTY": EMPTY, "TRIM": TRIM, "PLAIN": PLAIN,
        **dict(zip(("MALLOC", "CALLOC", "REALLOC", "FREE"), HANDLERS, strict=True)),
        "ADVISE": _ADVISE if ADVICE else "\n  br label %done\n",
    }  # fmt: skip
    return Template(text).substitute(words)
