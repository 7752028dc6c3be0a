"""Blocks of matrix products: loops around tiles that keep what they read in the caches.

As in K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication", ACM
Transactions on Mathematical Software 34, 2008: a panel of the right factor stays in the
first-level cache while all rows of a block of the left factor, in the second-level cache, meet
it. Factors are read where they lie unless the panel has to be transposed, or is met often.
"""

#: Steps along the summed axis, and rows of the left factor, in a block: a panel of three vectors
#: fills a first-level cache of 48 KB, and the left factor's block is ten times as much.
DEPTH, ROWS = 256, 256

#: A panel that lies by rows is copied if it has so many, for so many rows of the result: what
#: it saves is conflicts of its rows in the cache.
FAR, TALL = 48, 256

#: The function, with words for the sizes in capitals.
BLOCK = """
; A part of the product. One stride of C is 1; if it is that of the rows, tiles are transposed.
define internal void @block(i64 %m, i64 %n, i64 %k, ptr %a, i64 %ars, i64 %acs, ptr %b, i64 %brs,
    i64 %bcs, ptr %c, i64 %crs, i64 %ccs) #0 {
entry:
  %panel = alloca [PANEL x KIND], align 64
  %tile = alloca [TILE x KIND], align 64
  %lies = icmp eq i64 %bcs, 1
  %flat = icmp eq i64 %ccs, 1
  %far = icmp sge i64 %k, FAR
  %tall = icmp sge i64 %m, TALL
  %worth = and i1 %far, %tall
  %none.m = icmp slt i64 %m, 1
  %none.n = icmp slt i64 %n, 1
  %none = or i1 %none.m, %none.n
  br i1 %none, label %done, label %rows
rows:
  %i0 = phi i64 [ 0, %entry ], [ %i0.next, %rows.end ]
  %i0.left = sub i64 %m, %i0
  %height = call i64 @llvm.smin.i64(i64 %i0.left, i64 ROWS)
  %stack.1 = add i64 %height, LASTROW
  %stack = udiv i64 %stack.1, SQUARE
  %each.1 = add i64 %height, %stack
  %each.2 = sub i64 %each.1, 1
  %each = udiv i64 %each.2, %stack ; rows of a tile: equal ones
  %a0.by = mul i64 %i0, %ars
  %a0 = getelementptr KIND, ptr %a, i64 %a0.by
  %c0.by = mul i64 %i0, %crs
  %c0 = getelementptr KIND, ptr %c, i64 %c0.by
  br label %steps
steps:
  %k0 = phi i64 [ 0, %rows ], [ %k0.next, %steps.end ]
  %k0.left = sub i64 %k, %k0
  %depth = call i64 @llvm.smin.i64(i64 %k0.left, i64 DEPTH)
  %add = icmp sgt i64 %k0, 0
  %a1.by = mul i64 %k0, %acs
  %a1 = getelementptr KIND, ptr %a0, i64 %a1.by
  %b1.by = mul i64 %k0, %brs
  %b1 = getelementptr KIND, ptr %b, i64 %b1.by
  %deep = icmp sgt i64 %depth, 0
  br label %columns
columns:
  %j0 = phi i64 [ 0, %steps ], [ %j0.next, %columns.end ]
  %j0.left = sub i64 %n, %j0
  %width = call i64 @llvm.smin.i64(i64 %j0.left, i64 COLUMNS)
  %width.1 = sub i64 %width, 1
  %vectors = udiv i64 %width.1, LANES ; one less
  %before = mul i64 %vectors, LANES
  %lanes = sub i64 %width, %before
  %b2.by = mul i64 %j0, %bcs
  %b2 = getelementptr KIND, ptr %b1, i64 %b2.by
  %c2.by = mul i64 %j0, %ccs
  %c2 = getelementptr KIND, ptr %c0, i64 %c2.by
  br i1 %deep, label %pack, label %ready
pack:
  br i1 %lies, label %pack.rows, label %pack.columns
pack.columns:
  call void @turn(i64 %depth, i64 %width, ptr %b2, i64 %bcs, ptr %panel)
  br label %ready
pack.rows:
  br i1 %worth, label %pack.copy, label %ready
pack.copy:
  call void @bring(i64 %depth, i64 %width, ptr %b2, i64 %brs, ptr %panel)
  br label %ready
ready:
  %b3 = phi ptr [ %b2, %columns ], [ %b2, %pack.rows ], [ %panel, %pack.columns ],
      [ %panel, %pack.copy ]
  %b3.rs = phi i64 [ %brs, %columns ], [ %brs, %pack.rows ], [ COLUMNS, %pack.columns ],
      [ COLUMNS, %pack.copy ]
  br label %tiles
tiles:
  %i = phi i64 [ 0, %ready ], [ %i.next, %tiles.end ]
  %i.left = sub i64 %height, %i
  %high = call i64 @llvm.smin.i64(i64 %i.left, i64 %each)
  %high.1 = sub i64 %high, 1
  %function.at = getelementptr [VECTORS x ptr], ptr @tiles, i64 %high.1, i64 %vectors
  %function = load ptr, ptr %function.at
  %a4.by = mul i64 %i, %ars
  %a4 = getelementptr KIND, ptr %a1, i64 %a4.by
  %c4.by = mul i64 %i, %crs
  %c4 = getelementptr KIND, ptr %c2, i64 %c4.by
  br i1 %flat, label %direct, label %aside
direct:
  call void %function(i64 %depth, ptr %a4, i64 %ars, i64 %acs, ptr %b3, i64 %b3.rs, ptr %c4,
      i64 %crs, i64 %lanes, i1 %add)
  br label %tiles.end
aside:
  call void %function(i64 %depth, ptr %a4, i64 %ars, i64 %acs, ptr %b3, i64 %b3.rs, ptr %tile,
      i64 COLUMNS, i64 %lanes, i1 false)
  br label %flips
flips:
  %j = phi i64 [ 0, %aside ], [ %j.next, %flips ]
  %j.left = sub i64 %width, %j
  %wide = call i64 @llvm.smin.i64(i64 %j.left, i64 SQUARE)
  %tile.j = getelementptr KIND, ptr %tile, i64 %j
  %c5.by = mul i64 %j, %ccs
  %c5 = getelementptr KIND, ptr %c4, i64 %c5.by
  call void @flip(ptr %tile.j, i64 COLUMNS, i64 %high, i64 %wide, ptr %c5, i64 %ccs, i1 %add)
  %j.next = add i64 %j, SQUARE
  %more.j = icmp slt i64 %j.next, %width
  br i1 %more.j, label %flips, label %tiles.end
tiles.end:
  %i.next = add i64 %i, %each
  %more.i = icmp slt i64 %i.next, %height
  br i1 %more.i, label %tiles, label %columns.end
columns.end:
  %j0.next = add i64 %j0, COLUMNS
  %more.j0 = icmp slt i64 %j0.next, %n
  br i1 %more.j0, label %columns, label %steps.end
steps.end:
  %k0.next = add i64 %k0, DEPTH
  %more.k0 = icmp slt i64 %k0.next, %k
  br i1 %more.k0, label %steps, label %rows.end
rows.end:
  %i0.next = add i64 %i0, ROWS
  %more.i0 = icmp slt i64 %i0.next, %m
  br i1 %more.i0, label %rows, label %done
done:
  ret void
}
"""
