"""The checker: every law of the representation is broken once, and the message names it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symgrad as sg
from symgrad._core import rewrite as _rewrite
from symgrad._core.base.sizes import Dim
from symgrad._core.graph import (
    Body,
    Constant,
    Input,
    Iota,
    Literal,
    Node,
    SizeOf,
    apply,
    check,
    checked,
    topological,
)
from symgrad._core.graph._check import GRAPH_LAWS, PROGRAM_LAWS, describe
from symgrad._core.graph._interned import new_node, node_class
from symgrad._core.graph._laws import NODE_LAWS
from symgrad._core.lowering._legalize import legalize
from symgrad._core.op import Composite, NoRule, Op, View, registry
from symgrad._core.program import schedule
from symgrad._core.rewrite import Rule, Simplifier
from symgrad._core.trace import flatten
from symgrad.errors import CheckError, CycleError
from tests.samples import samples_of
from tests.shared import of_arrays

OPS = registry.ops
F8, F4, I8, B = (np.dtype(t) for t in ("f8", "f4", "i8", "?"))
N, M = Dim("n", 3), Dim("m", 5)


def x(shape: Any = (N,), dtype: Any = F8, name: str = "x") -> Input:
    return Input(name, shape, dtype)


def node(op: str | Op, *operands: Any, shape: Any = (N,), dtype: Any = F8, **params: Any) -> Node:
    """A node that is not interned, whatever it is made of."""
    record = OPS[op] if isinstance(op, str) else op
    return new_node(node_class(record), operands, tuple(params.items()), shape, np.dtype(dtype))


def shaped(op: str, *operands: Any, shape: Any, **params: Any) -> Node:
    """A node with a parameter that is called shape."""
    items = tuple(sorted({"shape": shape, **params}.items()))
    return new_node(node_class(OPS[op]), operands, items, (3,), F8)


def altered(leaf: Any, **fields: Any) -> Any:
    """A leaf of its own (leaves are shared) with other contents."""
    copy = object.__new__(type(leaf))
    for name in ("operands", "items", "shape", "dtype", "where", "value", "array", "digest",
                 "size", "name", "dim"):  # fmt: skip
        if hasattr(leaf, name):
            setattr(copy, name, fields.get(name, getattr(leaf, name)))
    return copy


def writeable() -> Constant:
    leaf: Constant = altered(Constant(np.arange(3.0)), array=np.arange(3.0))
    return leaf


def loop(inputs: Any, outputs: Any, length: Any = 3, unbound: bool = False) -> Node:
    """A loop that carries one number."""
    if unbound:
        inputs = [inputs[0], *(n for n in topological(outputs) if isinstance(n, Input))]
    return node("Loop", Literal(0.0, F8), shape=(), dtype="V", body=Body(inputs, outputs),
                carries=1, cond=None, elements=0, length=length, reverse=False)  # fmt: skip


def branch(*cases: list[float]) -> Node:
    bodies = tuple(Body([], [Literal(v, F8) for v in case]) for case in cases)
    return node("Branch", x((), I8), shape=(), dtype="V", bodies=bodies, kept=False)


STRANGER = View(
    "Stranger", evaluate=np.copy, shape=lambda s: s, element=lambda i, x: x[i],
    batch=lambda size, _, x: x, rule=NoRule("a test"),
)  # fmt: skip

#: Nodes whose shape rule takes operands and parameters as they come.
UNFIT: list[tuple[Callable[[], Any], str]] = [
    (lambda: shaped("Broadcast", x(), shape=(3, 4)), "is not broadcast to"),
    (lambda: node("Diagonal", x((3, 4)), shape=(4,), offset=0, size=4), "no diagonal 0 of 4"),
    (lambda: node("Diagonal", x((3,)), shape=(3,), offset=0, size=3), "no diagonal 0 of 3"),
    (lambda: shaped("DiagEmbed", x((3,)), offset=1, shape=(3, 3)), "is no diagonal 1 of an array"),
    (lambda: node("Gather", x((4,)), x((2,)), at=0, axes=(0,)), "an index is float64"),
    (lambda: node("Gather", x((4,)), x((2,), I8), at=1, axes=(0,)), "no place 1 among 0 axes"),
    (lambda: shaped("Scatter", x((3,)), x((2,), I8), at=0, axes=(0,), shape=(4,)),
     "values of shape"),
    (lambda: shaped("Put", x((2,)), x((5,)), x((2,), I8), at=0, axes=(0,), shape=(4,)),
     "written to"),
    (lambda: shaped("AddAt", x((2,), F4), x((4,)), x((2,), I8), at=0, axes=(0,), shape=(4,)),
     "an operand is float32"),
    (lambda: shaped("Writer", x((2,), I8), x((3,), I8), axes=(0,), shape=(4,)), "not as many"),
    (lambda: shaped("Assemble", x((2,)), x((2,)), disjoint=True, shape=(4,),
                  regions=(((0, 2, 2),), ((2, 1, 2),))), "two of its regions overlap"),
    (lambda: shaped("Update", x((2,)), x((2,)), shape=(4,),
                  regions=(((0, 1, 2),), ((2, 1, 2),))), "is not the whole array"),
    (lambda: node("Contract", x((2,)), x((2,)), a="i", b="i", out="ii"), "nothing of its result"),
    (lambda: node("Recurrence", x((2,)), x((3,)), axis=0, reverse=False), "operands of the shapes"),
    (lambda: node("Sum", x(), axes=()), "not taken over 0 axes"),
    (lambda: node("Max", x((0,)), axes=(0,)), "no extremum of no elements"),
    (lambda: node("LU", x((2, 3))), "is not n by n"),
    (lambda: node("Solve", x((2, 2)), x((2, 2)), x((1, 2)), trans=False), r"is not n\+1 by n"),
    (lambda: node("Cholesky", x((2, 2), I8)), "not computed in int64"),
    (lambda: node("QR", x((2, 3))), "parameters do not fit"),
    (lambda: node("SVD", x((2, 3)), full=False, wide=False), "parameters do not fit"),
    (lambda: node("RealSignal", x((1, 3, 2)), n=6, norm="ortho"), "parameters do not fit"),
]  # fmt: skip

BROKEN_NODES: list[tuple[str, Callable[[], Any], str]] = [
    ("a registered op", lambda: node(STRANGER, x()), "Stranger is not in the registry"),
    ("a registered op", lambda: node(dataclasses.replace(OPS["Sin"]), x()), "not in the registry"),
    ("a registered op", lambda: new_node(type("Odd", (Node,), {"op": Input.op}),
                                     (), (), (), F8), "no kind of leaf"),
    ("operands are nodes, as many as the op takes", lambda: node("Sin", sp.Symbol("x")),
     "operand x is no node"),
    ("operands are nodes, as many as the op takes", lambda: node("Add", x()), "takes 2 operands"),
    ("operands are nodes, as many as the op takes", lambda: node("Assemble"), "needs an operand"),
    ("operands are nodes, as many as the op takes",
     lambda: altered(Literal(1.0, F8), operands=(x(()),)), "a leaf has no operands"),
    ("a supported element type", lambda: node("Sin", x(), dtype="c16"), "complex128 is no type"),
    ("a supported element type", lambda: node("Sin", x(), dtype=">f8"), "is no type"),
    ("sizes are integers or expressions in size symbols",
     lambda: node("Sin", x(), shape=(sp.Symbol("n"),)), "neither an integer"),
    ("sizes are integers or expressions in size symbols",
     lambda: node("Sin", x(), shape=(3.0,)), "neither an integer"),
    ("sizes are integers or expressions in size symbols",
     lambda: node("Sin", x(), shape=(N - 7,)), "the size n - 7 in its shape is negative"),
    ("parameters are frozen", lambda: node("Transpose", x(), axes=[0]), "parameter axes is no"),
    ("parameters are frozen", lambda: node("Cumsum", x(), reverse=False, axis=0), "not sorted"),
    ("parameters are frozen", lambda: node("Sin", x(), axis=0), "Sin has no parameter axis"),
    ("parameters are frozen", lambda: node("Reshape", x()), "Reshape needs the parameter shape"),
    ("parameters are frozen", lambda: shaped("Broadcast", x(), shape=("3",)), "a tuple, each"),
    ("parameters are frozen", lambda: node("CompleteD", x(), axis=0), "has no parameter axis"),
    ("parameters are frozen", lambda: node("CompleteD", x(), order=-1), "not an integer from 0"),
    ("parameters are frozen", lambda: node("CompleteD", x(), order=10**9), "not an integer from 0"),
    ("parameters are frozen", lambda: node("CompleteD", x(), order=True), "not an integer from 0"),
    ("bodies are sound and fit their operands",
     lambda: loop([x((), I8), x(())], [node("Sin", x(()), shape=(4,))], unbound=True),
     "in its body, Sin breaks the law"),
    ("bodies are sound and fit their operands", lambda: loop([x((), I8)], [Literal(1.0, F8)]),
     "other inputs and outputs than it has operands"),
    ("bodies are sound and fit their operands",
     lambda: loop([x((), I8), x((), F4)], [Literal(1.0, F4)]), "is float32"),
    ("bodies are sound and fit their operands",
     lambda: loop([x((), I8), x(())], [Literal(1.0, F8)], length=None), "it would not end"),
    ("bodies are sound and fit their operands", lambda: branch([1.0], [1.0, 2.0]),
     "its bodies have different results"),
    ("results are those of a loop or a branch", lambda: node("Result", x(), index=0),
     "its operand is no loop and no branch"),
    ("literals are single numbers of their type",
     lambda: altered(Literal(1.0, F8), shape=(3,)), r"it has shape \(3,\)"),
    ("literals are single numbers of their type",
     lambda: altered(Literal(1.0, F8), value=np.float32(1)), "of type float32, not float64"),
    ("literals are single numbers of their type",
     lambda: altered(SizeOf(N), shape=(1,)), r"it has shape \(1,\)"),
    ("constants are frozen arrays", writeable, "can be written to"),
    ("constants are frozen arrays",
     lambda: altered(Constant(np.arange(3.0)), shape=(4,)), r"its array is float64\[3\]"),
    ("axes are axes of the operand", lambda: node("Sum", x(), shape=(), axes=(1,)),
     "not distinct axes of 1"),
    ("axes are axes of the operand", lambda: node("Sum", x(), shape=(), axes=(0, 0)), "distinct"),
    ("axes are axes of the operand",
     lambda: node("Transpose", x((N, M)), shape=(M,), axes=(1,)), "no permutation of 2"),
    ("axes are axes of the operand",
     lambda: node("Cumsum", x(), axis=1, reverse=False), "not distinct axes"),
    ("axes are axes of the operand",
     lambda: new_node(node_class(OPS["Scatter"]), (x(), x((N,), I8)),
                  (("at", 0), ("axes", (2,)), ("shape", (4,))), (4,), F8), "distinct axes of 1"),
    ("regions lie within", lambda: node("Slice", x(), shape=(2,), region=((2, 1, 2),)),
     "the range 2:1:2 is not within an axis of size n"),
    ("regions lie within", lambda: node("Slice", x(), shape=(), region=((-1, 1, None),)),
     "not within"),
    ("regions lie within", lambda: node("Slice", x(), shape=(4,), region=((N - 1, -1, 4),)),
     "not within"),
    ("regions lie within", lambda: node("Slice", x(), shape=(), region=()), "a region of 0 axes"),
    ("regions lie within",
     lambda: new_node(node_class(OPS["Assemble"]), (x(),),
                  (("disjoint", True), ("regions", (((0, 1, 2),),)), ("shape", (4,))), (4,), F8),
     r"a part of shape \(n=3,\) in a region of \(2,\)"),
    *[("operands fit the op and each other", make, complaint) for make, complaint in UNFIT],
    ("the shape is what the shape rule gives", lambda: node("Sin", x(), shape=(4,)),
     r"its shape is \(4,\), the rule gives \(n=3,\)"),
    ("the shape is what the shape rule gives",
     lambda: node("Add", x((3,)), x((4,)), shape=(3,)), "shape rule fails.*broadcast"),
    ("the shape is what the shape rule gives", lambda: node("Sum", x(), axes=(0,)), "gives"),
    ("the shape is what the shape rule gives", lambda: altered(Iota(N), shape=(M,)), "n elements"),
    ("the type is what the type rule gives", lambda: node("Sin", x(), dtype=F4),
     "type is float32, the rule gives float64 for float64"),
    ("the type is what the type rule gives", lambda: node("Less", x(), x()), "gives bool"),
    ("the type is what the type rule gives", lambda: node("Sum", x(), shape=(), dtype=F4,
                                                          axes=(0,)), "gives float64"),
    ("the type is what the type rule gives", lambda: node("Subtract", x(dtype=B), x(dtype=B)),
     "type rule fails: Subtract is not defined for element types bool, bool"),
    ("the type is what the type rule gives", lambda: altered(Iota(N), dtype=F8), "int64"),
    ("map operands have the types that the op computes in", lambda: node("Sin", x(dtype=I8)),
     "its operands are int64, Sin computes in float64"),
    ("map operands have the types that the op computes in",
     lambda: node("Multiply", x(dtype=F4), x()), "float32, float64"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("law", "make", "complaint"),
    BROKEN_NODES,
    ids=[f"{k}-{b[0]}" for k, b in enumerate(BROKEN_NODES)],
)  # fmt: skip
def test_broken_nodes(law: str, make: Callable[[], Any], complaint: str) -> None:
    broken = make()
    for subject in (broken, [None, broken], node("Negative", broken)):
        with pytest.raises(CheckError, match=complaint) as error:
            check(subject)
        assert f"the law {law!r} is broken" in str(error.value)


def test_every_node_law_is_broken_above() -> None:
    assert [law.name for law in NODE_LAWS] == list(dict.fromkeys(b[0] for b in BROKEN_NODES))


# ---------------------------------------------------------------- graphs and programs


@dataclasses.dataclass
class Graph:
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    guards: dict[Any, bool] = dataclasses.field(default_factory=dict)


def sine(a: Node) -> Node:
    return apply(OPS["Sin"], (a,), (), a.shape, a.dtype)


A, C = x(), x((M,), name="c")
SINE, COSINE = sine(A), apply(OPS["Cos"], (A,), (), A.shape, A.dtype)
BOTH = apply(OPS["Add"], (SINE, COSINE), (), A.shape, A.dtype)
SIZE = apply(OPS["Multiply"], (SizeOf(M, F8), A), (), A.shape, A.dtype)

BROKEN_GRAPHS: list[tuple[str, Graph, str]] = [
    ("outputs are nodes", Graph((A,), (SINE, 3.0)), "the output 3.0 is no node"),
    ("every input is given", Graph((), (SINE,)), "the input 'x' is used, but is not among them"),
    ("input names are unique", Graph((A, x()), (SINE,)), "two inputs have the name 'x'"),
    ("every size is that of an input", Graph((A,), (SIZE,)), "the size m of SizeOf"),
    ("every size is that of an input", Graph((x((N + 1,)),), (SizeOf(N),)), "the size n of SizeOf"),
    ("guards hold in the example call",
     Graph((A,), (SINE,), {sp.Eq(N, 4, evaluate=False): True}), "not True in the example call"),
    ("guards hold in the example call",
     Graph((A,), (SINE,), {sp.Gt(N, 2, evaluate=False): False}), "not False in the example"),
    ("guards hold in the example call",
     Graph((A,), (SINE,), {sp.Gt(M, 2, evaluate=False): True}), "not those of an input"),
]  # fmt: skip


def broken_program(inputs: Any, outputs: Any, steps: Any, levels: Any) -> sg.Program:
    return sg.Program(inputs, outputs, steps, levels)


BROKEN_PROGRAMS: list[tuple[str, Any, str]] = [
    ("steps compute, each once", ((A,), (BOTH,), (A, SINE, COSINE, BOTH), (0, 0, 0, 1)),
     "input 'x' of float64\\[n\\] is a leaf"),
    ("steps compute, each once", ((A,), (SINE,), (SINE, SINE), (0, 0)), "a step comes twice"),
    ("operands come before their users", ((A,), (BOTH,), (SINE, BOTH, COSINE), (0, 1, 0)),
     r"Add of float64\[n\].* comes before its operand, Cos of float64\[n\]"),
    ("outputs are computed", ((A,), (SINE, COSINE), (SINE,), (0,)), "the output, Cos"),
    ("every step is needed", ((A,), (SINE,), (SINE, COSINE), (0, 0)), "no output needs Cos"),
    ("levels are the rounds of Kahn's algorithm",
     ((A,), (BOTH,), (SINE, COSINE, BOTH), (0, 1, 2)),
     "Cos .* is in level 1, it can run in level 0"),
    ("levels are the rounds of Kahn's algorithm",
     ((A,), (BOTH,), (SINE, COSINE, BOTH), (0, 0)), "3 steps have 2 levels"),
]  # fmt: skip


@pytest.mark.parametrize(("law", "graph", "complaint"), BROKEN_GRAPHS)
def test_broken_graphs(law: str, graph: Graph, complaint: str) -> None:
    with pytest.raises(CheckError, match=complaint) as error:
        check(graph)
    assert f"the law {law!r} is broken" in str(error.value)


@pytest.mark.parametrize(("law", "fields", "complaint"), BROKEN_PROGRAMS)
def test_broken_programs(law: str, fields: Any, complaint: str) -> None:
    with pytest.raises(CheckError, match=complaint) as error:
        check(broken_program(*fields))
    assert f"the law {law!r} is broken" in str(error.value)


def test_step_names_are_unique(monkeypatch: pytest.MonkeyPatch) -> None:
    program = schedule((A,), (BOTH,))
    monkeypatch.setitem(program.names, COSINE, program.names[SINE])
    with pytest.raises(CheckError, match=r"'step names are unique' is broken: Cos .* called 'v0'"):
        check(program)


def test_every_other_law_is_broken_above() -> None:
    assert [law.name for law in GRAPH_LAWS] == list(dict.fromkeys(b[0] for b in BROKEN_GRAPHS))
    named = [*dict.fromkeys(b[0] for b in BROKEN_PROGRAMS), "step names are unique"]
    assert [law.name for law in PROGRAM_LAWS] == named


def test_cycles_are_named() -> None:
    first = node("Sin", x())
    second = node("Cos", first)
    first.operands = (second,)
    with pytest.raises(CycleError, match=r"(Cos|Sin) .* needs (Cos|Sin) .* needs"):
        check(second)
    first.operands = ()  # so that nothing else runs into the circle


# ---------------------------------------------------------------- what is sound


def test_messages_name_the_line_and_the_pass() -> None:
    made = sine(x())
    assert made.where is not None
    broken = node("Sum", made, axes=(3,))
    line = f"test_check.py:{broken.where.line}"  # type: ignore[union-attr]
    with pytest.raises(CheckError, match=f"^after a pass: the law .* made at {line}: "):
        checked("a pass", [broken])
    assert describe(made).startswith("Sin of float64[n], made at test_check.py:")


def test_sound_graphs_pass() -> None:
    check(BOTH)
    check([BOTH, None, SINE])
    check(Graph((A, C), (BOTH, SIZE), {sp.Gt(N, 2, evaluate=False): True}))
    check(schedule((A,), (BOTH, SINE, A)))
    check(schedule((), (Literal(1.0, F8),)))


def test_guarded_shapes_pass() -> None:
    """A size that a guard holds equal to another is not written the same way."""
    sizes = sg.compile(lambda a, b: a[::2] + b[: a.shape[0] - 2])
    check(sizes.program(np.ones(4), np.ones(9)))


def first_case(record: Composite) -> tuple[Callable[..., Any], list[Any]] | None:
    """A composite's first sample as a function of the arrays in it."""
    for sample in samples_of(record, np.random.default_rng(7)):
        function, arrays = of_arrays(record.function, sample)
        if arrays:
            return function, arrays
    return None


