"""``np.vectorize``: a function of numbers, for traced arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._disguise import class_of
from .._forks import late_module
from .._ops.np_common import as_array, is_traced
from ..errors import ArgumentError, UnsupportedError


class vectorize(np.vectorize):  # type: ignore[misc]  # noqa: N801
    """``np.vectorize``, which takes each element of traced arrays as an example of a batch.

    ``if`` and loops in the function, where its source is at hand, become those of the program.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function of all elements."""
        if not any(map(is_traced, (*args, *kwargs.values()))):
            return super().__call__(*args, **kwargs)
        if self.signature is not None:
            raise UnsupportedError(
                "np.vectorize of traced values takes no signature=. Write instead: sg.vmap"
            )
        api = late_module("symgrad._api._transforms")
        try:
            function = api.compile(self.pyfunc, control_flow=True)
        except ArgumentError:  # its source is not at hand
            function = self.pyfunc
        named: dict[Any, Any] = dict(enumerate(args)) | kwargs
        fixed = {k: x for k, x in named.items() if k in self.excluded}
        # NumPy makes arrays of all others; a Series has its numbers' own.
        given = [
            x.to_numpy() if hasattr(x, "to_numpy") else as_array(x) if np.ndim(x) else x
            for x in (x for k, x in named.items() if k not in fixed)
        ]

        def element(*values: Any) -> Any:
            rest = iter(values)
            every = {k: fixed[k] if k in fixed else next(rest) for k in named}
            placed = [every.pop(k) for k in range(len(args))]
            return function(*placed, **every)

        arrays = np.broadcast_arrays(*[x for x in given if np.ndim(x)])
        if not arrays:
            return self._typed(element(*given))
        rest = iter(arrays)
        flat = [next(rest).reshape(-1) if np.ndim(x) else x for x in given]
        found = api.vmap(element, tuple([0 if np.ndim(x) else None for x in given]))(*flat)
        shape = arrays[0].shape
        if isinstance(found, tuple):
            return tuple(self._typed(x.reshape(shape), k) for k, x in enumerate(found))
        return self._typed(found.reshape(shape))

    def _typed(self, value: Any, place: int = 0) -> Any:
        if not self.otypes or class_of(value) is tuple:
            return value
        return np.asarray(value).astype(self.otypes[place]) if not is_traced(value) else (
            value.astype(self.otypes[place])
        )  # fmt: skip
