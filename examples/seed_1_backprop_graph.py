"""Backpropagation on a graph: out = sum(sin(a) + cos(a)), with every gradient along the way.

Run with a folder to save the pictures there: python seed_1_backprop_graph.py pictures
"""

import inspect
import math
import sys
from pathlib import Path

import numpy as np

import symgrad as sg
import symgrad.torch as torch

# ---------------------------------------------------------------- the graph

a = torch.linspace(0.0, 2.0 * math.pi, steps=25, requires_grad=True)  # a leaf
b = torch.sin(a)
b.retain_grad()  # gradients of tensors that are no leaves are not kept by default
c = torch.cos(a)
c.retain_grad()
d = b + c
d.retain_grad()
out = d.sum()  # the root
out.retain_grad()

assert a.grad_fn is None
assert b.grad_fn.name() == "SinBackward0"
assert [k.__name__ for k in inspect.getmro(type(b.grad_fn))][-1] == "object"
assert c.grad_fn.name() == "CosBackward0"
assert d.grad_fn.name() == "AddBackward0"
assert out.grad_fn.name() == "SumBackward0"
assert out.grad_fn.next_functions == ((d.grad_fn, 0),)  # only a single parent
assert d.grad_fn.next_functions == ((b.grad_fn, 0), (c.grad_fn, 0))  # two parents
((accumulate, _),) = d.grad_fn.next_functions[1][0].next_functions  # the right parent's
assert accumulate.name() == "AccumulateGrad"
assert accumulate.next_functions == ()

print("backward order, level by level")
print(sg.backward_order(out))

# ---------------------------------------------------------------- backward

out.backward(retain_graph=True)

x = a.detach().numpy()
expected = np.cos(x) - np.sin(x)  # da of sum(sin a + cos a)
for tensor in (b, c, d):
    assert np.array_equal(tensor.grad, np.ones(25))
assert out.grad.item() == 1.0
np.testing.assert_allclose(a.grad, expected, rtol=1e-15, atol=1e-15)
gradient_of_a = a.grad.clone()

# ---------------------------------------------------------------- from an intermediate tensor

for tensor in (a, b, c, d, out):
    tensor.grad.zero_()
d.backward(gradient=torch.ones(25))
assert np.array_equal(a.grad, gradient_of_a)  # the same result
assert np.array_equal(b.grad, np.ones(25))
assert out.grad.item() == 0.0  # this time nothing went through out

print("a.grad =", a.grad)
print("out.grad =", out.grad)


# ---------------------------------------------------------------- a toy backward(), by hand


def toy_backward(root):
    """Depth-first postorder, as in textbooks: recursive, and blind to cycles.

    ``Tensor.backward`` uses Kahn's algorithm: it needs no recursion, each round of ready
    nodes could run in parallel, and a cycle is an error that names it.
    """
    order, seen = [], set()

    def visit(node):
        if node in seen:
            return
        seen.add(node)
        for behind, _ in node.next_functions:
            if behind is not None:
                visit(behind)
        order.append(node)

    visit(root)
    gradients = {root: torch.tensor(1.0)}
    for node in reversed(order):
        parts = node(gradients[node])
        parts = parts if isinstance(parts, tuple) else (parts,)
        for (behind, _), part in zip(node.next_functions, parts, strict=False):
            if behind is not None and part is not None:
                gradients[behind] = gradients[behind] + part if behind in gradients else part
    return gradients


a.grad = None
toy_backward((torch.sin(a) + torch.cos(a)).sum().grad_fn)  # AccumulateGrad writes a.grad
assert np.array_equal(a.grad, gradient_of_a)

# ---------------------------------------------------------------- pictures

a.grad = None
for tensor in (b, c, d, out):
    tensor.grad = None
out = (torch.sin(a) + torch.cos(a)).sum()
folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
if folder is not None:
    folder.mkdir(parents=True, exist_ok=True)
    sg.draw(out, folder / "seed_1_backprop_graph.html")  # steps through the computation
    sg.draw(out, folder / "seed_1_backprop_graph.dot")
out.backward()

try:
    import matplotlib.pyplot as plt
except ImportError:  # optional: pip install 'symgrad[plot]'
    plt = None

if plt is not None:
    figure, (values, slopes) = plt.subplots(
        1, 2, figsize=(11, 4.6), sharex=True, sharey=True, layout="constrained"
    )
    for label, y, style in (
        ("b = sin(a)", np.sin(x), "o-"),
        ("c = cos(a)", np.cos(x), "s-"),
        ("d = b + c", np.sin(x) + np.cos(x), "^-"),
    ):
        values.plot(x, y, style, markersize=4, label=label)
    values.set(title="forward: values", xlabel="a")
    slopes.plot(x, np.sin(x), "o-", markersize=4, alpha=0.35, label="b = sin(a)")
    slopes.plot(x, np.ones(25), "s-", markersize=4, color="tab:purple", label="b.grad")
    slopes.plot(x, gradient_of_a.numpy(), "D", markersize=5, color="tab:red", label="a.grad")
    fine = np.linspace(0.0, 2.0 * math.pi, 400)
    slopes.plot(fine, np.cos(fine) - np.sin(fine), "k-", linewidth=1, label="cos(a) - sin(a)")
    slopes.set(title="backward: gradients of out = sum(d)", xlabel="a")
    for axes in (values, slopes):
        axes.axhline(0.0, color="0.8", linewidth=0.8, zorder=0)
        axes.set_xticks([0, math.pi / 2, math.pi, 3 * math.pi / 2, 2 * math.pi])
        axes.set_xticklabels(["0", "π/2", "π", "3π/2", "2π"])
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=4, frameon=False)
    if folder is not None:
        figure.savefig(folder / "seed_1_backprop_graph.png", dpi=120)
    plt.close(figure)
