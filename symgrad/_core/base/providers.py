"""Functions that the compiler needs of the layers above it.

The package hands them over when it is imported (``symgrad/__init__.py``), so that no module of the
compiler names one above it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Functions by name. Each imports its home when it is called.
PROVIDED: dict[str, Callable[..., Any]] = {}


def provided(name: str, *args: Any, **kwargs: Any) -> Any:
    """Return what the function that a higher layer provides by ``name`` returns."""
    return PROVIDED[name](*args, **kwargs)
