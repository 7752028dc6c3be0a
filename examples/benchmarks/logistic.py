"""Logistic regression: gradient and Hessian.

python examples/benchmarks/logistic.py [--quick]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from harness import Case, Workload, main

PENALTY = 1e-2


def loss(np: Any, w: Any, x: Any, y: Any) -> Any:
    """The penalised negative log-likelihood; y is 1 or -1."""
    margin = y * (x @ w)
    return np.sum(np.log1p(np.exp(-margin))) + 0.5 * PENALTY * np.sum(w**2)


def arguments(case: Case) -> tuple[Any, ...]:
    """Points and random signs."""
    rows, columns = case.shape
    rng = np.random.default_rng(1)
    signs = np.where(rng.uniform(size=rows) < 0.5, -1.0, 1.0)
    return rng.normal(size=columns) / 10, rng.normal(size=(rows, columns)), signs


def both(w: Any, x: Any, y: Any) -> Any:
    """Gradient and Hessian by formula."""
    share = 1 / (1 + np.exp(y * (x @ w)))
    gradient = -(y * share) @ x + PENALTY * w
    hessian = (x.T * (share * (1 - share))) @ x
    hessian[np.diag_indices(len(w))] += PENALTY
    return gradient, hessian


def exact(case: Case, *given: Any) -> Any:
    """The same in long doubles."""
    gradient, hessian = both(*(g.astype(np.longdouble) for g in given))
    return np.concatenate([gradient, hessian.ravel()])


def by_numpy(case: Case, given: Any) -> Any:
    """The formula."""
    return both, given


WORKLOAD = Workload(
    name="logistic",
    title="logistic regression (rows x columns), gradient and Hessian",
    kind="hessian",
    cases=(
        Case(4000, shape=(200, 20), quick=True),
        Case(200_000, shape=(1000, 200)),
    ),
    arguments=arguments,
    exact=exact,
    function=loss,
    argnums=(0,),
    hand={"numpy": by_numpy},
)

if __name__ == "__main__":
    sys.exit(main(name="logistic"))
