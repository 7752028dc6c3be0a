"""SciPy's names, for functions that symgrad traces.

``special``, ``stats`` and ``linalg`` have versions for traced values of what is no universal
function (``special.logsumexp``, ``stats.norm.logpdf``); universal functions of
``scipy.special`` can be traced as they are. ``optimize`` is SciPy's solvers with exact
derivatives, ``integrate`` solves differential equations by compiled loops; ``fft``,
``interpolate``, ``signal``, ``ndimage``, ``sparse`` and ``spatial`` have what models call.
Every other module is SciPy's own.
"""

from __future__ import annotations

from typing import Any

import scipy

from .._core.base.fork_safety import late_module

_OWN = (
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
)


def __getattr__(name: str) -> Any:
    if name in _OWN:  # imported when asked for: scipy.stats takes a second
        return late_module(f"{__name__}.{name}")
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(scipy, name)


def __dir__() -> list[str]:
    return sorted({*_OWN, *(name for name in dir(scipy) if not name.startswith("_"))})
