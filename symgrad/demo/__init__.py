"""The demonstration behind ``symgrad demo``: NIST's certified regression problems."""

from ._fit import Fit, digits, fit, two_point
from ._library import load, load_all
from ._nist import read
from ._problem import Problem
from ._run import run

__all__ = ["Fit", "Problem", "digits", "fit", "load", "load_all", "read", "run", "two_point"]
