"""Printing what becomes of a function, stage by stage, and how its derivative comes about."""

from ._derivation import Derivation, derivation
from ._derived import Step, derived, paths
from ._explanation import Explanation
from ._stages import Stage, show, stages

__all__ = [
    "Derivation",
    "Explanation",
    "Stage",
    "Step",
    "derivation",
    "derived",
    "paths",
    "show",
    "stages",
]
