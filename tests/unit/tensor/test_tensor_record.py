"""What an eager op notes for the way back: little, at once, and the rest when it is asked for."""

from __future__ import annotations

import gc
import inspect
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
import symgrad.torch as torch
from symgrad._core.op import Evidence, Op, registry
from symgrad._core.transforms.support import differentiable
from symgrad._tensor import _shortcuts
from symgrad._tensor._record import plans
from symgrad.errors import BackwardError


def leaf(data: Any) -> Any:
    return sg.tensor(data, requires_grad=True)


ONE_CALL: dict[str, Callable[[Any, Any], Any]] = {
    "x * y": lambda x, y: x * y,
    "x + y": lambda x, y: x + y,
    "x - 1": lambda x, y: x - 1,
    "x**2": lambda x, y: x**2,
    "-x": lambda x, y: -x,
    "abs(x)": lambda x, y: abs(x),
    "torch.sin(x)": lambda x, y: torch.sin(x),
    "x.exp()": lambda x, y: x.exp(),
}


def _calls(function: Callable[[Any, Any], Any], x: Any, y: Any) -> list[str]:
    """Return the names of the Python functions that are entered, but for ``function``."""
    seen: list[str] = []

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            seen.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        function(x, y)
    finally:
        sys.setprofile(None)
    return seen[1:]


@pytest.mark.parametrize("function", ONE_CALL.values(), ids=ONE_CALL.keys())
def test_an_op_is_few_python_calls(function: Any) -> None:
    # A call between Python functions takes a fifth of the arithmetic on a small array.
    x, y = leaf([0.5, 1.0]), leaf([2.0, 3.0])
    function(x, y)  # rules are made once
    assert len(_calls(function, x, y)) <= 8
    assert len(_calls(function, x.detach(), y.detach())) <= 5


@pytest.mark.parametrize("function", ONE_CALL.values(), ids=ONE_CALL.keys())
def test_an_op_makes_few_objects(function: Any) -> None:
    """The tensor, its node, and two tuples: what is behind, and what the rule reads."""
    x, y = leaf([0.5, 1.0]), leaf([2.0, 3.0])
    function(x, y)
    enabled = gc.isenabled()
    gc.disable()
    try:
        before = gc.get_count()[0]
        made = [function(x, y) for _ in range(50)]
        count = gc.get_count()[0] - before
    finally:
        if enabled:
            gc.enable()
    assert len(made) == 50
    assert count <= 6 * 50 + 10  # and a pair of shape and type for each operand not read


@pytest.mark.parametrize(
    "op",
    [op for op in registry.ops.values() if op.kind == "map" and op.functions and op.arity < 3],
    ids=lambda op: op.name,
)
@pytest.mark.quick
def test_what_has_a_derivative_makes_floats_of_floats(op: Op) -> None:
    """So results need not be looked at before they are recorded."""
    if op.name == "Ldexp":
        pytest.skip("its second operand is an integer")
    if differentiable(op):
        low = [pair[0] for pair in Evidence.of(op).samples]
        assert np.asarray(op.evaluate(*(np.full(3, float(x)) for x in low))).dtype == np.float64


# ---------------------------------------------------------------- leaves


def test_a_leaf_has_one_node() -> None:
    x = leaf([1.0, 2.0])
    y = x * x
    (first, _), (second, _) = y.grad_fn.next_functions
    assert first is second
    assert first is torch.sin(x).grad_fn.next_functions[0][0]
    assert first.variable is x
    assert first.next_functions == ()


def test_hooks_of_leaves_last_as_long_as_the_leaf() -> None:
    x = leaf(2.0)
    x.register_hook(lambda g: 100 * g)  # before any op, and the handle is thrown away
    for k in (1, 2):
        (x * x).backward()
        assert x.grad.item() == 400.0 * k


def test_a_removed_hook_leaves_no_cycle() -> None:
    x = leaf(np.ones(1000))
    handle = x.register_hook(lambda g: None)
    (x * x).sum().backward()
    handle.remove()
    reference = weakref.ref(x)
    enabled = gc.isenabled()
    gc.disable()
    try:
        del x, handle
        assert reference() is None
    finally:
        if enabled:
            gc.enable()


def test_a_leaf_that_stops_requiring_still_gets_what_was_recorded() -> None:
    x = leaf(3.0)
    y = x * x
    x.requires_grad = False
    y.backward()
    assert x.grad.item() == 6.0


