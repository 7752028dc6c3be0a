"""What the peers without arrays share: a workload as formulas over a list of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Peer, UnfitError


class Formulas(Peer):
    """A peer that differentiates formulas; ``columns`` compiles them for many places."""

    #: More numbers than this take minutes.
    largest = 20_000

    def columns(self, workload: Any, table: Any, outputs: int, inputs: int) -> Any:
        """Return the call for all columns of a table, one row for each variable.

        With ``outputs`` of 0 the function has one result, which is wanted too.
        """
        raise NotImplementedError

    def table(self, workload: Any, arguments: Any) -> Any:
        """Return the arguments as a table, one row for each variable."""
        if workload.scalars is None:
            raise UnfitError("a workload of arrays")
        if workload.kind == "gradient":
            rows = np.concatenate([np.ravel(a) for a in arguments])[:, None]
        elif workload.kind == "derivatives":
            rows = np.stack(arguments)
        else:
            rows = np.concatenate(arguments)
        if len(rows) > self.largest:
            raise UnfitError(f"takes minutes above {self.largest} variables")
        return np.ascontiguousarray(rows)

    def gradient(self, workload: Any, arguments: Any) -> Any:
        table = self.table(workload, arguments)
        count = sum(arguments[k].size for k in workload.differentiated(arguments))
        return self.columns(workload, table, 0, count)

    def derivatives(self, workload: Any, arguments: Any) -> Any:
        chosen = workload.differentiated(arguments)
        return self.columns(workload, self.table(workload, arguments), 0, len(chosen))

    def jacobian_columns(self, workload: Any, arguments: Any) -> Any:
        count = sum(len(arguments[k]) for k in workload.differentiated(arguments))
        table = self.table(workload, arguments)
        self.outputs = len(workload.scalars(np, list(table[:, :1])))
        return self.columns(workload, table, self.outputs, count)

    def canonical(self, workload: Any, case: Any, results: Any) -> Any:
        if workload.by_hand(self.name, case):
            return super().canonical(workload, case, results)
        found = np.asarray(results)
        if workload.kind == "gradient":
            return found.ravel()
        if workload.kind == "derivatives":
            return found
        return found.reshape(self.outputs, -1, found.shape[-1])
