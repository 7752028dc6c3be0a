"""Printing what becomes of a function, stage by stage, and how its derivative comes about."""

from ._derivation import Derivation, derivation
from ._explanation import Explanation
from ._stages import derived, paths, show, stages
