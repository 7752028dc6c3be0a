"""The demonstration behind ``symgrad demo``: NIST's certified regression problems."""

from ._measure import Fit, Outcome, digits, fit, measure, two_point
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
