"""The modules of classes, by name; apart from others, for this is asked before NumPy is there."""

from __future__ import annotations

from typing import Any


def module_of(kind: type) -> str:
    """Return the name of a class's module; empty where there is none, as of SymPy's ``q(t)``."""
    name: Any = kind.__module__
    return name if isinstance(name, str) else ""
