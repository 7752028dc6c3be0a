"""The op record and the registry.

An op is one record in one place. The record knows the NumPy functions it answers to, its
SymPy form, its derivative rule, its shape and type rule, its element formula, its lowering
and where to sample it in tests. The passes (reverse, forward, batch, rewrite, schedule,
lower) know no op by name: they read the record.

There are few *kinds* of op, and each pass treats a kind in one way:

=========  ==========================================================================
map        elementwise with broadcasting; gives ``partials``
view       one operand, each result element is one operand element; linear
reduce     folds axes away
scan       runs along one axis, each result element depends on the one before
contract   sums products over named indices (pairwise einsum)
assemble   writes its operands into regions of a zero array; linear
gather     reads elements at computed positions; linear in its first operand
scatter    adds elements at computed positions; the transpose of gather
routine    a library's computation on whole vectors or matrices (the last axes)
loop       runs a body again and again; its results are projected out of it
branch     runs one of several bodies; its results are projected out of it
result     one result of a loop or a branch
tape       what a loop wrote down in each step, for another loop to read
leaf       inputs, literals, constants, sizes
=========  ==========================================================================

Rules are plain NumPy over the operands and the result. So one rule runs on traced values
(compiled adjoints, derivatives of derivatives), on arrays (eager), and on SymPy symbols
(where the tests prove it against ``sympy.diff``).
"""

from ._define import (
    NonZero,
    Positive,
    Real,
    composite,
    define,
    define_array,
    define_map,
    define_step,
)
from ._facets import Code, Evidence, Facet, Words
from ._kinds import (
    HIGHEST,
    PROJECTIONS,
    ArrayOp,
    Assemble,
    Bodied,
    BranchOp,
    Contract,
    Gather,
    Kind,
    Leaf,
    LoopOp,
    Map,
    Op,
    Placing,
    Reduce,
    Result,
    Routine,
    Scan,
    Scatter,
    Tape,
    View,
)
from ._lowering import Composed, Cython, Emit, Exact, Instr, Intrinsic, Libm, Written
from ._params import (
    AXES,
    AXIS,
    COUNT,
    DTYPE,
    FLAG,
    INTEGER,
    LETTERS,
    REGION,
    REGIONS,
    SHAPE,
    SIZE,
    TOKEN,
    Param,
    is_size,
    one_of,
    optional,
    or_none,
    several,
)
from ._registry import Composite, refuse, registry
from ._rules import Linear, NoRule, Partials, Products, Rule

__all__ = [
    "AXES",
    "AXIS",
    "COUNT",
    "DTYPE",
    "FLAG",
    "HIGHEST",
    "INTEGER",
    "LETTERS",
    "PROJECTIONS",
    "REGION",
    "REGIONS",
    "SHAPE",
    "SIZE",
    "TOKEN",
    "ArrayOp",
    "Assemble",
    "Bodied",
    "BranchOp",
    "Code",
    "Composed",
    "Composite",
    "Contract",
    "Cython",
    "Emit",
    "Evidence",
    "Exact",
    "Facet",
    "Gather",
    "Instr",
    "Intrinsic",
    "Kind",
    "Leaf",
    "Libm",
    "Linear",
    "LoopOp",
    "Map",
    "NoRule",
    "NonZero",
    "Op",
    "Param",
    "Partials",
    "Placing",
    "Positive",
    "Products",
    "Real",
    "Reduce",
    "Result",
    "Routine",
    "Rule",
    "Scan",
    "Scatter",
    "Tape",
    "View",
    "Words",
    "Written",
    "composite",
    "define",
    "define_array",
    "define_map",
    "define_step",
    "is_size",
    "one_of",
    "optional",
    "or_none",
    "refuse",
    "registry",
    "several",
]
