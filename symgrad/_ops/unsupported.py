"""NumPy's universal functions that are refused, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._op import refuse, registry

#: Universal functions without a record, each with the reason.
REFUSED: dict[Callable[..., Any], str] = {
    getattr(np, name): why for name, why in (("isnat", "it is about dates and times"),)
}
#: Universal functions that contract axes: no elementwise records, see ``np_contract``.
CONTRACTIONS: tuple[str, ...] = ("matmul", "vecdot", "matvec", "vecmat")


def _refusal(function: Callable[..., Any], why: str) -> Callable[..., Any]:
    def refused(*_: Any, **__: Any) -> Any:
        refuse(function, why)

    return refused


for _function, _why in REFUSED.items():
    registry.enter(_function, _refusal(_function, _why))
