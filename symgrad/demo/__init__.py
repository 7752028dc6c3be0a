"""The demonstration behind ``symgrad demo``: NIST's certified regression problems."""

from ._fit import Fit, digits, fit, two_point
from ._nist import Problem, load, load_all, read
from ._run import run

__all__ = ["Fit", "Problem", "digits", "fit", "load", "load_all", "read", "run", "two_point"]