def test_leaves_come_in_the_order_of_the_walk() -> None:
    """Two runs of one program send gradients in one order."""

    def order() -> list[str]:
        seen: list[str] = []
        leaves = {name: leaf(2.0) for name in "abc"}
        for name, x in leaves.items():
            x.register_hook(lambda g, name=name: seen.append(name))
        (leaves["a"] * leaves["b"] + leaves["c"] * leaves["b"]).backward()
        return seen

    first = order()
    assert sorted(first) == ["a", "b", "c"]
    assert order() == first


# ---------------------------------------------------------------- lines


def _here() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def test_every_way_to_an_op_notes_the_line() -> None:
    x = leaf([1.0, 2.0])
    made, here = [x * x, 2.0 - x, torch.sin(x), np.sin(x), x.cos(), x.sum(), x[0], x @ x], _here()
    for result in made:
        where = result.grad_fn.where
        assert (where.line, where.function) == (here, "test_every_way_to_an_op_notes_the_line")
        assert where.filename == __file__


# ---------------------------------------------------------------- writes


@pytest.mark.parametrize("function", [torch.exp, torch.sqrt, lambda x: 1.0 / x])
@pytest.mark.parametrize(
    "write",
    [
        lambda y: y.add_(1.0),
        lambda y: y.detach().add_(1.0),
        lambda y: y.data.zero_(),
        lambda y: y.reshape(2, 1).detach().zero_(),
        lambda y: y.__setitem__(0, 5.0),
    ],
)
def test_a_result_that_a_rule_reads_is_dated_by_its_first_write(function: Any, write: Any) -> None:
    x = leaf([1.0, 2.0])
    y = function(x)
    z = y * 1.0
    write(y)
    with pytest.raises(BackwardError, match="modified by an inplace operation"):
        z.sum().backward()
    assert x.grad is None


# ---------------------------------------------------------------- what is known of calls


SINGLE: dict[str, Callable[[Any], Any]] = {
    "sum over axes": lambda x: np.sum(x, axis=(0, 1)),
    "product": lambda x: x.prod(),
    "product along an axis": lambda x: torch.prod(x, dim=-1),
    "cumsum": lambda x: np.cumsum(x, axis=0),
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "moveaxis": lambda x: np.moveaxis(x, 0, 1),
    "ravel": np.ravel,
}


@pytest.mark.parametrize("function", SINGLE.values(), ids=SINGLE.keys())
def test_calls_that_are_one_op_are_known_the_second_time(function: Any) -> None:
    values = np.arange(9.0).reshape(3, 3) / 7
    plans.clear()
    results, gradients = [], []
    for _ in range(3):
        x = leaf(values)
        y = function(x)
        (y * y).sum().backward()
        results.append(y)
        gradients.append(x.grad)
    assert len(plans) >= 1
    for y, gradient in zip(results[1:], gradients[1:], strict=True):
        assert y.grad_fn.name() == results[0].grad_fn.name()
        assert np.array_equal(y.detach(), results[0].detach())
        assert np.array_equal(gradient, gradients[0])
    calls = _calls(lambda x, _: function(x), leaf(values), None)
    assert "call" not in calls  # not by way of NumPy's arguments
    other = leaf(np.arange(16.0).reshape(4, 4))
    assert function(other).shape == function(other.detach().numpy()).shape


def test_known_calls_depend_on_shapes_types_and_arguments() -> None:
    x = leaf(np.arange(6.0).reshape(2, 3))
    assert [x.sum(axis=k).shape for k in (0, 1, 0)] == [(3,), (2,), (3,)]
    assert [x[k].shape for k in (0, slice(0, 1), (slice(None), 1))] == [(3,), (1, 3), (2,)]
    assert x.sum(axis=1).dtype == np.float64
    assert leaf(x.detach().numpy().astype("f4")).sum(axis=1).dtype == np.float32
    for wrong in (lambda: x.reshape(4), lambda: x[5], lambda: x.sum(axis=7), lambda: x @ x):
        for _ in range(2):
            with pytest.raises((ValueError, IndexError)):
                wrong()


def test_indices_are_read_each_time() -> None:
    x = leaf(np.arange(6.0))
    for k in range(3):
        place = sg.tensor(k)
        assert x[place].item() == k
        assert np.take(x, sg.tensor([k, 0])).tolist() == [k, 0]
        assert x[sg.tensor([k == j for j in range(6)])].tolist() == [k]
    with pytest.raises(IndexError):
        x[sg.tensor(7)]


