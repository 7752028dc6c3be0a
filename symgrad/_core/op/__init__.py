"""The op record and the registry.

An op is one record in one place, with facets beside it. The record says what it is: its operands,
shape and type rule, element formula, derivative rule. ``Code`` says how it is computed,
``Evidence`` what it is tested and certified against, ``Words`` what is told of it. Transformations,
batching and code generation read the record. Code that looks for one form (a rewrite, a loop that
Python wrote out, a border) names the ops of that form.

There are few *kinds* of op, with a record each, and each pass treats a kind in one way:

=================  ==========================================================================
:class:`Map`       elementwise with broadcasting
:class:`View`      one operand, each result element is one operand element; linear
:class:`Reduce`    folds axes away
:class:`Scan`      runs along one axis, each result element depends on the one before
:class:`Contract`  sums products over named indices (pairwise einsum)
:class:`Assemble`  writes its operands into regions of a zero array; linear
:class:`Gather`    reads elements at computed positions; linear in its first operand
:class:`Scatter`   adds elements at computed positions; the transpose of gather
:class:`Routine`   a library's computation on whole vectors or matrices (the last axes)
:class:`LoopOp`    runs a body again and again; its results are projected out of it
:class:`BranchOp`  runs one of several bodies; its results are projected out of it
:class:`Result`    one result of a loop or a branch
:class:`Tape`      what a loop wrote down in each step, for another loop to read
:class:`Leaf`      inputs, literals, constants, sizes
=================  ==========================================================================
"""

from ._builders import Builder, Call, Instructions, Library
from ._facets import (
    Code,
    Composed,
    Cython,
    Emit,
    Evidence,
    Exact,
    Facet,
    Instr,
    Intrinsic,
    Libm,
    Limit,
    Recurrence,
    Ties,
    Words,
    Written,
    Zeros,
)
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
    Reader,
    Readers,
    Reduce,
    Result,
    Routine,
    Scan,
    Scatter,
    Tape,
    View,
)
from ._params import (
    AXES,
    AXIS,
    COUNT,
    DISJOINT,
    DTYPE,
    FLAG,
    INTEGER,
    LENGTH,
    LETTERS,
    ORDER,
    PLACE,
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
from ._registry import (
    Composite,
    NonZero,
    Positive,
    Real,
    composite,
    define,
    define_formula,
    define_step,
    needed,
    refuse,
    registry,
)
from ._rules import HALF, Linear, NoRule, Partials, Products
