"""Code that others wrote for NumPy, traced unmodified, with its values and gradients checked."""

from ._command import main

__all__ = ["main"]
