"""Blocks of matrix products: loops around tiles that keep what they read in the caches.

As in K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication", ACM
Transactions on Mathematical Software 34, 2008: a panel of the right factor stays in the
first-level cache while all rows of a block of the left factor, in the second-level cache, meet
it. Factors are read where they lie, unless the right one lies by columns.

A panel is as wide as a tile and as deep as a block. So is what goes the other way: tiles of a
transposed result. Both are moved in square blocks that vector registers transpose.
"""

from __future__ import annotations

from ._tiles import Lines, Tile


def _exchanged(p: Lines, n: int) -> list[str]:
    """Transpose the vectors ``%v0.0`` to ``%v0.n``; return the results' names."""
    step, stage = 1, 0
    while step < n:  # exchange the halves of blocks of twice the step
        for r in range(n):
            if r & step:
                continue
            low, high = f"%v{stage}.{r}", f"%v{stage}.{r + step}"
            for half in (0, 1):
                picks = ", ".join(
                    f"i32 {(k & ~step) + half * step + (n if k & step else 0)}" for k in range(n)
                )
                p.append(
                    f"  %v{stage + 1}.{r + half * step} = shufflevector {p.vector} {low}, "
                    f"{p.vector} {high}, <{n} x i32> <{picks}>"
                )
        step, stage = 2 * step, stage + 1
    return [f"%v{stage}.{r}" for r in range(n)]


def flip_text(tile: Tile) -> str:
    """Return the function that transposes ``%rows`` rows and ``%lanes`` columns of a block.

    ``%to`` is added to if ``%add``.
    """
    n, kind = tile.rows, tile.kind
    p = Lines(kind, n, tile.bytes)
    p.mask("%in", "%lanes")
    p.mask("%out", "%rows")
    p.append("  %last = sub i64 %rows, 1")
    for r in range(n):  # behind the last row the last one, not what lies there
        p += [
            f"  %r{r}.in = icmp slt i64 {r}, %last",
            f"  %r{r} = select i1 %r{r}.in, i64 {r}, i64 %last",
            f"  %r{r}.by = mul i64 %r{r}, %down",
            f"  %r{r}.at = getelementptr {kind}, ptr %from, i64 %r{r}.by",
        ]
        p.load(f"%v0.{r}", f"%r{r}.at", "%in")
    turned = _exchanged(p, n)
    for q in range(n):
        p += [
            f"  %q{q}.in = icmp sgt i64 %lanes, {q}",
            f"  %q{q} = select i1 %q{q}.in, {p.some} %out, {p.some} zeroinitializer",
            f"  %q{q}.by = mul i64 %along, {q}",
            f"  %q{q}.at = getelementptr {kind}, ptr %to, i64 %q{q}.by",
        ]
    p += ["  br i1 %add, label %sum, label %put", "sum:"]
    for q, value in enumerate(turned):
        p.load(f"%old{q}", f"%q{q}.at", f"%q{q}")
        p.append(f"  %new{q} = fadd {p.vector} %old{q}, {value}")
        p.store(f"%new{q}", f"%q{q}.at", f"%q{q}")
    p += ["  ret void", "put:"]
    for q, value in enumerate(turned):
        p.store(value, f"%q{q}.at", f"%q{q}")
    head = (
        "define internal void @flip(ptr %from, i64 %down, i64 %rows, i64 %lanes, ptr %to, "
        "i64 %along, i1 %add) #0 {\nentry:"
    )
    return "\n".join([head, *p, "  ret void\n}"])


#: Steps along the summed axis, and rows of the left factor, in a block: a panel of three vectors
#: fills a first-level cache of 48 KB, and the left factor's block is ten times as much.
DEPTH, ROWS = 256, 256