def test_mean_is_one_step() -> None:
    x = leaf(np.arange(6.0).reshape(2, 3))
    for options in ({}, {"axis": 0}, {"dim": 1, "keepdim": True}):
        y = x.mean(**options)
        assert y.grad_fn.name() == "MeanBackward0"
        assert [node.name() for node, _ in y.grad_fn.next_functions] == ["AccumulateGrad"]
    assert np.array_equal(x.mean(axis=0).detach(), np.mean(x.detach().numpy(), axis=0))
    assert torch.mean(sg.tensor([1, 2])).item() == 1.5
    with pytest.warns(RuntimeWarning):
        assert np.isnan(torch.zeros(0).mean().item())


OTHERS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda t: t,
    "a view": lambda t: t.reshape(1, 2)[0],
    "its elements": lambda t: t.detach(),
    "a part": lambda t: t[1:],
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS.keys())
@pytest.mark.parametrize("name", ["add", "mul", "div", "pow"])
def test_writing_what_the_memory_itself_gives(name: str, other: Any) -> None:
    """``t *= t`` reads the old elements, forward and back."""

    def written(x: Any) -> Any:
        t = x * 1.0
        return getattr(t, f"{name}_")(other(t))

    def new(x: Any) -> Any:
        t = x * 1.0
        return getattr(torch, name)(t, other(t))

    x, y = leaf([3.0, 1.5]), leaf([3.0, 1.5])
    written(x).sum().backward()
    new(y).sum().backward()
    assert np.array_equal(written(x).detach(), new(y).detach())
    assert np.array_equal(x.grad, y.grad)


STALE: dict[str, Callable[[Any], Any]] = {
    "read": lambda v: v * 2,
    "read by NumPy": lambda v: np.sum(v),
    "written": lambda v: v.add_(1.0),
    "assigned to": lambda v: v.__setitem__(0, 1.0),
    "gone back from": lambda v: v.backward(torch.ones(2)),
    "hooked": lambda v: v.register_hook(print),
    "differentiated": lambda v: torch.autograd.grad(v.sum(), v),
}


@pytest.mark.parametrize("use", STALE.values(), ids=STALE.keys())
def test_a_view_whose_record_is_no_longer_right_is_refused(use: Any) -> None:
    x, y = leaf([1.0, 2.0]), leaf(3.0)
    t = x * 1.0
    view = t.reshape(2, 1)[:, 0]
    t[0] = y  # the view has this element too, and not its record
    with pytest.raises(BackwardError, match="Take the view again"):
        use(view)
    again = t.reshape(2, 1)[:, 0]
    (again * again).sum().backward()
    assert (x.grad.tolist(), y.grad.item()) == ([0.0, 4.0], 6.0)


def test_detached_elements_have_no_record_to_be_wrong() -> None:
    x = leaf([1.0, 2.0])
    t = x * 1.0
    plain = t.detach()
    part = plain[:1]
    t.mul_(3.0)
    assert (plain * 2).tolist() == [6.0, 12.0]
    assert (part + 1).tolist() == [4.0]
    assert t.data.sum().item() == 9.0
    z = torch.exp(t)
    z.detach().zero_()  # seen by the record of z
    with pytest.raises(BackwardError, match="modified by an inplace operation"):
        z.sum().backward()


def test_only_roots_and_powers_of_roots_are_looked_at_as_formulas(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A square is in every loss; to look behind it for a formula took five times its backward."""
    looked: list[str] = []

    class Looked(_shortcuts._Local):
        def __init__(self, node: Any, barred: Any) -> None:
            looked.append(node.op.name)
            super().__init__(node, barred)

    monkeypatch.setattr(_shortcuts, "_Local", Looked)
    x = torch.tensor(np.array([0.0, 3.0, 4.0]), requires_grad=True)
    for power in (x**2, x**1.5, (x * x) ** 2, (x + 1.0) ** 3, ((2.0 * x - 1.0) ** 2).mean()):
        power.backward(torch.ones(*power.shape))
    assert not looked
    for root in ((x * x).sum() ** 0.5, (x * x).sum() ** 0.75, torch.sqrt(x) ** 2):
        looked.clear()
        root.backward(torch.ones(*root.shape))
        assert looked == ["Power"]
    x.grad = None
    (torch.sqrt(x) ** 2).sum().backward()
    np.testing.assert_array_equal(x.grad, np.ones(3))
