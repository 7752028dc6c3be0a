"""Verifying kernels against exact derivatives."""

from ._certify import Problem, certify
from ._compare import Entry
from ._report import Check, Report

__all__ = ["Check", "Entry", "Problem", "Report", "certify"]
