"""``scipy.spatial``, for functions that symgrad traces: distances and rotations."""

from __future__ import annotations

from typing import Any

import scipy.spatial

from ..._forks import late_module

_OWN = ("distance", "transform")


def __getattr__(name: str) -> Any:
    if name in _OWN:
        return late_module(f"{__name__}.{name}")
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(scipy.spatial, name)


def __dir__() -> list[str]:
    return sorted({*_OWN, *(name for name in dir(scipy.spatial) if not name.startswith("_"))})
