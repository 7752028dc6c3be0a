"""Walking back by hand: z = ((x * 2) + 2) / 5, one grad_fn after the other, to 0.4.

Run with a folder to save pictures there: python seed_3_grad_fn_walk.py pictures
"""

import sys
from pathlib import Path

import sympy as sp

import symgrad as sg
import symgrad.torch as torch

x = torch.tensor(1.0, requires_grad=True)
z0 = x * 2
z1 = z0 + 2
z2 = z1 / 5
assert repr(z2) == "tensor(0.8000, grad_fn=<DivBackward0>)"

# ---------------------------------------------------------------- the chain of functions

assert z2.grad_fn.name() == "DivBackward0"
assert z2.grad_fn.next_functions[0][0].name() == "AddBackward0"
assert z2.grad_fn.next_functions[0][0].next_functions[0][0].name() == "MulBackward0"
last = z2.grad_fn.next_functions[0][0].next_functions[0][0].next_functions[0][0]
assert last.name() == "AccumulateGrad"
assert last.next_functions == ()

# ---------------------------------------------------------------- one local derivative each

input_grad = torch.tensor(1.0)
assert str(z2.grad_fn(input_grad)[0]) == "tensor(0.2000)"
assert str(z1.grad_fn(input_grad)[0]) == "tensor(1.)"
assert str(z0.grad_fn(input_grad)[0]) == "tensor(2.)"
assert str(z0.grad_fn(z1.grad_fn(z2.grad_fn(input_grad)[0])[0])[0]) == "tensor(0.4000)"

# ---------------------------------------------------------------- the general walk

grad_fn = z2.grad_fn
grad = torch.tensor(1.0)
seen = []
while True:
    print("before applying grad_fn:", grad)
    print("grad_fn:", grad_fn)
    seen.append(str(grad))
    grad = grad_fn(grad)
    if len(grad) > 0:
        grad = grad[0]
    else:
        break
    print("after applying grad_fn:", grad)
    print()
    grad_fn = grad_fn.next_functions[0][0]
assert seen == ["tensor(1.)", "tensor(0.2000)", "tensor(0.2000)", "tensor(0.4000)"]

# ---------------------------------------------------------------- expand and compare

x = torch.tensor(1.0, requires_grad=True, name="x")
z = ((x + 2) * 2) / 5
steps = sg.paths(z, x)
print()
print("the chain rule, step by step:")
print(steps)
print("the expanded expression:     ", steps.expanded)
print("its derivative in one step:  ", sp.Rational(2, 5), "=", steps.derivative)
assert sp.nsimplify(steps.expanded) == 2 * sp.Symbol("x", real=True) / 5 + sp.Rational(4, 5)
assert steps.agrees
assert steps.value == 0.4

picture = sg.draw(z)  # the text's three figures in one: forward, local derivatives, backward
assert "gradient 0.4" in picture.dot
if len(sys.argv) > 1:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    picture.save(folder / "seed_3_grad_fn_walk.dot")
    picture.save(folder / "seed_3_grad_fn_walk.html")

z.backward()
assert x.grad.item() == 0.4
