"""The order of elements: the one op behind sorting, medians and percentiles.

``Argsort`` gives positions, which have no derivative; what is sorted is gathered at them, so
the derivative of a sorted array is the derivative of the elements it consists of.
"""

from __future__ import annotations

import numpy as np

from ..op import ArrayOp, Call, Code, Evidence, Exact, NoRule, Routine, Words, Written, define
from . import complex_order
from . import multiple_precision as exactly
from .linear import batched_alike, no_formula
from .operands import Cores

#: Bottom-up merge sort of positions: stable, nan last. ``LESS`` tells whether the left element
#: must not go before the right one: it is the only step that depends on the type.
_MERGE = """define internal void @argsort.KIND(ptr noalias %x, ptr noalias %out, ptr noalias %tmp, i64 %n) #0 {
entry:
  br label %fill
fill:
  %f = phi i64 [ 0, %entry ], [ %f.next, %fill.body ]
  %f.more = icmp slt i64 %f, %n
  br i1 %f.more, label %fill.body, label %width
fill.body:
  %f.at = getelementptr inbounds i64, ptr %out, i64 %f
  store i64 %f, ptr %f.at
  %f.next = add i64 %f, 1
  br label %fill
width:
  %w = phi i64 [ 1, %fill ], [ %w.next, %swap ]
  %src = phi ptr [ %out, %fill ], [ %dst, %swap ]
  %dst = phi ptr [ %tmp, %fill ], [ %src, %swap ]
  %w.more = icmp slt i64 %w, %n
  br i1 %w.more, label %run, label %finish
run:
  %low = phi i64 [ 0, %width ], [ %high, %merged ]
  %low.more = icmp slt i64 %low, %n
  br i1 %low.more, label %begin, label %swap
begin:
  %mid.full = add i64 %low, %w
  %mid.over = icmp slt i64 %mid.full, %n
  %mid = select i1 %mid.over, i64 %mid.full, i64 %n
  %high.full = add i64 %mid, %w
  %high.over = icmp slt i64 %high.full, %n
  %high = select i1 %high.over, i64 %high.full, i64 %n
  br label %merge
merge:
  %i = phi i64 [ %low, %begin ], [ %i.next, %step ]
  %j = phi i64 [ %mid, %begin ], [ %j.next, %step ]
  %k = phi i64 [ %low, %begin ], [ %k.next, %step ]
  %k.more = icmp slt i64 %k, %high
  br i1 %k.more, label %choose, label %merged
choose:
  %i.some = icmp slt i64 %i, %mid
  br i1 %i.some, label %other, label %right
other:
  %j.some = icmp slt i64 %j, %high
  br i1 %j.some, label %compare, label %left
compare:
  %pi = getelementptr inbounds i64, ptr %src, i64 %i
  %vi = load i64, ptr %pi
  %pj = getelementptr inbounds i64, ptr %src, i64 %j
  %vj = load i64, ptr %pj
  %ai = getelementptr inbounds KIND, ptr %x, i64 %vi
  %a = load KIND, ptr %ai
  %bi = getelementptr inbounds KIND, ptr %x, i64 %vj
  %b = load KIND, ptr %bi
  LESS
  br i1 %later, label %right, label %left
left:
  br label %step
right:
  br label %step
step:
  %from = phi i64 [ %i, %left ], [ %j, %right ]
  %di = phi i64 [ 1, %left ], [ 0, %right ]
  %dj = phi i64 [ 0, %left ], [ 1, %right ]
  %from.at = getelementptr inbounds i64, ptr %src, i64 %from
  %value = load i64, ptr %from.at
  %to.at = getelementptr inbounds i64, ptr %dst, i64 %k
  store i64 %value, ptr %to.at
  %i.next = add i64 %i, %di
  %j.next = add i64 %j, %dj
  %k.next = add i64 %k, 1
  br label %merge
merged:
  br label %run
swap:
  %w.next = shl i64 %w, 1
  br label %width
finish:
  %here = icmp eq ptr %src, %out
  br i1 %here, label %done, label %copy
copy:
  %c = phi i64 [ 0, %finish ], [ %c.next, %copy.body ]
  %c.more = icmp slt i64 %c, %n
  br i1 %c.more, label %copy.body, label %done
copy.body:
  %c.from = getelementptr inbounds i64, ptr %src, i64 %c
  %c.value = load i64, ptr %c.from
  %c.to = getelementptr inbounds i64, ptr %out, i64 %c
  store i64 %c.value, ptr %c.to
  %c.next = add i64 %c, 1
  br label %copy
done:
  ret void
}
"""  # noqa: E501

#: Whether the right element comes first, by class of type: the left one is greater, or nan.
_LATER = {
    "f": "%gt = fcmp ogt KIND %a, %b\n  %an = fcmp uno KIND %a, %a\n  %bn = fcmp ord KIND %b, %b\n"
         "  %nan = and i1 %an, %bn\n  %later = or i1 %gt, %nan",
    "i": "%later = icmp sgt KIND %a, %b",
    "u": "%later = icmp ugt KIND %a, %b",
}  # fmt: skip


def _write_argsort(r: Call) -> None:
    x, out = r.pointers
    n = r.shapes[0][0]
    text = _MERGE.replace("LESS", _LATER[r.dtype.kind]).replace("KIND", r.kind)
    name = f"argsort.{r.dtype.kind}.{r.kind}"
    text = text.replace(f"@argsort.{r.kind}", f"@{name}")
    r.e.module.helper(text)
    r.e.call(
        "void",
        f"@{name}",
        [f"ptr {x}", f"ptr {out}", f"ptr {r.work(n, 'i64')}", f"i64 {r.size(n)}"],
    )


ARGSORT: ArrayOp = define(
    Routine("Argsort", evaluate=lambda x: np.argsort(x, axis=-1, kind="stable"),
        types=lambda x: np.int64, shape=lambda x: x, element=no_formula("a position in an order"),
        rule=NoRule("integer-valued"), parts=complex_order.order,
        batch=batched_alike(lambda: ARGSORT), fits=Cores("n", kinds="biuf")),
    Code(Written(_write_argsort, (1, 1)),
        source=lambda x: f'np.argsort({x}, axis=-1, kind="stable")'),
    Evidence(exact=Exact(exactly.order, core=1)),
    Words("positions that sort along the last axis: stable, nan last"),
)  # fmt: skip
