"""Matrix products: one function for each element type, shared by all kernels.

``symgrad.product.double`` multiplies two matrices of any strides into one that lies by rows. It
decides who does it: BLAS beyond ``symgrad.product.limit`` multiplications, which is set when the
code is loaded; else our own blocks (``_blocking``) of tiles (``_tiles``), of C = A B or of
C' = B' A', in one piece or in chunks for threads.
"""

from __future__ import annotations

from string import Template

import numpy as np

from ..runtime import Function, cython_symbol, vector_width
from ..runtime.interface import constant_text, llvm_type
from ..runtime.threads import LIMIT as THREADS
from ..runtime.threads import RUN
from ._blocking import BLOCK, DEPTH, ROWS, flip_text
from ._llvm_module import Module
from ._tiles import VECTORS, Tile, tile_bytes, tile_of, tile_texts

#: The word that holds the most multiplications of a product that is not left to BLAS.
LIMIT = "symgrad.product.limit"

#: Multiplications that are worth a chunk of their own. How many chunks there are makes no
#: difference to the result: each element is the same sum in the same order.
CHUNK = 1 << 21

#: The cost of moving a number to its transposed place, in multiply-adds of vectors.
MOVE = 1

_TEXT = """
@$LIMIT = external global i64

declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)

; What chunks have in common: the arguments of @block, then the unit and the number of chunks.
; Sizes come first.
%job = type { $FIELDS }

; Chunk %j: some rows of the result or, if they are more, some columns.
define internal void @chunk(ptr %at, i64 %j) #0 {
entry:
  %job = load %job, ptr %at
$UNPACKED
  %size = select i1 %by.rows, i64 %m, i64 %n
  %unit = select i1 %by.rows, i64 $SQUARE, i64 $COLUMNS
  %units = udiv i64 %size, %unit
  %first.0 = mul i64 %j, %units
  %first.1 = udiv i64 %first.0, %count
  %first = mul i64 %first.1, %unit
  %j.next = add i64 %j, 1
  %end.0 = mul i64 %j.next, %units
  %end.1 = udiv i64 %end.0, %count
  %end.2 = mul i64 %end.1, %unit
  %last = icmp eq i64 %j.next, %count
  %end = select i1 %last, i64 %size, i64 %end.2
  %length = sub i64 %end, %first
  %m.own = select i1 %by.rows, i64 %length, i64 %m
  %n.own = select i1 %by.rows, i64 %n, i64 %length
  %a.skip = select i1 %by.rows, i64 %ars, i64 0
  %b.skip = select i1 %by.rows, i64 0, i64 %bcs
  %c.skip = select i1 %by.rows, i64 %crs, i64 %ccs
  %a.by = mul i64 %first, %a.skip
  %b.by = mul i64 %first, %b.skip
  %c.by = mul i64 %first, %c.skip
  %a.own = getelementptr $KIND, ptr %a, i64 %a.by
  %b.own = getelementptr $KIND, ptr %b, i64 %b.by
  %c.own = getelementptr $KIND, ptr %c, i64 %c.by
  call void @block(i64 %m.own, i64 %n.own, i64 %k, ptr %a.own, i64 %ars, i64 %acs, ptr %b.own,
      i64 %brs, i64 %bcs, ptr %c.own, i64 %crs, i64 %ccs)
  ret void
}

@$THREADS = external global i64
declare void @$RUN(ptr, ptr, i64, i64)

define void @$PRODUCT(i64 %m, i64 %n, i64 %k, ptr %a, i64 %ars, i64 %acs, ptr %b, i64 %brs,
    i64 %bcs, ptr %c, i64 %threads) #0 {
entry:
  %limit = load i64, ptr @$LIMIT
  %mn = mul i64 %m, %n
  %work = mul i64 %mn, %k
  %large = icmp sgt i64 %work, %limit
  br i1 %large, label %blas, label %own
blas:
  call void @$BLAS(i64 %m, i64 %n, i64 %k, ptr %a, i64 %ars, i64 %acs, ptr %b, i64 %brs, i64 %bcs,
      ptr %c)
  ret void
own: ; C as it is, or C' = B' A'? Vectors go along the columns.
  %n.up = add i64 %n, $LASTLANE
  %n.vectors = udiv i64 %n.up, $LANES
  %m.up = add i64 %m, $LASTLANE
  %m.vectors = udiv i64 %m.up, $LANES
  %mk = mul i64 %m, %k
  %nk = mul i64 %n, %k
  %cost.0 = mul i64 %n.vectors, %mk
  %b.lies = icmp eq i64 %bcs, 1
  %b.move.0 = mul i64 %nk, $MOVE
  %b.move = select i1 %b.lies, i64 0, i64 %b.move.0
  %cost = add i64 %cost.0, %b.move
  %other.0 = mul i64 %m.vectors, %nk
  %a.lies = icmp eq i64 %ars, 1
  %a.move.0 = mul i64 %mk, $MOVE
  %a.move = select i1 %a.lies, i64 0, i64 %a.move.0
  %other.1 = add i64 %other.0, %a.move
  %c.move = mul i64 %mn, $MOVE
  %other = add i64 %other.1, %c.move
  %swap = icmp slt i64 %other, %cost
  %M = select i1 %swap, i64 %n, i64 %m
  %N = select i1 %swap, i64 %m, i64 %n
  %A = select i1 %swap, ptr %b, ptr %a
  %B = select i1 %swap, ptr %a, ptr %b
  %ARS = select i1 %swap, i64 %bcs, i64 %ars
  %ACS = select i1 %swap, i64 %brs, i64 %acs
  %BRS = select i1 %swap, i64 %acs, i64 %brs
  %BCS = select i1 %swap, i64 %ars, i64 %bcs
  %CRS = select i1 %swap, i64 1, i64 %n
  %CCS = select i1 %swap, i64 %n, i64 1
  %set = load i64, ptr @$THREADS
  %as.set = icmp eq i64 %threads, 0
  %most = select i1 %as.set, i64 %set, i64 %threads
  %pieces = udiv i64 %work, $CHUNK
  %even = mul i64 %most, 2
  %some = call i64 @llvm.smin.i64(i64 %pieces, i64 %even)
  %M.units = udiv i64 %M, $SQUARE
  %N.units = udiv i64 %N, $COLUMNS
  %narrow = icmp slt i64 %N.units, %some ; each chunk of rows copies B
  %high = icmp sgt i64 %M.units, %N.units
  %by.rows = and i1 %narrow, %high
  %units = select i1 %by.rows, i64 %M.units, i64 %N.units
  %count = call i64 @llvm.smin.i64(i64 %some, i64 %units)
  %single = icmp slt i64 %most, 2
  %small = icmp slt i64 %count, 2
  %one = or i1 %single, %small
  br i1 %one, label %alone, label %shared
alone:
  call void @block(i64 %M, i64 %N, i64 %k, ptr %A, i64 %ARS, i64 %ACS, ptr %B, i64 %BRS, i64 %BCS,
      ptr %c, i64 %CRS, i64 %CCS)
  ret void
shared:
  call void @share(i64 %M, i64 %N, i64 %k, ptr %A, i64 %ARS, i64 %ACS, ptr %B, i64 %BRS, i64 %BCS,
      ptr %c, i64 %CRS, i64 %CCS, i64 %count, i1 %by.rows, i64 %threads)
  ret void
}

define internal void @share(i64 %m, i64 %n, i64 %k, ptr %a, i64 %ars, i64 %acs, ptr %b, i64 %brs,
    i64 %bcs, ptr %c, i64 %crs, i64 %ccs, i64 %count, i1 %by.rows, i64 %threads) #0 {
entry:
  %job = alloca %job
$PACKED
  store %job %13, ptr %job
  call void @$RUN(ptr @chunk, ptr %job, i64 %count, i64 %threads)
  ret void
}
"""

