"""ADBench's network with memory, whose weights are diagonal: one scan over a sequence."""

from __future__ import annotations

from typing import Any

import numpy as np
from protocol import Function

import symgrad as sg


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def layer(weight: Any, bias: Any, hidden: Any, cell: Any, given: Any) -> Any:
    """Return the new hidden and cell states; weight and bias have a row for each gate."""
    forget = sigmoid(given * weight[0] + bias[0])
    ingate = sigmoid(hidden * weight[1] + bias[1])
    outgate = sigmoid(given * weight[2] + bias[2])
    change = np.tanh(hidden * weight[3] + bias[3])
    cell = cell * forget + ingate * change
    return outgate * np.tanh(cell), cell


def loss(main: Any, extra: Any, state: Any, sequence: Any) -> Any:
    """Return the mean negative log likelihood of each next row of the sequence.

    ``main`` has two rows a layer (weights, biases of the four gates), ``extra`` the weights of
    the input, the weights and the biases of the output, ``state`` two rows a layer.
    """
    width = extra.shape[1]
    gates = main.reshape(-1, 2, 4, width)
    layers = range(len(state) // 2)

    def step(states: Any, pair: Any) -> Any:
        given, wanted = pair
        given = given * extra[0]
        after = []
        for k in layers:
            hidden, cell = layer(gates[k, 0], gates[k, 1], *states[k], given)
            after.append((hidden, cell))
            given = hidden
        guess = given * extra[1] + extra[2]
        normal = np.log(2 + np.sum(np.exp(guess)))
        return tuple(after), np.sum(wanted * (guess - normal))

    first = tuple((state[2 * k], state[2 * k + 1]) for k in layers)
    _, likelihoods = sg.scan(step, first, (sequence[:-1], sequence[1:]))
    return -np.mean(likelihoods) / width


def read(given: Any) -> tuple[Any, ...]:
    names = ("main_params", "extra_params", "state", "sequence")
    return tuple(np.array(given[name], dtype=float) for name in names)


def write(gradients: Any) -> Any:
    return np.concatenate([part.ravel() for part in gradients]).tolist()


FUNCTIONS = {
    "objective": Function(read, sg.compile(loss)),
    "jacobian": Function(read, sg.grad(loss, argnums=(0, 1)), write),
}
