"""A rule that is recorded and replayed builds the very nodes that it builds when it is run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

import symgrad as sg
from symgrad._graph import Input, Literal, Node
from symgrad._guards import Guarded
from symgrad._op import Map, Op, registry
from symgrad._recorded import Recordings
from symgrad._reverse import _on_nodes, _rule, differentiable
from symgrad._trace import Traced, as_node

FLOAT = np.dtype(float)
MAPS = [
    op for op in registry.ops.values()
    if isinstance(op, Map) and op.name not in ("Cast", "Ldexp") and differentiable(op)
    and op.taken is None
]  # fmt: skip


def operands(op: Map) -> Iterator[list[Node]]:
    """Yield inputs, and numbers in the place of one of them."""
    xs: list[Node] = [Input("x", (), FLOAT) for _ in range(op.arity)]
    yield xs
    for k, value in product(range(op.arity), (2.0, 3.0, 0.5, -1.0, 0.0)):
        if op.arity > 1:
            yield [*xs[:k], Literal(value, FLOAT), *xs[k + 1 :]]
    yield [xs[0]] * op.arity


@pytest.mark.parametrize("op", MAPS, ids=lambda op: op.name)
@pytest.mark.quick
def test_replayed_rules_build_what_rules_build(op: Op) -> None:
    recordings, ct = Recordings(_on_nodes), Guarded(Input("ct", (), FLOAT))
    for xs in operands(op):
        node = as_node(op(*map(Traced, xs)))
        variables = [x for x in dict.fromkeys(xs) if isinstance(x, Input)]
        for wanted in product((False, True), repeat=len(variables)):
            active = {x for x, w in zip(variables, wanted, strict=True) if w}
            want = _rule(node, ct, active)
            recordings.pulled(node, ct, active)  # from the second on it is recorded
            for _ in range(2):
                assert recordings.pulled(node, ct, active) == want  # nodes are interned


def test_most_rules_are_recorded() -> None:
    recordings, ct = Recordings(_on_nodes), Guarded(Input("ct", (), FLOAT))
    for op in MAPS:
        xs: list[Node] = [Input("x", (), FLOAT) for _ in range(op.arity)]
        node = as_node(op(*map(Traced, xs)))
        for _ in range(2):
            recordings.pulled(node, ct, set(xs))
    recorded = {key[0] for key, found in recordings.known.items() if found is not None}
    assert {registry.ops[name] for name in ("Add", "Multiply", "Divide", "Sin", "Erf")} <= recorded
    assert len(recorded) > 0.9 * len(MAPS)


def test_recordings_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symgrad._recorded.MOST", 10)
    recordings, ct = Recordings(_on_nodes), Guarded(Input("ct", (), FLOAT))
    x = Input("x", (), FLOAT)
    for k in range(100):
        node = as_node(Traced(x) * (k + 0.5))
        for _ in range(3):
            found = recordings.pulled(node, ct, {x})
        assert found == _rule(node, ct, {x})
        assert len(recordings.known) <= 10


def test_other_types_and_guards_run_the_rule() -> None:
    recordings = Recordings(_on_nodes)
    x, single = Input("x", (), FLOAT), Input("s", (), np.dtype("f4"))
    node = as_node(Traced(x) * Traced(x))
    for _ in range(3):
        assert recordings.pulled(node, Guarded(single), {x}) is None
    guard = ((as_node(Traced(x) > 0.0), True),)
    node = as_node(np.sin(Traced(x)))
    for _ in range(3):
        assert recordings.pulled(node, Guarded(x, guard, False), {x}) is None


@pytest.mark.slow
def test_gradients_of_long_programs() -> None:
    def f(x: np.ndarray) -> float:
        y = x[0]
        for k in range(300):
            y = np.sin(y) * x[k % 3] + 0.5 / (1.0 + y * y)
        return y

    x, h = np.array([0.3, 0.7, 0.9]), 1e-6
    slopes = [(f(x + d) - f(x - d)) / (2 * h) for d in h * np.eye(3)]
    np.testing.assert_allclose(sg.grad(f)(x), slopes, rtol=1e-7)