#: BLAS has matrices by columns: C' = B' A', so the operands change places.
_BLAS = """
declare void @$GEMM(ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr)

define internal void @$BLAS(i64 %m, i64 %n, i64 %k, ptr %a, i64 %ars, i64 %acs, ptr %b, i64 %brs,
    i64 %bcs, ptr %c) #0 {
  %flags = alloca [2 x i8]
  %numbers = alloca [6 x i32]
  %factors = alloca [2 x $KIND]
  %a.lies = icmp eq i64 %acs, 1
  %b.lies = icmp eq i64 %bcs, 1
  %a.flag = select i1 %a.lies, i8 78, i8 84 ; N, T
  %b.flag = select i1 %b.lies, i8 78, i8 84
  %b.flag.at = getelementptr i8, ptr %flags, i64 1
  store i8 %a.flag, ptr %flags
  store i8 %b.flag, ptr %b.flag.at
  %a.wide = select i1 %a.lies, i64 %ars, i64 %acs
  %b.wide = select i1 %b.lies, i64 %brs, i64 %bcs
  %a.least = select i1 %a.lies, i64 %k, i64 %m ; strides of an axis of one say nothing
  %b.least = select i1 %b.lies, i64 %n, i64 %k
  %a.least.1 = call i64 @llvm.smax.i64(i64 %a.least, i64 1)
  %b.least.1 = call i64 @llvm.smax.i64(i64 %b.least, i64 1)
  %lda = call i64 @llvm.smax.i64(i64 %a.wide, i64 %a.least.1)
  %ldb = call i64 @llvm.smax.i64(i64 %b.wide, i64 %b.least.1)
  %ldc = call i64 @llvm.smax.i64(i64 %n, i64 1)
$NUMBERS
  %zero.at = getelementptr $KIND, ptr %factors, i64 1
  store $KIND $ONE, ptr %factors
  store $KIND $ZERO, ptr %zero.at
  call void @$GEMM(ptr %b.flag.at, ptr %flags, ptr %n.at, ptr %m.at, ptr %k.at, ptr %factors,
      ptr %b, ptr %ldb.at, ptr %a, ptr %lda.at, ptr %zero.at, ptr %c, ptr %ldc.at)
  ret void
}
"""

