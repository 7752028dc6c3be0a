"""Central differences in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from . import Peer, UnfitError


class _Names:
    """NumPy's names, and two of SciPy's."""

    erf, logsumexp = staticmethod(scipy.special.erf), staticmethod(scipy.special.logsumexp)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


class Differences(Peer):
    """Two calls of the function for each input."""

    tolerance = 1e-4
    step = 6e-6  # the cube root of the rounding unit

    def gradient(self, workload: Any, arguments: Any) -> Any:
        chosen = workload.differentiated(arguments)
        if sum(np.size(arguments[k]) for k in chosen) > 2000:
            raise UnfitError("two calls for each of the inputs: over 4000 for one gradient")
        names = _Names()

        def both(*given: Any) -> Any:
            value = workload.function(names, *given)
            slopes = []
            for k in chosen:
                flat = given[k].copy()
                moved = (*given[:k], flat, *given[k + 1 :])
                for place in np.ndindex(flat.shape):
                    x = flat[place]
                    flat[place] = x + self.step
                    above = workload.function(names, *moved)
                    flat[place] = x - self.step
                    slopes.append((above - workload.function(names, *moved)) / (2 * self.step))
                    flat[place] = x
            return value, np.array(slopes)

        return both, arguments

    def derivatives(self, workload: Any, arguments: Any) -> Any:
        if arguments[0].dtype != np.float64:
            raise UnfitError("no digits are left in single precision")
        names, chosen = _Names(), workload.differentiated(arguments)

        def all_(*given: Any) -> Any:
            slopes = [workload.function(names, *given)]
            for k in chosen:
                step = self.step * np.maximum(1.0, np.abs(given[k]))
                above = workload.function(names, *given[:k], given[k] + step, *given[k + 1 :])
                below = workload.function(names, *given[:k], given[k] - step, *given[k + 1 :])
                slopes.append((above - below) / (2 * step))
            return slopes

        return all_, arguments

    def jacobian(self, workload: Any, arguments: Any) -> Any:
        columns = [np.ascontiguousarray(c) for a in arguments for c in a.T]
        count = sum(arguments[k].shape[1] for k in workload.differentiated(arguments))
        names = _Names()

        def all_(*given: Any) -> Any:
            slopes = []
            for k in range(count):
                moved = list(given)
                moved[k] = given[k] + self.step
                above = workload.scalars(names, moved)
                moved[k] = given[k] - self.step
                below = workload.scalars(names, moved)
                slopes.append(
                    [(a - b) / (2 * self.step) for a, b in zip(above, below, strict=True)]
                )
            return np.swapaxes(np.array(slopes), 0, 1)

        return all_, tuple(columns)

    def canonical(self, workload: Any, case: Any, results: Any) -> Any:
        if workload.kind == "jacobian":
            return results
        return super().canonical(workload, case, results)
