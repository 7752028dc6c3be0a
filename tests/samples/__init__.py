"""The calls that tests make of each composite: a row of a table for each, by family.

A composite (docs/CONTRIBUTING.md) is a function of NumPy's or SciPy's that is written in others.
Tests compare these calls with the original: values, derivatives, backends, batches, sparsity.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from symgrad._core.op import Composite
from tests.samples import algebra, analysis, arrays, special, statistics
from tests.samples.making import Sample, Samples

ROWS: dict[str, Samples] = {
    name: samples
    for family in (arrays, algebra, statistics, analysis, special)
    for name, samples in family.ROWS.items()
}

#: What gives facts about types and memory, writes into its argument, takes what another one gives,
#: or a condition that may not be traced: they have tests of their own.
ELSEWHERE = frozenset((
    "can_cast", "cho_factor", "cho_solve", "common_type", "compress", "copyto", "empty_like",
    "extract", "fill_diagonal", "isscalar", "may_share_memory", "min_scalar_type", "place", "put",
    "put_along_axis", "putmask", "result_type", "shares_memory",
))  # fmt: skip


def samples_of(record: Composite, rng: np.random.Generator) -> Iterator[Sample]:
    """Return the calls of a composite, ``(args, kwargs)``, of random numbers."""
    return iter(()) if record.name in ELSEWHERE else ROWS[record.name](rng)
