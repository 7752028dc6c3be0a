"""The numbers printed in four texts on PyTorch's autograd.

The code is the texts' own with ``import symgrad.torch as torch``; the scripts in ``examples/`` go
through the same texts at more length.
"""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import sympy as sp

import symgrad as sg
import symgrad.torch as torch
from symgrad.torch.autograd import Variable


def test_text_1_gradients_along_a_graph() -> None:
    a = torch.linspace(0.0, 2.0 * math.pi, steps=25, requires_grad=True)
    b = torch.sin(a)
    b.retain_grad()
    c = torch.cos(a)
    c.retain_grad()
    d = b + c
    d.retain_grad()
    out = d.sum()
    out.retain_grad()
    assert a.grad_fn is None
    assert [t.grad_fn.name() for t in (b, c, d, out)] == [
        "SinBackward0", "CosBackward0", "AddBackward0", "SumBackward0",
    ]  # fmt: skip
    assert len(out.grad_fn.next_functions) == 1
    assert len(d.grad_fn.next_functions) == 2
    assert d.grad_fn.next_functions[1][0] is c.grad_fn
    assert (
        d.grad_fn.next_functions[0][0].next_functions[0][0]
        is (d.grad_fn.next_functions[1][0].next_functions[0][0])
    )  # one AccumulateGrad for the leaf

    out.backward(retain_graph=True)
    x = np.linspace(0, 2 * np.pi, 25)
    first = a.grad.clone()
    np.testing.assert_array_equal(first, np.cos(x) + -np.sin(x))
    for t in (b, c, d):
        np.testing.assert_array_equal(t.grad, np.ones(25))
    assert str(out.grad) == "tensor(1.)"

    a.grad.zero_()
    b.grad.zero_()
    c.grad.zero_()
    d.grad.zero_()
    out.grad.zero_()
    d.backward(gradient=torch.ones(25))
    np.testing.assert_array_equal(a.grad, first)
    np.testing.assert_array_equal(b.grad, np.ones(25))
    np.testing.assert_array_equal(d.grad, np.ones(25))
    assert str(out.grad) == "tensor(0.)"


def test_text_2_what_tensors_know() -> None:
    x = torch.tensor(1.0, requires_grad=True)
    y = torch.tensor(2.0)
    z = x * y
    lines = [
        f"{name}\ndata: {i.data}\nrequires_grad: {i.requires_grad}\n"
        f"grad: {i.grad}\ngrad_fn: {i.grad_fn}\nis_leaf: {i.is_leaf}\n"
        for i, name in zip([x, y, z], "xyz", strict=True)
    ]
    assert lines[0] == (
        "x\ndata: 1.0\nrequires_grad: True\ngrad: None\ngrad_fn: None\nis_leaf: True\n"
    )
    assert lines[1] == (
        "y\ndata: 2.0\nrequires_grad: False\ngrad: None\ngrad_fn: None\nis_leaf: True\n"
    )
    assert re.sub(r"0x\w+", "0x", lines[2]) == (
        "z\ndata: 2.0\nrequires_grad: True\ngrad: None\n"
        "grad_fn: <MulBackward0 object at 0x>\nis_leaf: False\n"
    )


def test_text_2_weights() -> None:
    x = torch.tensor(1.0, requires_grad=True)
    z = x**3
    z.backward()
    assert str(x.grad.data) == "tensor(3.)"

    for weight, expected in (
        (torch.FloatTensor([1.0, 1.0]), "tensor([2., 4.])"),
        (None, "tensor([2., 8.])"),
    ):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x**2
        y.backward(x if weight is None else weight)
        assert str(x.grad) == expected


def test_text_2_accumulation() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x**2
    z = y**3
    w = torch.FloatTensor([1.0, 1.0])
    printed = []
    for _ in range(2):
        z.backward(w, retain_graph=True)
        printed += [str(y.grad), str(x.grad)]
    assert printed == ["None", "tensor([  6., 192.])", "None", "tensor([ 12., 384.])"]

    x = torch.tensor([2.0, 2.0], requires_grad=True)
    z = torch.tensor([4.0, 4.0], requires_grad=True)
    y = x**2 + z**3
    printed = []
    for _ in range(3):
        y.backward(w, retain_graph=True)
        printed += [str(x.grad), str(z.grad)]
    assert printed == [
        "tensor([4., 4.])", "tensor([48., 48.])", "tensor([8., 8.])", "tensor([96., 96.])",
        "tensor([12., 12.])", "tensor([144., 144.])",
    ]  # fmt: skip


def test_text_2_freed_buffers() -> None:
    x = torch.tensor([2.0, 2.0], requires_grad=True)
    z = torch.tensor([4.0, 4.0], requires_grad=True)
    y = x**2 + z**3
    w = torch.FloatTensor([1.0, 1.0])
    y.backward(w)
    for _ in range(2):
        with pytest.raises(
            RuntimeError,
            match=r"Trying to backward through the graph a second time .*, but the buffers have "
            r"already been freed\. Specify retain_graph=True when calling backward the first time",
        ):
            y.backward(w)
        assert (str(x.grad), str(z.grad)) == ("tensor([4., 4.])", "tensor([48., 48.])")