#: The functions, with words for the sizes in capitals.
BLOCK = """
; Rows of B that lie by columns, side by side in a panel.
define internal void @turn(i64 %k, i64 %n, ptr %b, i64 %bcs, ptr %panel) #0 {
entry:
  br label %columns
columns:
  %j = phi i64 [ 0, %entry ], [ %j.next, %columns.end ]
  %left = sub i64 %n, %j
  %width = call i64 @llvm.smin.i64(i64 %left, i64 $SQUARE)
  %skip = mul i64 %j, %bcs
  %from = getelementptr $KIND, ptr %b, i64 %skip
  %to = getelementptr $KIND, ptr %panel, i64 %j
  br label %steps
steps:
  %i = phi i64 [ 0, %columns ], [ %i.next, %steps ]
  %rest = sub i64 %k, %i
  %height = call i64 @llvm.smin.i64(i64 %rest, i64 $SQUARE)
  %from.i = getelementptr $KIND, ptr %from, i64 %i
  %below = mul i64 %i, $COLUMNS
  %to.i = getelementptr $KIND, ptr %to, i64 %below
  call void @flip(ptr %from.i, i64 %bcs, i64 %width, i64 %height, ptr %to.i, i64 $COLUMNS,
      i1 false)
  %i.next = add i64 %i, $SQUARE
  %more.i = icmp slt i64 %i.next, %k
  br i1 %more.i, label %steps, label %columns.end
columns.end:
  %j.next = add i64 %j, $SQUARE
  %more.j = icmp slt i64 %j.next, %n
  br i1 %more.j, label %columns, label %done
done:
  ret void
}

; A part of the product. One stride of C is 1; if it is that of the rows, tiles are transposed.
define internal void @block(i64 %m, i64 %n, i64 %k, ptr %a, i64 %ars, i64 %acs, ptr %b, i64 %brs,
    i64 %bcs, ptr %c, i64 %crs, i64 %ccs) #0 {
entry:
  %panel = alloca [$PANEL x $KIND], align 64
  %tile = alloca [$TILE x $KIND], align 64
  %lies = icmp eq i64 %bcs, 1
  %flat = icmp eq i64 %ccs, 1
  %none.m = icmp slt i64 %m, 1
  %none.n = icmp slt i64 %n, 1
  %none = or i1 %none.m, %none.n
  br i1 %none, label %done, label %rows
rows:
  %i0 = phi i64 [ 0, %entry ], [ %i0.next, %rows.end ]
  %i0.left = sub i64 %m, %i0
  %height = call i64 @llvm.smin.i64(i64 %i0.left, i64 $ROWS)
  %stack.1 = add i64 %height, $LASTROW
  %stack = udiv i64 %stack.1, $SQUARE
  %each.1 = add i64 %height, %stack
  %each.2 = sub i64 %each.1, 1
  %each = udiv i64 %each.2, %stack ; rows of a tile: equal ones
  %a0.by = mul i64 %i0, %ars
  %a0 = getelementptr $KIND, ptr %a, i64 %a0.by
  %c0.by = mul i64 %i0, %crs
  %c0 = getelementptr $KIND, ptr %c, i64 %c0.by
  br label %steps
steps:
  %k0 = phi i64 [ 0, %rows ], [ %k0.next, %steps.end ]
  %k0.left = sub i64 %k, %k0
  %depth = call i64 @llvm.smin.i64(i64 %k0.left, i64 $DEPTH)
  %add = icmp sgt i64 %k0, 0
  %a1.by = mul i64 %k0, %acs
  %a1 = getelementptr $KIND, ptr %a0, i64 %a1.by
  %b1.by = mul i64 %k0, %brs
  %b1 = getelementptr $KIND, ptr %b, i64 %b1.by
  %empty = icmp slt i64 %depth, 1
  %there = or i1 %lies, %empty
  br label %columns
columns:
  %j0 = phi i64 [ 0, %steps ], [ %j0.next, %columns.end ]
  %j0.left = sub i64 %n, %j0
  %width = call i64 @llvm.smin.i64(i64 %j0.left, i64 $COLUMNS)
  %width.1 = sub i64 %width, 1
  %vectors = udiv i64 %width.1, $LANES ; one less
  %before = mul i64 %vectors, $LANES
  %lanes = sub i64 %width, %before
  %b2.by = mul i64 %j0, %bcs
  %b2 = getelementptr $KIND, ptr %b1, i64 %b2.by
  %c2.by = mul i64 %j0, %ccs
  %c2 = getelementptr $KIND, ptr %c0, i64 %c2.by
  br i1 %there, label %ready, label %pack
pack:
  call void @turn(i64 %depth, i64 %width, ptr %b2, i64 %bcs, ptr %panel)
  br label %ready
ready:
  %b3 = phi ptr [ %b2, %columns ], [ %panel, %pack ]
  %b3.rs = phi i64 [ %brs, %columns ], [ $COLUMNS, %pack ]
  br label %tiles
tiles:
  %i = phi i64 [ 0, %ready ], [ %i.next, %tiles.end ]
  %i.left = sub i64 %height, %i
  %high = call i64 @llvm.smin.i64(i64 %i.left, i64 %each)
  %high.1 = sub i64 %high, 1
  %function.at = getelementptr [$VECTORS x ptr], ptr @tiles, i64 %high.1, i64 %vectors
  %function = load ptr, ptr %function.at
  %a4.by = mul i64 %i, %ars
  %a4 = getelementptr $KIND, ptr %a1, i64 %a4.by
  %c4.by = mul i64 %i, %crs
  %c4 = getelementptr $KIND, ptr %c2, i64 %c4.by
  br i1 %flat, label %direct, label %aside
direct:
  call void %function(i64 %depth, ptr %a4, i64 %ars, i64 %acs, ptr %b3, i64 %b3.rs, ptr %c4,
      i64 %crs, i64 %lanes, i1 %add)
  br label %tiles.end
aside:
  call void %function(i64 %depth, ptr %a4, i64 %ars, i64 %acs, ptr %b3, i64 %b3.rs, ptr %tile,
      i64 $COLUMNS, i64 %lanes, i1 false)
  br label %flips
flips:
  %j = phi i64 [ 0, %aside ], [ %j.next, %flips ]
  %j.left = sub i64 %width, %j
  %wide = call i64 @llvm.smin.i64(i64 %j.left, i64 $SQUARE)
  %tile.j = getelementptr $KIND, ptr %tile, i64 %j
  %c5.by = mul i64 %j, %ccs
  %c5 = getelementptr $KIND, ptr %c4, i64 %c5.by
  call void @flip(ptr %tile.j, i64 $COLUMNS, i64 %high, i64 %wide, ptr %c5, i64 %ccs, i1 %add)
  %j.next = add i64 %j, $SQUARE
  %more.j = icmp slt i64 %j.next, %width
  br i1 %more.j, label %flips, label %tiles.end
tiles.end:
  %i.next = add i64 %i, %each
  %more.i = icmp slt i64 %i.next, %height
  br i1 %more.i, label %tiles, label %columns.end
columns.end:
  %j0.next = add i64 %j0, $COLUMNS
  %more.j0 = icmp slt i64 %j0.next, %n
  br i1 %more.j0, label %columns, label %steps.end
steps.end:
  %k0.next = add i64 %k0, $DEPTH
  %more.k0 = icmp slt i64 %k0.next, %k
  br i1 %more.k0, label %steps, label %rows.end
rows.end:
  %i0.next = add i64 %i0, $ROWS
  %more.i0 = icmp slt i64 %i0.next, %m
  br i1 %more.i0, label %rows, label %done
done:
  ret void
}
"""
