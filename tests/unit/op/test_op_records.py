"""The records of ops: their size, and what reads them by kind and fields."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import symgrad
from symgrad._core.op import Code, Evidence, Op, Words, registry
from tests.samples import ELSEWHERE, ROWS

ROOT = Path(symgrad.__file__).parent

#: Fields of a record. Who needs more has two ideas in one record.
MOST = 14

#: Modules that ask which op a node is of, and why kind, fields and facets do not say it.
BY_NAME = {
    "_api/_degeneracy.py": "what is held constant has no derivative to warn of",
    "_api/_equalities.py": "selections by a comparison for equality, and its quotients",
    "_api/_opening.py": "what solvers hold constant is no search of the user's",
    "_dispatch/_recall.py": "what calls back into Python is not kept on disk",
    "_dispatch/_specialization.py": "as above",
    "_core/ops/gathers.py": "what windows summed with weights are taken of has a convolution",
    "_core/control/_branch_writes.py": "elements that branches write: one place, read and written",
    "_core/control/_periods.py": "reads of rolled loops are slices that move by one step",
    "_core/control/_element_writes.py": "what loops write in place: each of four ways of writing",
    "_core/control/_cleanup.py": "rules of the user's stay where a comparison holds",
    "_core/control/_unrolling.py": "as above",
    "_core/control/_array_recovery.py": "numbers that are put together are elements of arrays",
    "_core/control/_terms.py": "what is added at places that are data is read and written over",
    "_core/control/_row_groups.py": "assemblies of slices of one array are one slice",
    "_core/lowering/_borders.py": "loops over assembled arrays become loops over slices",
    "_core/lowering/_legalize.py": "BLAS takes the transpose of a matrix as it lies",
    "_core/lowering/_numpy.py": "bits as NumPy's: what it copies before it multiplies",
    "_core/lowering/_assemblies.py": "where slices and assemblies have their elements from",
    "_core/lowering/_shifted_sums.py": "sums of assembled parts; multiples of one array",
    "_core/op/_registry.py": "the registry is by name",
    "_core/graph/_laws.py": "whether an op is in the registry",
    "_core/graph/_node.py": "inputs are leaves with a name",
    "_core/ops/scans.py": "a recurrence has two operands",
    "scipy/linalg.py": "factors know the matrix that they are of",
    "_core/rewrite/__init__.py": "rewriting is about particular functions",
    "_core/rewrite/_cancellation.py": "as above",
    "_core/rewrite/_reduction_formulas.py": "as above",
    "_core/rewrite/_matcher.py": "as above",
    "_core/rewrite/_rules.py": "as above",
    "_core/rewrite/_spectral.py": "sums over what eigh and svd find",
    "_core/rewrite/_recognition.py": "as above",
    "_symbolic/_element.py": "formulas do not show where derivatives stop",
    "_tensor/_record.py": "NumPy's calls that have a direct way; a result that shares memory",
    "_tensor/_composites.py": "functions whose operand is kept though the rule reads the result",
    "_tensor/_shortcuts.py": "quotients and powers by numbers",
    "_core/trace/_assignment.py": "values that are spread over what they are assigned to",
    "_core/trace/_bind.py": "casts of what has the type already; sizes that are 1 under a guard",
    "_core/trace/_complex.py": "casts to complex types; complex arrays that lie as pairs",
    "_core/trace/_complex_ops.py": "casts to complex types",
    "_core/trace/_operators.py": "powers of whole numbers: what NumPy refuses",
    "_core/trace/_lists.py": "operators that Python's lists have, too",
    "_core/trace/_memory.py": "views that are slices can be written through at once",
    "_core/trace/_traced.py": "operators, conversions; what is read of written slices",
    "_core/trace/_views.py": "assignment through views: the inverse of each",
    "_core/trace/_decisions.py": "comparisons with 0 of lengths single out a point",
    "_core/trace/_integers.py": "whole numbers as Python's operators compute them",
    "_core/trace/_writes.py": "assignment through views; sums of what is written in parts",
    "_verify/_rules.py": "what is held constant in derivatives",
    "_verify/_steps.py": "reports do not show reshaping",
}


def subclasses(cls: type) -> Iterator[type]:
    for one in cls.__subclasses__():
        yield one
        yield from subclasses(one)


def test_records_and_facets_are_small() -> None:
    for cls in (*subclasses(Op), Code, Evidence, Words):
        assert len(dataclasses.fields(cls)) <= MOST, cls


def test_every_op_is_of_one_kind() -> None:
    for op in registry.ops.values():
        assert type(op) is not Op
        assert op.kind == type(op).kind


def _is_op(e: ast.expr) -> bool:
    return (isinstance(e, ast.Attribute) and e.attr == "op") or (
        isinstance(e, ast.Name) and e.id == "op"
    )


def _names_an_op(e: ast.AST) -> bool:
    if not isinstance(e, ast.Compare):
        return False
    sides = [e.left, *e.comparators]
    if any(isinstance(x, ast.Constant) and x.value is None for x in sides):
        return False
    if any(isinstance(x, ast.Attribute) and x.attr == "name" and _is_op(x.value) for x in sides):
        return True
    # Two nodes of the same op, and ops as keys of dictionaries, are not named.
    by = isinstance(e.ops[0], ast.Is | ast.IsNot | ast.In | ast.NotIn) and _is_op(e.left)
    other = e.comparators[-1]
    named = isinstance(other, ast.Subscript | ast.Tuple) or (
        isinstance(other, ast.Name) and other.id.isupper()
    )
    return by and named


def test_passes_know_ops_by_kind_and_fields() -> None:
    """Few passes ask which op it is; reverse and forward mode, batching, the schedule do not."""
    texts = {file: file.read_text(encoding="utf-8") for file in ROOT.rglob("*.py")}
    found = {
        file.relative_to(ROOT).as_posix()
        for file, text in texts.items()
        if re.search(r"\bop\b", text) and any(map(_names_an_op, ast.walk(ast.parse(text))))
    }
    assert found == set(BY_NAME)


def test_each_composite_has_calls_that_tests_make() -> None:
    assert ROWS.keys() | ELSEWHERE == registry.composites.keys()
    assert not ROWS.keys() & ELSEWHERE