#: Where a CPU has no tiles.
_ONLY_BLAS = """
declare i64 @llvm.smax.i64(i64, i64)

define void @$PRODUCT(i64 %m, i64 %n, i64 %k, ptr %a, i64 %ars, i64 %acs, ptr %b, i64 %brs,
    i64 %bcs, ptr %c, i64 %threads) #0 {
  call void @$BLAS(i64 %m, i64 %n, i64 %k, ptr %a, i64 %ars, i64 %acs, ptr %b, i64 %brs, i64 %bcs,
      ptr %c)
  ret void
}
"""

#: What a chunk is told, by name.
_JOB = {"m": "i64", "n": "i64", "k": "i64", "a": "ptr", "ars": "i64", "acs": "i64", "b": "ptr",
        "brs": "i64", "bcs": "i64", "c": "ptr", "crs": "i64", "ccs": "i64", "count": "i64",
        "by.rows": "i1"}  # fmt: skip
_UNPACKED = "\n".join(f"  %{name} = extractvalue %job %job, {k}" for k, name in enumerate(_JOB))
_PACKED = "\n".join(
    f"  %{k} = insertvalue %job {f'%{k - 1}' if k else 'poison'}, {kind} %{name}, {k}"
    for k, (name, kind) in enumerate(_JOB.items())
)

_NUMBERS = "\n".join(
    f"""  %{name}.short = trunc i64 %{name} to i32
  %{name}.at = getelementptr i32, ptr %numbers, i64 {place}
  store i32 %{name}.short, ptr %{name}.at"""
    for place, name in enumerate(("m", "n", "k", "lda", "ldb", "ldc"))
)


def product_symbol(kind: str) -> str:
    """Return the name of the function for an LLVM type."""
    return f"symgrad.product.{kind}"


#: The functions' names, with the types that they are for.
SYMBOLS = frozenset(map(product_symbol, ("double", "float")))


def product(module: Module, kind: str) -> str:
    """Return the name of the function for an LLVM type, declared in a module."""
    symbol = product_symbol(kind)
    module.symbols.update((symbol, RUN))
    module.declare(symbol, "void", [*["i64"] * 3, *["ptr", "i64", "i64"] * 2, "ptr", "i64"])
    return symbol


def gemm_symbol(kind: str) -> str:
    """Return the name of BLAS's routine for an LLVM type."""
    name = "sgemm" if kind == "float" else "dgemm"
    return cython_symbol(Function("scipy.linalg.cython_blas", name))


def product_text(kind: str, size: int) -> str:
    """Return the LLVM assembly of the module with the function for an LLVM type.

    ``size`` is that of the vector registers, as :func:`tile_bytes` says.
    """
    tile = tile_of(kind, size) if size else None
    dtype = next(d for d in (np.float64, np.float32) if llvm_type(d) == kind)
    words: dict[str, object] = {
        "KIND": kind, "PRODUCT": product_symbol(kind), "GEMM": gemm_symbol(kind),
        "BLAS": "blas", "NUMBERS": _NUMBERS, "ONE": constant_text(1, dtype),
        "ZERO": constant_text(0, dtype), "LIMIT": LIMIT, "RUN": RUN,
        "THREADS": THREADS, "FIELDS": ", ".join(_JOB.values()), "UNPACKED": _UNPACKED,
        "PACKED": _PACKED,
    }  # fmt: skip
    texts = [_BLAS, _ONLY_BLAS] if tile is None else [BLOCK, _TEXT, _BLAS]
    if tile is not None:
        words |= _sizes(tile)
    text = Template("\n".join(texts)).substitute(words)
    attributes = f"attributes #0 = {{ nounwind{vector_width()} }}\n"
    made = [] if tile is None else [*tile_texts(tile), flip_text(tile)]
    return "\n".join([text, *made, attributes])


def _sizes(tile: Tile) -> dict[str, object]:
    return {
        "LANES": tile.lanes, "LASTLANE": tile.lanes - 1, "SQUARE": tile.rows,
        "LASTROW": tile.rows - 1, "COLUMNS": tile.columns, "VECTORS": VECTORS,
        "PANEL": DEPTH * tile.columns, "TILE": tile.rows * tile.columns, "DEPTH": DEPTH,
        "ROWS": ROWS, "MOVE": MOVE, "CHUNK": CHUNK,
    }  # fmt: skip


__all__ = [
    "LIMIT", "SYMBOLS", "gemm_symbol", "product", "product_symbol", "product_text",
    "tile_bytes",
]  # fmt: skip
