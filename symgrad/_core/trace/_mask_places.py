"""The places where a traced mask holds: what ``np.nonzero`` and its kin give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ..op import refuse
from ..ops.np_refused import OF_PLACES
from ._mask_selection import Masked


class Places(Masked):
    """The places along an axis at which a mask holds: the index of what it selects.

    Parameters
    ----------
    values:
        The places along the axis, of all elements.
    axis:
        The axis; None for places in C order, of a mask with several.
    function:
        The function of NumPy's that gave them.
    """

    __slots__ = ("axis", "function")

    def __init__(self, values: Any, mask: Any, axis: int | None, function: Any) -> None:
        super().__init__(values, mask)
        self.axis, self.function = axis, function

    @classmethod
    def given_by(cls, function: Callable[..., Any], condition: Any) -> Any:
        """Return what ``np.where``, ``np.nonzero`` and its kin give of a condition."""
        mask = condition if condition.dtype == np.bool_ else condition != 0
        if not mask.ndim:
            refuse(function, OF_PLACES)
        if function is np.flatnonzero:
            mask = np.reshape(mask, (-1,))
        ones = np.ones_like(mask, dtype=np.int64)
        found = tuple(cls(np.cumsum(ones, axis=k) - 1, mask, k, function) for k in range(mask.ndim))
        if function is np.argwhere:
            return np.stack([places.in_a_row("", "") for places in found], axis=-1)
        return found[0] if function is np.flatnonzero else found

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        self.refuse("np.where(mask)[0][...] = ...", "")

    def refuse(self, what: str, instead: str) -> NoReturn:
        """Raise for what needs the places in a row."""
        one = "with one argument " if self.function is np.where else ""
        refuse(self.function, f"{one}{OF_PLACES}")
