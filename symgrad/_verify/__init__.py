"""Verifying kernels against exact derivatives."""

from ._certificate import Certificate, Cost, Row, combined, operations
from ._certify import certify, entries
from ._compare import Entry
from ._elements import Problem
from ._kinks import Kink, kinks
from ._report import Check, Report, Table
from ._steps import Loss, loss
