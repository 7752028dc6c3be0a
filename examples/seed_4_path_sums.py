"""The derivative as a sum over paths: two ways from L to w1, and -8 with the given numbers.

Run with a folder to save pictures there: python seed_4_path_sums.py pictures
"""

import sys
from pathlib import Path

import sympy as sp

import symgrad as sg
import symgrad.torch as torch

x1, x2 = torch.tensor(1.0, name="x1"), torch.tensor(2.0, name="x2")
w1 = torch.tensor(1.0, requires_grad=True, name="w1")
w2 = torch.tensor(2.0, requires_grad=True, name="w2")
w3 = torch.tensor(3.0, requires_grad=True, name="w3")

x3 = w1 * x1
x4 = w1 * x2
x5 = w2 * x3 + w3 * x4
L = 1 - x5
assert x5.grad_fn.name() == "AddBackward0"
assert w1.grad_fn is None

# ---------------------------------------------------------------- path by path

found = sg.paths(L, w1)
print("dL/dw1 as a sum over paths:")
print(found)

X1, X2, W1, W2, W3 = sp.symbols("x1 x2 w1 w2 w3", real=True)
assert found.count == 2
assert [path.edges for path in found] == [(-1, 1, W2, X1), (-1, 1, W3, X2)]
assert [path.product for path in found] == [-W2 * X1, -W3 * X2]
assert found.total == -W2 * X1 - W3 * X2
assert found.value == -8.0
assert found.agrees  # with the derivative of the expanded formula

# ---------------------------------------------------------------- three other ways

program = L.program(w1=w1, w2=w2, w3=w3, x1=x1, x2=x2)
f = L.as_function(w1=w1, w2=w2, w3=w3, x1=x1, x2=x2)
picture = sg.draw(L)  # nodes with values, edges with local derivatives
for text in ("<B>x5</B> = ", "x1 = 1", "w3 = 3", "gradient -8"):
    assert text in picture.dot
if len(sys.argv) > 1:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    picture.save(folder / "seed_4_path_sums.dot")
    picture.save(folder / "seed_4_path_sums.html")
L.backward()
assert w1.grad.item() == -8.0
assert (w2.grad.item(), w3.grad.item()) == (-1.0, -2.0)  # -w1*x1, -w1*x2
assert sp.diff(program.outputs[0].as_sympy(), W1) == found.total
numbers = (1.0, 2.0, 3.0, 1.0, 2.0)
with sg.backend("numpy"):
    assert sg.grad(f)(*numbers) == -8.0
print()
print(program)

# ---------------------------------------------------------------- more paths than can be listed

y = w1
for _ in range(100):
    y = y / 2 + y / 2
many = sg.paths(y, w1)
print()
print(f"a chain of 100 forks has {many.count} paths")
assert many.count == 2**100
try:
    list(many)
except TypeError as error:
    print("listing them:", error)
else:
    raise AssertionError("2**100 paths were listed")
assert many.total == 1  # the sum needs no list
