"""What a workload is: a function, its cases, its exact results and what it aims at."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parents[1]

#: The order in which workloads run and are listed.
NAMES = (
    "rosen",
    "scalar_dag",
    "sincos",
    "black_scholes",
    "gmm",
    "ba",
    "mlp",
    "kinematics",
    "nbody",
    "logistic",
    "lorenz",
    "lstm",
)

#: A function and its arguments: what is timed is ``call(*arguments)``.
Call = tuple[Callable[..., Any], tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    """One problem of a workload: its size, and what sets it apart from others of that size."""

    size: int
    variant: str = ""
    quick: bool = False
    dtype: str = "float64"
    shape: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        """The size and the variant, as tables show them."""
        text = "x".join(map(str, self.shape)) if self.shape else f"{self.size:,}"
        return f"{text} {self.variant}".rstrip()


@dataclass(frozen=True)
class Aim:
    """``peer's time >= factor * ours``, where ours may be ``extra`` seconds longer.

    Of several peers the fastest counts.
    """

    case: str
    peers: tuple[str, ...]
    factor: float
    quantity: str = "call"
    extra: float = 0.0


@dataclass(frozen=True)
class Workload:
    """A workload.

    Attributes
    ----------
    kind:
        What is computed of ``function``:

        - ``gradient``: its value, one number, and its derivatives by the arguments;
        - ``derivatives``: the same at each place of the arguments, which are equally long
          arrays, for a function of numbers;
        - ``jacobian``: its Jacobian for each row of the arguments;
        - ``hessian``: gradient and Hessian.
    arguments:
        The arguments of a case; the same in every process.
    exact:
        The results in more digits or by formulas of their own: for ``gradient`` and
        ``hessian`` one vector of all results; for ``derivatives`` an array of shape (1 + number
        of arguments, places); for ``jacobian`` (outputs, inputs, rows).
    function:
        The function in the manner of NumPy: its first argument is NumPy, or the peer's module
        of the same names.
    scalars:
        The same as formulas, for peers that have no arrays: takes a module with ``sin``,
        ``exp``, ... and a list with every number (for ``jacobian``, every column), and returns
        a number or a list of numbers.
    argnums:
        The arguments that count; None: all.
    hand:
        By peer, ``peer/variant`` or, for all variants, ``peer/*``: what makes the call of a
        case, where a peer needs a program of its own: ``hand[peer](case, arguments)``.
    formulations:
        By peer, the function as that peer has it fastest, where that differs.
    environment:
        By peer, environment variables of its process.
    without:
        Peers that cannot do the workload, with the reason.
    """

    name: str
    title: str
    kind: str
    cases: tuple[Case, ...]
    arguments: Callable[[Case], tuple[np.ndarray[Any, Any], ...]]
    exact: Callable[..., Any]
    function: Callable[..., Any]
    scalars: Callable[..., Any] | None = None
    argnums: tuple[int, ...] | None = None
    hand: Mapping[str, Callable[..., Call]] = field(default_factory=dict)
    environment: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    formulations: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    without: Mapping[str, str] = field(default_factory=dict)
    aims: tuple[Aim, ...] = ()
    tolerance: float = 1e-9

    def differentiated(self, arguments: tuple[Any, ...]) -> tuple[int, ...]:
        """The positions of the arguments that count."""
        return tuple(range(len(arguments))) if self.argnums is None else self.argnums

    def for_peer(self, peer: str) -> Workload:
        """The workload in the formulation that suits a peer."""
        return replace(self, function=self.formulations.get(peer, self.function))

    def by_hand(self, peer: str, case: Case) -> Callable[..., Call] | None:
        """The program of a peer's own for a case, if there is one."""
        key = f"{peer}/{case.variant}" if case.variant else peer
        return self.hand.get(key) or self.hand.get(f"{peer}/*")


def load(name: str) -> Workload:
    """Import a workload."""
    workload: Workload = importlib.import_module(name).WORKLOAD
    return workload


def complex_step(
    scalars: Callable[..., Any], columns: list[np.ndarray[Any, Any]], count: int
) -> np.ndarray[Any, Any]:
    """The Jacobian by the first ``count`` columns, exact up to the rounding of long doubles.

    The imaginary part of f(x + ih) is h f'(x), without a difference (W. Squire, G. Trapp,
    "Using complex variables to estimate derivatives of real functions", SIAM Review 40, 1998).
    """
    step = 1e-200
    given = [c.astype(np.clongdouble) for c in columns]
    slopes = []
    for k in range(count):
        moved = [*given[:k], given[k] + 1j * step, *given[k + 1 :]]
        slopes.append([np.imag(y) / step for y in scalars(np, moved)])
    return np.swapaxes(np.array(slopes), 0, 1)


def error(results: np.ndarray[Any, Any], exact: np.ndarray[Any, Any]) -> float:
    """The largest error, relative to the largest exact result beside it.

    Beside it: in the same output and input, for results at many places.
    """
    if results.shape != exact.shape:
        raise ValueError(f"results of shape {results.shape} instead of {exact.shape}")
    if results.ndim == 1:  # the value and a gradient of its own size
        parts = ((results[:1], exact[:1]), (results[1:], exact[1:]))
        return max(error(a[None], b[None]) for a, b in parts if a.size)
    scale = np.max(np.abs(exact), axis=-1, keepdims=True)
    scale = np.where(scale > 0, scale, 1)
    worst = np.max(np.abs(np.asarray(results, exact.dtype) - exact) / scale)
    return float(worst) if np.isfinite(worst) else float("inf")
