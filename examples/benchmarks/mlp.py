"""A layer of 256 units between 784 pixels and 10 classes: value and gradient of all weights.

python examples/benchmarks/mlp.py [--quick]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from harness import Aim, Case, Workload, main


def loss(np: Any, w1: Any, b1: Any, w2: Any, b2: Any, x: Any, labels: Any) -> Any:
    """The mean cross-entropy; labels as rows of zeros and a one."""
    hidden = np.tanh(x @ w1 + b1)
    scores = hidden @ w2 + b2
    logs = scores - np.logsumexp(scores, 1)[:, None]
    return -np.sum(labels * logs) / x.shape[0]


def arguments(case: Case) -> tuple[Any, ...]:
    """Small random weights."""
    batch, pixels, units, classes = case.shape
    rng = np.random.default_rng(1)
    return (
        rng.normal(size=(pixels, units)) / np.sqrt(pixels),
        rng.normal(size=units) / 10,
        rng.normal(size=(units, classes)) / np.sqrt(units),
        rng.normal(size=classes) / 10,
        rng.uniform(size=(batch, pixels)),
        np.eye(classes)[rng.integers(classes, size=batch)],
    )


def both(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, labels: Any) -> Any:
    """Backpropagation by hand."""
    hidden = np.tanh(x @ w1 + b1)
    scores = hidden @ w2 + b2
    top = np.max(scores, 1, keepdims=True)
    shares = np.exp(scores - top)
    totals = np.sum(shares, 1, keepdims=True)
    value = -np.sum(labels * (scores - top - np.log(totals))) / len(x)
    by_scores = (shares / totals - labels) / len(x)
    by_hidden = (by_scores @ w2.T) * (1 - hidden * hidden)
    slopes = (x.T @ by_hidden, np.sum(by_hidden, 0), hidden.T @ by_scores, np.sum(by_scores, 0))
    return value, *slopes


def exact(case: Case, *given: Any) -> Any:
    """The same in long doubles."""
    value, *slopes = both(*(g.astype(np.longdouble) for g in given))
    return np.concatenate([[value], *(s.ravel() for s in slopes)])


def by_numpy(case: Case, given: Any) -> Any:
    """Backpropagation by hand."""
    return both, given


def case(*shape: int, quick: bool = False) -> Case:
    """A case of (batch, pixels, units, classes)."""
    return Case(shape[0] * shape[1] * shape[2], shape=shape, quick=quick)


WORKLOAD = Workload(
    name="mlp",
    title="network (batch x pixels x units x classes), value and gradient",
    kind="gradient",
    cases=(case(32, 64, 32, 10, quick=True), case(128, 784, 256, 10)),
    arguments=arguments,
    exact=exact,
    function=loss,
    argnums=(0, 1, 2, 3),
    hand={"numpy": by_numpy},
    aims=(Aim("128x784x256x10", ("jax", "torch", "torch.compile"), 1.0),),
)

if __name__ == "__main__":
    sys.exit(main(name="mlp"))
