"""Programs of NumPy's functions alone, for ``test_late.py``: run in processes of their own."""

import sys

import numpy as np

import symgrad as sg

X = np.linspace(0.1, 0.9, 8)
W = np.linspace(-1.0, 1.0, 15).reshape(5, 3)
DATA = np.sin(np.arange(100.0)).reshape(20, 5)


def chain(x):
    y = x[0]
    for k in range(40):
        y = np.sin(y) * x[k % 8] - np.exp(-y) + x[(k + 3) % 8] * y
    return y


def pieces(x):
    return np.sum(np.where(x > 0.2, np.logaddexp(x, np.power(x, 2.5)), np.tanh(x)))


def maps(x):
    functions = (np.arctan, np.expm1, np.exp2, np.log1p, np.log2, np.sqrt, np.cbrt, np.cosh)
    return sum(np.sum(f(x)) for f in functions) + np.sum(np.hypot(x, 2.0) + np.arctan2(x, 3.0))


def network(w, x):
    h = x @ w
    e = np.exp(h - np.max(h, axis=1, keepdims=True))
    return -np.sum(np.log(e / np.sum(e, axis=1, keepdims=True))[:, 0])


def probability(x):
    """Say with exp what rewriting knows by other names."""
    p = 1.0 / (1.0 + np.exp(-x))
    return np.sum(np.log(p) + np.log(1.0 - p) + np.log(1.0 + np.exp(x)))


def single(x):
    return np.sum(np.logaddexp(x.astype(np.float32), np.float32(0.5)))


CALLS = [
    (sg.value_and_grad(chain), (X,)),
    (sg.value_and_grad(pieces), (X,)),
    (sg.hessian(pieces), (X,)),
    (sg.value_and_grad(maps), (X,)),
    (sg.grad(network), (W, DATA)),
    (sg.value_and_grad(probability), (X,)),
    (sg.compile(single), (X,)),
]


def use_all():
    for function, arguments in CALLS:
        function(*arguments)
    with sg.backend("numpy"):
        sg.grad(chain)(X)
    print(str(sg.grad(pieces).program(X)), file=sys.stderr)


def fingerprints():
    return [function.program(*arguments).fingerprint for function, arguments in CALLS]
