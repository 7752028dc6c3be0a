"""A user's module, as type checkers see it."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import symgrad as sg
import symgrad.torch as torch

Array = NDArray[np.float64]


def loss(w: Array, rate: float = 0.1) -> float:
    return float(np.sum(w**2)) * rate


def plain(x, y):  # type: ignore[no-untyped-def]
    return x * y


x: Array = np.ones(3)

# What a derivative takes is what the function takes, by the same names.
assert_type(sg.grad(loss)(x), Array)
assert_type(sg.grad(loss)(w=x, rate=2.0), Array)
assert_type(sg.grad(loss)(x, out=x), Array)
sg.grad(loss)("text")  # wrong
sg.grad(loss)(x, 1.0, 2.0)  # wrong
sg.grad(loss)(x, speed=2.0)  # wrong
sg.grad(loss, argnums="rate")(x, speed=2.0)  # wrong
sg.grad(3)  # wrong
assert_type(sg.grad(loss, argnums=1)(x), Any)
assert_type(sg.grad(loss, argnames="rate")(x), Any)
assert_type(sg.grad(loss, has_aux=True)(x), Any)
assert_type(sg.value_and_grad(loss)(x), tuple[float, Array])
sg.grad(sg.grad(loss))(x, rate=1.0)
sg.grad(sg.grad(loss))(x, speed=1.0)  # wrong
assert_type(sg.grad(plain)(1.0, 2.0), Any)
assert_type(sg.grad(np.sin)(x), Any)
assert_type(sg.grad(lambda v: np.sum(v**2))(x), Any)

# Compiled functions are called as the functions.
assert_type(sg.compile(loss)(x, rate=2.0), float)
sg.compile(loss)(x, rate="fast")  # wrong
sg.compile(loss).kernel(x)
assert_type(sg.compile(np.sin)(x), Any)


@sg.compile(control_flow=True)
def scaled(x: Array, n: int) -> Array:
    return x * n


assert_type(scaled(x, 2), Array)
scaled(x)  # wrong


class Model:
    rate = 2.0

    @sg.compile
    def energy(self, x: float) -> float:
        return self.rate * x**2

    def value(self, x: float) -> float:
        return self.rate * x**2


assert_type(sg.grad(Model().value)(2.0), float)
Model().energy(2.0)


def ray(t: float, origin: Array) -> Array:
    return origin + t


# Derivatives of arrays.
assert_type(sg.jacobian(loss)(x, rate=1.0), Array)
assert_type(sg.jacobian(ray)(2.0, x), Array)
assert_type(sg.jacobian(ray, argnums=1)(2.0, x), Any)
sg.jacobian(lambda v: v**2)(x)
sg.jacobian(plain)(1.0, 2.0)
assert_type(sg.hessian(loss)(x, rate=1.0), Array)
sg.hessian(loss)("text")  # wrong
sg.hessian(loss)(x, speed=1.0)  # wrong
assert_type(sg.hessian(loss, argnames="rate")(x), Any)
assert_type(sg.vmap(ray, in_axes=(0, None))(x, x), Array)
assert_type(sg.vmap(loss)(x), Array)
sg.vmap(plain)(x, x)
assert_type(sg.vmap(np.sin)(x), Any)
sg.vmap(sg.jacobian(ray, sparse=True)).values(x, x)
sg.vmap(ray, axes=0)  # wrong
sg.jacobian(loss)(x, rate=1.0)
sg.jacobian(loss)(speed=1.0)  # wrong
sg.jacobian(np.sin)(x)
sg.jacobian(loss, sparse=True).values(x)
sg.hessian(loss, sparse=True, triangle="lower").pattern(x)
sg.hessian(loss)(x)
sg.vmap(sg.grad(Model().value))(x)
assert_type(sg.jvp(loss, (x,), (x,)), tuple[float, float])
value, pullback = sg.vjp(loss, x)
assert_type(value, float)
pullback(1.0)
sg.hvp(loss, (x,), (x,))
assert_type(sg.checkpoint(loss)(x, rate=1.0), float)
assert_type(sg.adapt(loss)(x, rate=1.0), float)


@sg.custom_vjp
def clipped(x: float) -> float:
    return x


clipped.defvjp(lambda x: (x, None), lambda _, ct: (np.clip(ct, -1.0, 1.0),))
assert_type(clipped(2.0), float)

# Tensors.
t = sg.tensor([1.0, 2.0], requires_grad=True)
assert_type(t * 2, sg.Tensor)
assert_type(2 * t, sg.Tensor)
torch.sin(t).sum().backward()
np.sin(t)
