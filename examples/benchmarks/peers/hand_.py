"""Programs written by hand in the workloads' files: Numba, NumPy, C, and a copy as the floor."""

from __future__ import annotations

import platform
import subprocess
from typing import Any

import numpy as np

from . import Peer, UnfitError


class Hand(Peer):
    """Nothing but what the workload has."""

    def build(self, workload: Any, case: Any, arguments: Any) -> Any:
        if workload.by_hand(self.name, case) is None:
            raise UnfitError("not written for this peer")
        return super().build(workload, case, arguments)


class Numba(Hand):
    """``@njit`` functions."""

    package = "numba"

    def start(self) -> None:
        import numba

        numba.njit(lambda x: np.sum(x))(np.ones(2))


class NumPy(Hand):
    """NumPy, with the derivative worked out by hand."""

    package = "numpy"


class C(Hand):
    """C, with vector versions of sin, exp, ...; see ``harness/_c.py`` for the flags."""

    program = "gcc"

    def version(self) -> str:
        done = subprocess.run(
            ["gcc", "-dumpfullversion"], capture_output=True, text=True, check=False
        )
        return done.stdout.strip()


class Copy(Hand):
    """A copy of the argument: what memory alone costs."""

    tolerance = float("inf")

    def version(self) -> str:
        return platform.machine()

    def canonical(self, workload: Any, case: Any, results: Any) -> Any:
        return np.zeros(np.size(results) + 1)