def test_text_2_element_by_element() -> None:
    x = Variable(torch.FloatTensor([[1, 2, 3, 4]]), requires_grad=True)
    z = 2 * x
    loss = z.sum(dim=1)
    printed = []
    for row in ([[1, 0, 0, 0]], [[0, 1, 0, 0]], [[1, 1, 1, 1]]):
        z.backward(torch.FloatTensor(row), retain_graph=True)
        printed.append(str(x.grad.data))
        x.grad.data.zero_()
    loss.backward()
    printed.append(str(x.grad.data))
    assert printed == [
        "tensor([[2., 0., 0., 0.]])", "tensor([[0., 2., 0., 0.]])",
        "tensor([[2., 2., 2., 2.]])", "tensor([[2., 2., 2., 2.]])",
    ]  # fmt: skip


def test_text_3_walk() -> None:
    x = torch.tensor(1.0, requires_grad=True)
    z0 = x * 2
    z1 = z0 + 2
    z2 = z1 / 5
    assert repr(z2) == "tensor(0.8000, grad_fn=<DivBackward0>)"
    add = z2.grad_fn.next_functions[0][0]
    mul = add.next_functions[0][0]
    last = mul.next_functions[0][0]
    assert [type(f).__name__ for f in (z2.grad_fn, add, mul, last)] == [
        "DivBackward0", "AddBackward0", "MulBackward0", "AccumulateGrad",
    ]  # fmt: skip
    assert last.next_functions == ()
    assert mul.next_functions[1] == (None, 0)  # the constant 2

    input_grad = torch.tensor(1.0)
    assert str(z2.grad_fn(input_grad)[0]) == "tensor(0.2000)"
    assert str(z1.grad_fn(input_grad)[0]) == "tensor(1.)"
    assert str(z0.grad_fn(input_grad)[0]) == "tensor(2.)"
    assert str(z0.grad_fn(z1.grad_fn(z2.grad_fn(input_grad)[0])[0])[0]) == "tensor(0.4000)"

    printed = []
    grad_fn = z2.grad_fn
    grad = torch.tensor(1.0)
    while True:
        printed += [f"before applying grad_fn: {grad!r}", f"grad_fn: {grad_fn}"]
        grad = grad_fn(grad)
        if len(grad) > 0:
            grad = grad[0]
        else:
            break
        printed.append(f"after applying grad_fn: {grad!r}")
        grad_fn = grad_fn.next_functions[0][0]
    assert re.sub(r"0x\w+", "0x", "\n".join(printed)) == (
        "before applying grad_fn: tensor(1.)\n"
        "grad_fn: <DivBackward0 object at 0x>\n"
        "after applying grad_fn: tensor(0.2000)\n"
        "before applying grad_fn: tensor(0.2000)\n"
        "grad_fn: <AddBackward0 object at 0x>\n"
        "after applying grad_fn: tensor(0.2000)\n"
        "before applying grad_fn: tensor(0.2000)\n"
        "grad_fn: <MulBackward0 object at 0x>\n"
        "after applying grad_fn: tensor(0.4000)\n"
        "before applying grad_fn: tensor(0.4000)\n"
        "grad_fn: <AccumulateGrad object at 0x>"
    )
    assert x.grad.item() == 0.4


def test_text_3_expand_and_compare() -> None:
    x = torch.tensor(1.0, requires_grad=True, name="x")
    steps = sg.paths(((x + 2) * 2) / 5, x)
    symbol = sp.Symbol("x", real=True)
    assert steps.expanded == sp.Rational(2, 5) * symbol + sp.Rational(4, 5)
    assert steps.derivative == steps.total == sp.Rational(2, 5)
    assert steps.agrees


def test_text_4_path_sums() -> None:
    x1, x2 = torch.tensor(1.0), torch.tensor(2.0)
    w1, w2, w3 = (torch.tensor(v, requires_grad=True) for v in (1.0, 2.0, 3.0))
    x3 = w1 * x1
    x4 = w1 * x2
    x5 = w2 * x3 + w3 * x4
    L = 1 - x5
    found = sg.paths(L, w1, w1=w1, w2=w2, w3=w3, x1=x1, x2=x2)
    X1, X2, W2, W3 = sp.symbols("x1 x2 w2 w3", real=True)
    assert [p.edges for p in found] == [(-1, 1, W2, X1), (-1, 1, W3, X2)]
    assert found.total == -W2 * X1 - W3 * X2
    assert found.value == -8.0
    assert found.agrees
    L.backward()
    assert w1.grad.item() == -8.0
