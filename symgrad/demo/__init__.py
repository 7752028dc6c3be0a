"""The demonstration behind ``symgrad demo``: NIST's certified regression problems."""

from ._fit import Fit, digits, fit, two_point
from ._measure import Outcome, measure
from ._problems import Problem, load, load_all
from ._report import run

__all__ = [
    "Fit",
    "Outcome",
    "Problem",
    "digits",
    "fit",
    "load",
    "load_all",
    "measure",
    "run",
    "two_point",
]