CASES = {name: first_case(c) for name, c in registry.composites.items() if c.functions}


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case])
@pytest.mark.quick(3)
def test_all_passes_keep_the_law(name: str) -> None:
    """From tracing to legalising, on the samples of the registry."""
    case = CASES[name]
    assert case is not None
    function, arrays = case
    real = tuple(k for k, a in enumerate(arrays) if a.dtype.kind == "f")

    def loss(*arrays: Any) -> Any:
        return sum(np.sum(part * part * 1.0) for part in flatten(function(*arrays))[0])

    made = [sg.compile(function)]
    if registry.composites[name].differentiable and real:
        gradient = sg.grad(loss, argnums=real[0])
        made += [gradient, sg.grad(lambda *xs: np.sum(gradient(*xs)), argnums=real[0])]
    for each in made:
        program = each.program(*arrays)
        check(program)
        check(legalize(program.outputs))
        check(sg.vmap(each).program(*(np.stack([a, a]) for a in arrays)))


# ---------------------------------------------------------------- the switch


def test_the_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = [node("Sin", x(), shape=(4,))]
    for off in ("", "0"):
        monkeypatch.setenv("SYMGRAD_CHECK", off)
        assert checked("a pass", broken) is broken
    monkeypatch.setenv("SYMGRAD_CHECK", "1")
    with pytest.raises(CheckError, match="after a pass"):
        checked("a pass", broken)


def test_a_broken_rule_is_caught_where_it_is_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    """A derivative rule that gives a wrong type shows up after the pass, not in a kernel."""
    monkeypatch.setenv("SYMGRAD_CHECK", "1")
    bad = node("Multiply", x(()), x((), F4), shape=())

    def rule(node: Node, *_: Any) -> Node:
        return bad

    wrong = Simplifier([Rule("nonsense", ("Cosh",), rule)])
    monkeypatch.setattr(_rewrite, "_ALL", wrong)
    with pytest.raises(CheckError, match=r"after rewrite: .* 'map operands have the types"):
        sg.compile(np.cosh).program(1.0)
